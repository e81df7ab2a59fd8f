package check

import (
	"fmt"

	"interleave/eve/source"
	"interleave/eve/std"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// builtinOwners are the built-in types of the prelude: their declarations there only declare their
// methods.
var builtinOwners = map[string]bool{
	"vector": true, "array": true, "slice": true, "map": true, "set": true, "string": true,
	"bytes":    true,
	"duration": true, "error": true, "emitter": true,
}

// builtinConstraints are satisfied by types with the operators, not by types with methods.
var builtinConstraints = map[string]bool{
	"ordered": true, "equal": true, "hashed": true, "number": true, "copyable": true,
}

// copyableNatives are the native types that = copies.
var copyableNatives = map[string]bool{"instant": true, "file_info": true, "entry": true,
	"value": true, "row": true, "picture": true, "server_protection": true,
	"client_protection": true, "coders": true, "finished": true, "datagram": true}

// sizes are the type names that take a size in bits.
var sizes = map[string]bool{"int": true, "uint": true, "float": true}

var basicNames = []string{"int", "uint", "float", "bool", "char", "void"}

var basics = map[string]*types.Type{
	"int": types.IntT, "int<8>": types.Int8T, "int<16>": types.Int16T, "int<32>": types.Int32T,
	"int<64>": types.IntT,
	"uint":    types.UintT, "uint<8>": types.Uint8T, "uint<16>": types.Uint16T,
	"uint<32>": types.Uint32T, "uint<64>": types.UintT,
	"float": types.FloatT, "float<32>": types.Float32T, "float<64>": types.FloatT,
	"bool": types.BoolT, "char": types.CharT, "void": types.VoidT,
}

// basicType returns the type of a name like int, float, bool; nil for other names.
func basicType(name string) *types.Type { return basics[name] }

// reserved says whether a module cannot declare the name, since it has a fixed meaning in the
// language.
func reserved(name string) bool {
	return basics[name] != nil || builtinOwners[name] || builtinConstraints[name] ||
		name == "self" || name == "_"
}

// id distinguishes declarations of one name in different modules.
func (tn *typeName) id() string {
	if tn.module == nil {
		return tn.name
	}
	return tn.module.id + "." + tn.name
}

// tree is the name where it is declared.
func (tn *typeName) tree() *syntax.Name {
	if tn.union != nil {
		return tn.union.Name
	}
	return tn.structure.Name
}

// place is the span of the declaration.
func (tn *typeName) place() source.Span {
	if tn.union != nil {
		return tn.union.Span
	}
	return tn.structure.Span
}

// typeParams returns the type parameters of the declaration.
func (tn *typeName) typeParams() []*syntax.TypeParam {
	switch {
	case tn.union != nil:
		return tn.union.TypeParams
	case tn.structure != nil:
		return tn.structure.TypeParams
	}
	return nil
}

// isInterface says whether the type is a constraint: it has only methods without bodies.
func (tn *typeName) isInterface() bool {
	d := tn.structure
	if d == nil || tn.builtin {
		return false
	}
	if tn.module.std {
		return tn.module.ir.Name == "prelude" && builtinConstraints[tn.name]
	}
	for _, m := range d.Members {
		if f, ok := m.(*syntax.Func); !ok || f.Body != nil {
			return false
		}
	}
	return len(d.Members) > 0 && !d.IsEmitter
}

// form says how the runtime represents a structure.
func (tn *typeName) form() types.Form {
	if !tn.module.std {
		return types.Struct
	}
	native := tn.structure.IsEmitter
	for _, m := range tn.structure.Members {
		switch m := m.(type) {
		case *syntax.VarDecl:
			return types.Struct
		case *syntax.Func:
			native = native || m.Body == nil
		}
	}
	if native {
		return types.Native
	}
	return types.Struct
}

// runtime is the header of the runtime that defines the type; empty for a type written in Eve.
// Modules whose natives every program has, such as the prelude, have all their types there. Of the
// others only the native types are.
func (tn *typeName) runtime() string {
	header := tn.module.ir.Runtime
	if header == std.Base || tn.union == nil && tn.form() == types.Native {
		return header
	}
	return ""
}

// namedType returns the type that tn declares for the arguments, vector<int> and the like
// included. A new type gets its Def. If the number of arguments is wrong, it reports that and
// returns InvalidT.
func (c *checker) namedType(tn *typeName, args []*types.Type, at source.Span) *types.Type {
	if tn.builtin {
		return c.builtinType(tn.name, args, at)
	}
	if want := len(tn.typeParams()); len(args) != want {
		c.arguments(tn.name, want, len(args), at)
		return types.InvalidT
	}
	if hasInvalid(args) {
		return types.InvalidT
	}
	if !c.fits(tn, args, at) {
		return types.InvalidT
	}
	t, fresh := c.universe.Named(tn.id(), tn.name, args)
	if !fresh {
		return t
	}
	if len(args) > 0 && !c.anyParam(args) {
		c.namedType(tn, c.opaqueArgs(tn, nil), at) // errors of all instances are reported first
	}
	c.decls[t] = tn
	if c.anyParam(args) {
		c.opaque[t] = true
	}
	if tooLarge(args) {
		c.diags.Errorf("E0313", at, "'%s' contains itself with ever larger type arguments", tn.name)
		t.Def = &types.Def{}
		return types.InvalidT
	}
	if len(args) > 0 && !c.opaque[t] {
		c.fillInstance(tn, t, at)
	} else {
		c.fillDef(tn, t)
	}
	return t
}

// maxTypeText bounds the text of a type, in letters. A declaration that reaches it grows without
// end. A guess: no program written by hand comes near.
const maxTypeText = 2048

// tooLarge says whether one of the types exceeds maxTypeText.
func tooLarge(ts []*types.Type) bool {
	for _, t := range ts {
		if len(t.ID()) > maxTypeText {
			return true
		}
	}
	return false
}

// arguments reports a wrong number of type arguments.
func (c *checker) arguments(name string, want, got int, at source.Span) {
	switch {
	case want == 0:
		c.diags.Errorf("E0301", at, "'%s' takes no type arguments", name)
	case got == 0:
		c.diags.Errorf("E0301", at, "'%s' needs %s", name, count(want, "type argument"))
	default:
		c.diags.Errorf("E0301", at, "'%s' takes %s, not %d", name, count(want, "type argument"),
			got)
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// builtinType returns a type of the language itself.
func (c *checker) builtinType(name string, args []*types.Type, at source.Span) *types.Type {
	want := map[string]int{"vector": 1, "set": 1, "slice": 1, "map": 2, "array": 1}[name]
	if name == "array" || want != len(args) {
		c.arguments(name, want, len(args), at)
		return types.InvalidT
	}
	if hasInvalid(args) {
		return types.InvalidT
	}
	switch name {
	case "vector":
		return c.universe.Vector(args[0])
	case "slice":
		return c.universe.Slice(args[0])
	case "set":
		c.hashedKey(args[0], "set", at)
		return c.universe.Set(args[0])
	case "map":
		c.hashedKey(args[0], "map", at)
		return c.universe.Map(args[0], args[1])
	case "string":
		return types.StringT
	case "bytes":
		return types.BytesT
	case "duration":
		return types.DurationT
	case "error":
		return types.ErrorT
	}
	if t := basicType(name); t != nil {
		return t
	}
	c.diags.Errorf("E0302", at, "'%s' is not a type of values", name)
	return types.InvalidT
}

// hashedKey checks that keys can be hashed. The type may not be complete yet, so the check is made
// later.
func (c *checker) hashedKey(key *types.Type, container string, at source.Span) {
	c.afterwards(func() {
		if !c.satisfies(key, c.builtinConstraint("hashed")) {
			c.diags.Errorf("E0308", at, "%s cannot be the key of a %s: it is not hashed", key,
				container)
		}
	})
}

// afterwards runs f when no named type is being filled.
func (c *checker) afterwards(f func()) {
	if c.depth == 0 {
		f()
		return
	}
	diags := c.diags
	c.late = append(c.late, func() {
		now := c.diags
		c.diags = diags
		f()
		c.diags = now
	})
}

// builtinConstraint returns ordered, hashed and so on as types.
func (c *checker) builtinConstraint(name string) *types.Type {
	return c.namedType(c.prelude.names[name].(*typeName), nil, source.Span{})
}

func (c *checker) anyParam(ts []*types.Type) bool {
	for _, t := range ts {
		if c.hasParam(t) {
			return true
		}
	}
	return false
}

// hasParam says whether t contains a type parameter.
func (c *checker) hasParam(t *types.Type) bool {
	switch {
	case t == nil:
		return false
	case t.Kind == types.Param:
		return true
	case t.Kind == types.Named:
		return c.opaque[t]
	}
	return c.anyParam(t.Elems) || c.hasParam(t.Key) || c.hasParam(t.Elem)
}
