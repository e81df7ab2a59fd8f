package emit

import (
	"interleave/eve/ir"
	"interleave/eve/types"
)

func (f *function) unary(e *ir.Unary) string {
	x := f.typed(e.X, f.value(e.X))
	if e.Op == "-" && e.T.IsInteger() && f.o.Checked {
		return "eve::neg(" + x + ", " + f.site(e.Span.Line()) + ")"
	}
	s := string(e.Op) + paren(x)
	return f.narrowed(e.T, s)
}

// narrowed casts the result of C++ arithmetic, which is at least an int, back to a small type.
func (f *function) narrowed(t *types.Type, s string) string {
	if t.IsInteger() && t.Bits() < 32 {
		return "static_cast<" + f.ctype(t) + ">(" + s + ")"
	}
	return s
}

func (f *function) binary(e *ir.Binary) string {
	if e.Op == "&&" || e.Op == "||" {
		return f.logical(e)
	}
	list := f.exprs(operand{x: e.X, how: byLend, alone: true}, lend(e.Y))
	return f.operator(e.Op, e.X.Type(), e.X, e.Y, list[0], list[1], e.Span.Line())
}

// operator writes x op y of type t; x and y are the texts of ex and ey.
func (f *function) operator(op ir.Op, t *types.Type, ex, ey ir.Expr, x, y string, line int) string {
	switch op {
	case "==", "!=", "<", "<=", ">", ">=":
		if isNone(ey) {
			return presence(op, x)
		}
		if isNone(ex) {
			return presence(op, y)
		}
		return paren(x) + " " + string(op) + " " + paren(y)
	case "+%", "-%", "*%":
		return f.narrowed(t, paren(f.typed(ex, x))+" "+string(op[:1])+" "+paren(y))
	}
	if !t.IsInteger() {
		if op == "**" {
			return "eve::pow(" + f.typed(ex, x) + ", " + f.typed(ey, y) + ")"
		}
		return paren(x) + " " + string(op) + " " + paren(y)
	}
	if name := f.checkedName(op, t, ey); name != "" {
		return "eve::" + name + "(" + f.typed(ex, x) + ", " + f.typed(ey, y) + ", " + f.site(line) +
			")"
	}
	return f.narrowed(t, paren(f.typed(ex, x))+" "+string(op)+" "+paren(y))
}

func isNone(e ir.Expr) bool {
	c, ok := e.(*ir.Const)
	return ok && c.Value == nil && c.T.Kind == types.Option
}

// presence writes x == none or x != none, which need no == of the value.
func presence(op ir.Op, x string) string {
	if op == "==" {
		return "!" + member(x, "has()")
	}
	return member(x, "has()")
}

// checkedName is the runtime's function for an integer operator that can fail; empty if C++'s own
// is used.
func (f *function) checkedName(op ir.Op, t *types.Type, y ir.Expr) string {
	c, constant := y.(*ir.Const)
	switch op {
	case "+", "-", "*":
		if f.o.Checked {
			return map[ir.Op]string{"+": "add", "-": "sub", "*": "mul"}[op]
		}
	case "/":
		if constant && safeDivisor(c) {
			return ""
		}
		if f.o.Checked {
			return "div"
		}
		return "wrap_div"
	case "%":
		if !constant || !safeDivisor(c) {
			return "rem"
		}
	case "<<", ">>":
		if !constant || !safeShift(c, t.Bits()) {
			return map[ir.Op]string{"<<": "shl", ">>": "shr"}[op]
		}
	case "**":
		if f.o.Checked {
			return "pow"
		}
		return "wrap_pow"
	}
	return ""
}

// logical writes && and ||: as in C++, or with an if when the right side needs statements of its
// own.
func (f *function) logical(e *ir.Binary) string {
	x := f.value(e.X)
	var y string
	f.indent++
	late := f.capture(func() { y = f.value(e.Y) })
	f.indent--
	if len(late) == 0 {
		return paren(x) + " " + string(e.Op) + " " + paren(y)
	}
	t := f.temp()
	f.put("bool " + t + " = " + x + ";")
	not := ""
	if e.Op == "||" {
		not = "!"
	}
	f.put("if (" + not + t + ") {")
	f.lines = append(f.lines, late...)
	f.put("    " + t + " = " + y + ";")
	f.put("}")
	return t
}

func (f *function) convert(e *ir.Convert) string {
	x := f.value(e.X)
	from, to := e.X.Type(), e.T
	switch {
	case from == to:
		return x
	case to.Kind == types.String && from.Kind == types.Char:
		return "eve::string::of(" + x + ")"
	case to.Kind == types.String && from.Kind == types.Vector:
		return member(x, "text()")
	case to.Kind == types.String:
		return "eve::to_text(" + f.typed(e.X, x) + ")"
	case to.Kind == types.Vector && from.Kind == types.String:
		return member(x, "bytes()")
	case to.Kind == types.Slice:
		return f.ctype(to) + "(" + x + ")"
	case widens(from, to):
		return "static_cast<" + f.ctype(to) + ">(" + x + ")"
	case f.o.Checked && to.IsInteger():
		return "eve::convert<" + f.ctype(to) + ">(" + f.typed(e.X, x) + ", " +
			f.site(e.Span.Line()) + ")"
	}
	return "eve::convert<" + f.ctype(to) + ">(" + f.typed(e.X, x) + ")"
}

// widens says whether `to` has every value of `from`.
func widens(from, to *types.Type) bool {
	switch {
	case to.IsFloat():
		return from.IsNumber()
	case !from.IsInteger() || !to.IsInteger():
		return false
	case from.IsUnsigned() == to.IsUnsigned():
		return to.Bits() >= from.Bits()
	}
	return from.IsUnsigned() && to.Bits() > from.Bits()
}
