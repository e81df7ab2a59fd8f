package emit

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// value writes e. For a place it returns the place itself, for a handle the handle. Parts that
// cannot be in a C++ expression are written before it, as statements.
func (f *function) value(e ir.Expr) string {
	switch e := e.(type) {
	case *ir.Const:
		return f.constant(e, false)
	case *ir.Zero:
		return f.zero(e.T)
	case *ir.Ref:
		return f.ref(e)
	case *ir.Deref:
		return f.deref(e)
	case *ir.Box:
		return "eve::make<" + f.ctype(e.T.Elem) + ">(" + f.owned(e.X) + ")"
	case *ir.Field:
		return f.fieldOf(e)
	case *ir.Element:
		return fmt.Sprintf("eve::get<%d>(%s)", e.Index, f.value(e.X))
	case *ir.Index:
		return f.index(e)
	case *ir.Cut:
		return f.cut(e)
	case *ir.Unary:
		return f.unary(e)
	case *ir.Binary:
		return f.binary(e)
	case *ir.Convert:
		return f.convert(e)
	case *ir.Call:
		return f.call(e)
	case *ir.CallValue:
		return f.callValue(e)
	case *ir.Post:
		return f.post(e)
	case *ir.Closure:
		return f.closure(e)
	case *ir.Propagate:
		return f.propagate(e)
	case *ir.Else:
		return f.orElse(e)
	case *ir.Format:
		return f.format(e) + ".take()"
	case *ir.Copy:
		return "eve::copy_of(" + f.value(e.X) + ")"
	}
	return f.maker(e)
}

func (f *function) maker(e ir.Expr) string {
	switch e := e.(type) {
	case *ir.MakeStruct:
		list := f.owneds(e.Fields)
		return f.ctype(e.T) + "{" + joinStrings(list) + "}"
	case *ir.MakeCase:
		t := f.ctype(e.T)
		c := e.T.Def.Cases[e.Case]
		return t + "(" + f.caseName(e.T, c) + "{" + joinStrings(f.owneds(e.Fields)) + "})"
	case *ir.MakeTuple:
		return f.ctype(e.T) + "{" + joinStrings(f.owneds(e.Elems)) + "}"
	case *ir.MakeList:
		return f.list(e)
	case *ir.Wrap:
		if e.T.Elem.Kind == types.Void {
			f.put(f.value(e.X) + ";")
			return f.ctype(e.T) + "()"
		}
		return f.ctype(e.T) + "(" + f.typed(e.X, f.owned(e.X)) + ")"
	case *ir.MakeError:
		return f.ctype(e.T) + "(" + f.owned(e.X) + ")"
	case *ir.Range:
		list := f.exprs(read(e.Lo), read(e.Hi))
		return "eve::range{" + joinStrings(list) + "}"
	}
	panic(bug(fmt.Sprintf("no C++ for %T", e)))
}

// ref writes a variable. Its last use moves its value.
func (f *function) ref(e *ir.Ref) string {
	b := f.variable(e.Var)
	if b.name == "" {
		panic(bug("handle of " + e.Var.Name + " is out of reach"))
	}
	return b.name
}

// owned writes e for a place that owns it: moved if it was the last use, else copied by C++.
func (f *function) owned(e ir.Expr) string {
	s := f.value(e)
	r, ok := e.(*ir.Ref)
	if !ok || byValue(e.Type()) {
		return s
	}
	b := f.variable(r.Var)
	switch {
	case r.Move && !b.keep && r.Var.Kind != ir.Global && r.Var.Kind != ir.Constant:
		return "eve::move(" + s + ")"
	case !e.Type().Copyable():
		return "eve::copy_of(" + s + ")"
	}
	return s
}

// typed gives a constant the C++ type of its Eve type. Other expressions have it already.
func (f *function) typed(e ir.Expr, s string) string {
	if c, ok := e.(*ir.Const); ok {
		return f.constant(c, true)
	}
	return s
}

// constant writes a constant, with its type around it if C++ would choose another type.
func (f *function) constant(c *ir.Const, typed bool) string {
	s := f.literal(c)
	if typed && (c.T.IsInteger() || c.T.IsFloat()) {
		return f.ctype(c.T) + "(" + s + ")"
	}
	return s
}

func (f *function) literal(c *ir.Const) string {
	switch v := c.Value.(type) {
	case nil:
		if c.T.Kind == types.None {
			return "eve::none"
		}
		return f.ctype(c.T) + "()"
	case bool:
		return strconv.FormatBool(v)
	case string:
		return fmt.Sprintf("eve::string::literal(%s, %d)", quote(v), len(v))
	case float64:
		return floatText(v) + suffix(c.T, v)
	case uint64:
		return strconv.FormatUint(v, 10) + "u"
	case int64:
		switch {
		case c.T.IsFloat():
			return strconv.FormatInt(v, 10) + ".0" + suffix(c.T, float64(v))
		case v == math.MinInt64:
			return "(-9223372036854775807 - 1)"
		case v == math.MinInt32 && c.T.Bits() == 32: // a literal of that size would be a long
			return "(-2147483647 - 1)"
		case v > math.MaxInt32 && c.T.Bits() == 32:
			return strconv.FormatInt(v, 10) + "u"
		case c.T.Kind == types.Char && v >= ' ' && v < 0x7f && v != '\'' && v != '\\':
			return "'" + string(rune(v)) + "'"
		}
		return strconv.FormatInt(v, 10)
	}
	panic(bug(fmt.Sprintf("constant of type %T", c.Value)))
}

