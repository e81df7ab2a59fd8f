package emit

import (
	"fmt"
	"strings"

	"interleave/eve/types"
)

var simpleTypes = map[types.Kind]string{
	types.Void: "void", types.Bool: "bool", types.Int8: "eve::i8", types.Int16: "eve::i16",
	types.Int32: "eve::i32",
	types.Int64: "eve::i64", types.Uint8: "eve::u8", types.Uint16: "eve::u16",
	types.Uint32: "eve::u32",
	types.Uint64: "eve::u64", types.Char: "eve::character", types.Float32: "eve::f32",
	types.Float64: "eve::f64",
	types.String:  "eve::string", types.Duration: "eve::duration", types.Error: "eve::error",
	types.UntypedInt: "eve::i64", types.UntypedFloat: "eve::f64", types.Range: "eve::range",
}

// ctype is the C++ type of values of t. It notes the declarations that the type needs.
func (u *unit) ctype(t *types.Type) string {
	if s := simpleTypes[t.Kind]; s != "" {
		return s
	}
	switch t.Kind {
	case types.Vector:
		if t.Elem.Kind == types.Char {
			return "eve::bytes"
		}
		return "eve::vector<" + u.ctype(t.Elem) + ">"
	case types.Array:
		return fmt.Sprintf("eve::array<%s, %d>", u.ctype(t.Elem), t.Len)
	case types.Map:
		return "eve::map<" + u.ctype(t.Key) + ", " + u.ctype(t.Elem) + ">"
	case types.Set:
		return "eve::set<" + u.ctype(t.Elem) + ">"
	case types.Slice:
		return "eve::slice<" + u.ctype(t.Elem) + ">"
	case types.Tuple:
		return "eve::tuple<" + u.ctypes(t.Elems) + ">"
	case types.Option:
		return "eve::option<" + u.ctype(t.Elem) + ">"
	case types.Result:
		return "eve::result<" + u.ctype(t.Elem) + ">"
	case types.Shared:
		if t.Elem.Kind == types.Func {
			return "eve::callback<void(" + joinStrings(u.callbackParams(t.Elem)) + ")>"
		}
		return "eve::ref<" + u.ctype(t.Elem) + ">"
	case types.Ref:
		return u.ctype(t.Elem) + "&"
	case types.Func:
		params := append([]string{"eve::worker*", "eve::frame*"}, u.closureParams(t)...)
		return "eve::fn<" + u.ctype(t.Elem) + "(" + joinStrings(params) + ")>"
	case types.Named:
		return u.named(t)
	}
	panic(bug("no C++ type for " + t.String()))
}

func (u *unit) ctypes(ts []*types.Type) string {
	var s []string
	for _, t := range ts {
		s = append(s, u.ctype(t))
	}
	return joinStrings(s)
}

// closureParams are the parameter types of a closure.
func (u *unit) closureParams(t *types.Type) []string {
	var s []string
	for _, p := range t.Elems {
		s = append(s, u.paramType(p, false))
	}
	return s
}

// callbackParams are the parameter types of a callback. It owns what is not copied implicitly.
func (u *unit) callbackParams(t *types.Type) []string {
	var s []string
	for _, p := range t.Elems {
		s = append(s, u.paramType(p, !p.Copyable()))
	}
	return s
}

func joinStrings(s []string) string { return strings.Join(s, ", ") }

// paramType is the C++ type of a parameter of type t: by value if it fits a register or is taken,
// else by reference.
func (u *unit) paramType(t *types.Type, take bool) string {
	if take || byValue(t) || t.Kind == types.Ref {
		return u.ctype(t)
	}
	return "const " + u.ctype(t) + "&"
}

// byValue says whether values of t are small and can be copied without running code: such a value
// is kept in registers and in frames.
func byValue(t *types.Type) bool {
	switch t.Kind {
	case types.Slice, types.Func, types.Bool, types.Range:
		return true
	}
	return t.IsNumber()
}

// words is the size of a byValue type in frames, in words of 8 bytes.
func words(t *types.Type) int {
	switch t.Kind {
	case types.Slice, types.Func, types.Range:
		return 2
	}
	return 1
}

// named notes that the unit uses t and returns its name.
func (u *unit) named(t *types.Type) string {
	name := u.names.typ[t]
	if name == "" {
		panic(bug("type " + t.String() + " belongs to no module"))
	}
	if !u.usedTypes[t] {
		u.usedTypes[t] = true
		u.needs(t.Def.Runtime)
		if t.Def.Runtime == "" {
			u.typeOrder = append(u.typeOrder, t)
			u.touchParts(t)
		}
	}
	return name
}

// touchParts notes the types that t's definition names.
func (u *unit) touchParts(t *types.Type) {
	for _, f := range t.Def.Fields {
		u.ctype(f.Type)
	}
	for _, c := range t.Def.Cases {
		for _, f := range c.Fields {
			u.ctype(f.Type)
		}
	}
}

// zero is the zero value of t as an expression.
func (u *unit) zero(t *types.Type) string {
	switch {
	case t.Kind == types.Bool:
		return "false"
	case t.IsInteger():
		return "0"
	case t.IsFloat():
		return "0.0"
	case t.Kind == types.Void:
		return ""
	}
	return "eve::zero_of<" + u.ctype(t) + ">()"
}