// suffix keeps computations with a constant of 32 bits in 32 bits.
func suffix(t *types.Type, v float64) string {
	if t.Kind == types.Float32 && !math.IsInf(v, 0) && !math.IsNaN(v) {
		return "f"
	}
	return ""
}

func floatText(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "__builtin_inf()"
	case math.IsInf(v, -1):
		return "-__builtin_inf()"
	case math.IsNaN(v):
		return `__builtin_nan("")`
	}
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// list writes a container of its elements. Long ones are filled by statements, which compile
// faster.
func (f *function) list(e *ir.MakeList) string {
	const most = 16
	t := f.ctype(e.T)
	if len(e.Elems) <= most {
		list := f.owneds(e.Elems)
		for i := range list {
			list[i] = f.typed(e.Elems[i], list[i])
		}
		return t + "::of(" + joinStrings(list) + ")"
	}
	name := f.temp()
	f.put(t + " " + name + ";")
	for i, x := range e.Elems {
		s := f.owned(x)
		switch e.T.Kind {
		case types.Vector:
			f.put(name + ".push(" + s + ");")
		case types.Array:
			f.put(fmt.Sprintf("%s[%d] = %s;", name, i, s))
		case types.Set:
			f.put(name + ".insert(" + s + ");")
		default:
			pair := f.temp()
			f.put("auto " + pair + " = " + s + ";")
			f.put(name + ".set(eve::move(eve::get<0>(" + pair + ")), eve::move(eve::get<1>(" +
				pair + ")));")
		}
	}
	return "eve::move(" + name + ")"
}

func (f *function) cut(e *ir.Cut) string {
	operands := []operand{{x: e.X, how: byLend,
		text: func(f *function) string { return f.kept(e.X, f.value(e.X)) }}}
	for _, x := range []ir.Expr{e.Lo, e.Hi} {
		if x != nil {
			operands = append(operands, read(x))
		}
	}
	list := f.exprs(operands...)
	x := list[0]
	if e.Lo == nil && e.Hi == nil {
		switch e.X.Type().Deref().Kind {
		case types.Vector, types.Array:
			return member(x, "all()")
		}
		return x
	}
	if e.Lo == nil || e.Hi == nil {
		if e.Hi == nil && (!atom(x) || !isPlace(e.X)) {
			t := f.temp()
			f.put("auto&& " + t + " = " + x + ";")
			x = t
		}
		if e.Lo == nil {
			list = []string{x, "0", list[1]}
		} else {
			list = []string{x, list[1], member(x, "size()")}
		}
	}
	return member(x, "cut("+list[1]+", "+list[2]+", "+f.site(e.Span.Line())+")")
}

// propagate writes x?: it leaves the function with the none or the error, or returns the value.
func (f *function) propagate(e *ir.Propagate) string {
	t := f.opened(e.X)
	failed := f.ctype(f.ctx.result) + "()"
	if e.X.Type().Kind == types.Result {
		failed = f.ctype(f.ctx.result) + "(" + t + ".why())"
	}
	f.put("if (!" + t + ".has()) " + f.leave(failed))
	if e.T.Kind == types.Void {
		return "void()"
	}
	if isPlace(e.X) && e.T.Copyable() {
		return "(*" + t + ")" // a result has no ->
	}
	return "eve::move(*" + t + ")"
}

// opened returns a name for an option or result. For a place it names the place itself.
func (f *function) opened(x ir.Expr) string {
	t := f.temp()
	if isPlace(x) && x.Type().Copyable() {
		f.put("auto& " + t + " = " + f.value(x) + ";")
	} else {
		f.put("auto " + t + " = " + f.owned(x) + ";")
	}
	return t
}

// orElse writes x else d.
func (f *function) orElse(e *ir.Else) string {
	var d string
	t := f.temp()
	f.put("auto " + t + " = " + f.owned(e.X) + ";")
	late := f.capture(func() {
		f.indent++
		d = f.owned(e.Default)
		f.indent--
	})
	if len(late) > 0 || !byValue(e.T) {
		f.put("if (!" + t + ".has()) {")
		f.lines = append(f.lines, late...)
		f.put("    " + t + " = " + f.ctype(e.X.Type()) + "(" + f.typed(e.Default, d) + ");")
		f.put("}")
		return "eve::move(*" + t + ")"
	}
	return "(" + t + ".has() ? *" + t + " : " + f.typed(e.Default, d) + ")"
}
