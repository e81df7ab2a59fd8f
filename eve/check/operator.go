package check

import (
	"strings"

	"math"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

func (l *lowerer) unaryExpr(x *syntax.Unary, want *types.Type) ir.Expr {
	if x.X == nil {
		return bad(x.Span)
	}
	if lit, ok := bare(x.X).(*syntax.Lit); ok && x.Op == "-" {
		if got := l.negative(x, lit); got != nil {
			return got
		}
	}
	v := l.checker.value(l.expr(x.X, want))
	t := v.Type()
	if broken(v) {
		return bad(x.Span)
	}
	fits := l.isOpen(t)
	switch x.Op {
	case "-", "+":
		fits = fits || t.IsNumber() || l.has(t, "number")
	case "!":
		fits = fits || t == types.BoolT
	case "~":
		fits = fits || t.IsInteger() && t != types.DurationT
	}
	if !fits {
		d := l.errorf("E0337", x.Span, "%s does not apply to %s", x.Op, article(t))
		if x.Op == "!" && t.IsNumber() {
			d.Label = "compare it: == 0"
		}
		return bad(x.Span)
	}
	if x.Op == "+" {
		return v
	}
	return l.folded(&ir.Unary{Place: place(t, x.Span), Op: ir.Op(x.Op), X: v})
}

// negative makes the constant -n. It is needed because the smallest int has no positive
// counterpart.
func (l *lowerer) negative(x *syntax.Unary, lit *syntax.Lit) ir.Expr {
	v := l.lit(lit)
	c, ok := v.(*ir.Const)
	if !ok {
		return nil
	}
	switch n := c.Value.(type) {
	case int64:
		if c.T == types.UntypedIntT || c.T == types.DurationT {
			return &ir.Const{Place: place(c.T, x.Span), Value: -n}
		}
	case uint64:
		if n == 1<<63 {
			return &ir.Const{Place: place(c.T, x.Span), Value: int64(math.MinInt64)}
		}
		l.errorf("E0358", x.Span, "%s does not fit an int", x.Span.Text())
		return bad(x.Span)
	case float64:
		return &ir.Const{Place: place(c.T, x.Span), Value: -n}
	}
	return nil
}

// folded computes arithmetic on untyped constants at once, since they have no type at run time.
func (l *lowerer) folded(x ir.Expr) ir.Expr {
	if k := x.Type().Kind; k != types.UntypedInt && k != types.UntypedFloat {
		return x
	}
	if c := l.fold(x); c != nil {
		return &ir.Const{Place: place(x.Type(), x.At()), Value: c.Value}
	}
	return bad(x.At())
}

// bare removes the parentheses around x.
func bare(x syntax.Expr) syntax.Expr {
	for {
		p, ok := x.(*syntax.Paren)
		if !ok || p.X == nil {
			return x
		}
		x = p.X
	}
}

func (l *lowerer) binaryExpr(x *syntax.Binary, want *types.Type) ir.Expr {
	if x.X == nil || x.Y == nil {
		return bad(x.Span)
	}
	var elem *types.Type
	if x.Op == ".." && want != nil && want.Kind == types.Range {
		elem = want.Elem
	}
	switch x.Op {
	case "==", "!=", "<", "<=", ">", ">=", "..", "<<", ">>":
		want = nil
	}
	a := l.expr(x.X, want)
	b := l.expr(x.Y, l.sideHint(a, x.Op, want))
	if broken(a) || broken(b) {
		return bad(x.Span)
	}
	if x.Op == ".." {
		return l.rangeOf(a, b, elem, x.Span)
	}
	return l.binary(x.Op, a, b, x.Span, x.OpAt)
}

// sideHint is the type hint for the right operand, for literals of cases and lists.
func (l *lowerer) sideHint(a ir.Expr, op string, want *types.Type) *types.Type {
	if op == "<<" || op == ">>" || broken(a) {
		return nil
	}
	if t := a.Type().Deref(); t.Kind != types.UntypedInt && t.Kind != types.UntypedFloat {
		return t
	}
	return want
}

// rangeOf makes a..b. Its integer type is the common type of a and b, or a wider one that is
// wanted.
func (l *lowerer) rangeOf(a, b ir.Expr, elem *types.Type, at source.Span) ir.Expr {
	_, _, t := l.common(a, b)
	switch {
	case t == nil || untyped(t) || !t.IsInteger() || t == types.DurationT:
		if elem == nil || !untyped(a.Type()) || !untyped(b.Type()) {
			elem = types.IntT
		}
	case elem == nil || !widens(t, elem):
		elem = t
	}
	if a.Type().Deref() == types.StringT {
		d := l.errorf("E0337", at, ".. makes a range of integers")
		d.Label = "strings are joined by +"
		return bad(at)
	}
	lo, hi := l.coerce(a, elem), l.coerce(b, elem)
	if broken(lo) || broken(hi) {
		return bad(at)
	}
	return &ir.Range{Place: place(l.universe.Range(elem), at), Lo: lo, Hi: hi}
}

// binary makes x op y of lowered operands.
func (l *lowerer) binary(op string, x, y ir.Expr, at, opAt source.Span) ir.Expr {
	if d := l.durations(op, x, y, at); d != nil {
		return d
	}
	if op == "<<" || op == ">>" {
		return l.shift(op, x, y, at)
	}
	absence := x.Type().Kind == types.None || y.Type().Kind == types.None
	x, y = l.joinable(op, x, y)
	x, y, t := l.common(x, y)
	if broken(x) || broken(y) || t == nil || t == types.InvalidT {
		if !broken(x) && !broken(y) {
			l.mismatch(op, x, y, at)
		}
		return bad(at)
	}
	if t == types.UntypedFloatT {
		x, y = l.floatConst(x), l.floatConst(y)
	}
	if x.Type() != y.Type() {
		l.mismatch(op, x, y, at)
		return bad(at)
	}
	t = x.Type()
	result, ok := l.operator(op, t)
	// whether an option has a value is known without == of the value
	ok = ok || absence && t.Kind == types.Option && (op == "==" || op == "!=")
	if !ok {
		l.unfit(op, t, at, opAt)
		return bad(at)
	}
	n := &ir.Binary{Place: place(result, at), Op: ir.Op(op), X: x, Y: y}
	if t.Kind == types.UntypedInt || t.Kind == types.UntypedFloat {
		if c := l.fold(n); c != nil {
			return &ir.Const{Place: place(result, at), Value: c.Value}
		}
		return bad(at)
	}
	return n
}

// floatConst converts an untyped integer to an untyped float.
func (l *lowerer) floatConst(x ir.Expr) ir.Expr {
	if c, ok := x.(*ir.Const); ok && x.Type() == types.UntypedIntT {
		switch n := c.Value.(type) {
		case int64:
			return &ir.Const{Place: place(types.UntypedFloatT, x.At()), Value: float64(n)}
		case uint64:
			return &ir.Const{Place: place(types.UntypedFloatT, x.At()), Value: float64(n)}
		}
	}
	return x
}

// operator says whether op applies to operands of type t, and the type of the result.
func (l *lowerer) operator(op string, t *types.Type) (*types.Type, bool) {
	open := l.isOpen(t)
	switch op {
	case "&&", "||":
		return types.BoolT, open || t == types.BoolT
	case "==", "!=":
		return types.BoolT, open || t.Kind == types.UntypedInt || t.Kind == types.UntypedFloat ||
			l.has(t, "equal")
	case "<", "<=", ">", ">=":
		return types.BoolT, open || t.IsNumber() || l.has(t, "ordered")
	case "+":
		return t, open || t.IsNumber() || t == types.StringT || t == types.BytesT ||
			l.has(t, "number")
	case "-", "%":
		return t, open || t.IsNumber() && (op == "-" || t.IsInteger()) || l.has(t, "number")
	case "*", "/", "**":
		return t, open || t.IsNumber() && t != types.DurationT || l.has(t, "number")
	case "+%", "-%", "*%":
		return t, open || t.IsInteger() && t != types.DurationT
	case "&", "|", "^":
		return t, open || t.IsInteger() && t != types.DurationT
	}
	return t, false
}

// has says whether t satisfies a constraint of the prelude.
func (l *lowerer) has(t *types.Type, constraint string) bool {
	if l.prelude == nil {
		return false
	}
	tn, ok := l.prelude.names[constraint].(*typeName)
	if !ok {
		return false
	}
	return l.satisfies(t, l.namedType(tn, nil, source.Span{}))
}

// joinable lets + join bytes with strings: it takes the string's bytes.
func (l *lowerer) joinable(op string, x, y ir.Expr) (ir.Expr, ir.Expr) {
	if op != "+" || broken(x) || broken(y) {
		return x, y
	}
	s, t := x.Type().Deref(), y.Type().Deref()
	if s == types.StringT && t == types.BytesT {
		x = l.coerce(x, types.BytesT)
	}
	if t == types.StringT && s == types.BytesT {
		y = l.coerce(y, types.BytesT)
	}
	return x, y
}

// durations makes d * n, n * d, d / n and d / d; nil when x op y is none of them.
func (l *lowerer) durations(op string, x, y ir.Expr, at source.Span) ir.Expr {
	if broken(x) || broken(y) || op != "*" && op != "/" {
		return nil
	}
	a, b := l.checker.value(x), l.checker.value(y)
	s, t := a.Type(), b.Type()
	plain := func(t *types.Type) bool { return t.IsInteger() && t != types.DurationT }
	count := func(n ir.Expr) ir.Expr {
		n = l.coerce(n, types.IntT)
		if broken(n) {
			return n
		}
		if c, ok := n.(*ir.Const); ok {
			return &ir.Const{Place: place(types.DurationT, c.Span), Value: c.Value}
		}
		return &ir.Convert{Place: place(types.DurationT, n.At()), X: n}
	}
	result := types.DurationT
	switch {
	case s == types.DurationT && t == types.DurationT && op == "/":
		result = types.IntT
	case s == types.DurationT && plain(t):
		b = count(b)
	case plain(s) && t == types.DurationT && op == "*":
		a = count(a)
	default:
		return nil
	}
	if broken(a) || broken(b) {
		return bad(at)
	}
	return &ir.Binary{Place: place(result, at), Op: ir.Op(op), X: a, Y: b}
}

func (l *lowerer) shift(op string, x, y ir.Expr, at source.Span) ir.Expr {
	a, b := l.checker.value(x), l.checker.value(y)
	if broken(a) || broken(b) {
		return bad(at)
	}
	whole := func(t *types.Type) bool {
		return t.IsInteger() && t != types.DurationT || l.isOpen(t)
	}
	if !whole(a.Type()) || !whole(b.Type()) {
		l.mismatch(op, a, b, at)
		return bad(at)
	}
	if l.fold(a) == nil || l.fold(b) == nil {
		a = l.defaultType(a)
	}
	return l.folded(&ir.Binary{Place: place(a.Type(), at), Op: ir.Op(op), X: a,
		Y: l.defaultType(b)})
}

// mismatch reports operands without a common type.
func (l *lowerer) mismatch(op string, x, y ir.Expr, at source.Span) {
	s, t := l.defaultType(l.checker.value(x)).Type(), l.defaultType(l.checker.value(y)).Type()
	d := l.errorf("E0337", at, "%s cannot take %s and %s", op, article(s), article(t))
	switch {
	case (op == "&" || op == "|" || op == "^") && (s == types.BoolT) != (t == types.BoolT):
		d.Label = "a comparison binds tighter than " + op + ": put the other operator into brackets"
	case s.IsNumber() && t.IsNumber():
		to := s
		if t.IsFloat() {
			to = t
		}
		d.Label = "convert one of them: " + to.String() + "(..)"
	case op == "+" && (s == types.StringT || t == types.StringT):
		d.Label = "write the value into the text: f\"{x}\""
	case op == "*" && s == types.StringT && t.IsInteger():
		d.Label = "s.repeat(n) is n times s"
	case op == "%" && s == types.StringT:
		d.Label = "values follow the format: print(\"%d\", x); or write them into it: f\"{x}\""
	case s == types.BoolT && t.IsNumber() && strings.Contains("< <= > >=", op):
		d.Label = "compare twice: a < b && b < c"
	case s.Kind == types.Option && s.Elem == t, s.Kind == types.Result && s.Elem == t:
		d.Label = "the left side may have no value: give a default with else"
	case t.Kind == types.Option && t.Elem == s, t.Kind == types.Result && t.Elem == s:
		d.Label = "the right side may have no value: give a default with else"
	}
}

// unfit reports operands of one type to which the operator does not apply.
func (l *lowerer) unfit(op string, t *types.Type, at, opAt source.Span) {
	d := l.errorf("E0337", at, "%s does not apply to %s", op, article(t))
	switch {
	case (op == "&&" || op == "||") && t.IsNumber():
		d.Label = "compare it: != 0"
	case (op == "&" || op == "|") && t == types.BoolT:
		l.fixText(d, opAt, op+op, "bools are joined by "+op+op)
	case t.Kind == types.Param:
		d.Label = "the constraint of " + t.Name + " does not promise it"
	case (op == "==" || op == "!=") && t.Kind != types.Result && l.prelude != nil:
		d.Label = l.lack(t, l.builtinConstraint("equal"))
	case t.Kind == types.Option || t.Kind == types.Result:
		d.Label = "it may have no value: give a default with else"
	}
}

func (l *lowerer) fixText(d *diag.Diagnostic, at source.Span, text, why string) {
	if at.IsValid() {
		d.Fix = &diag.Fix{Text: "write " + text, Note: why, Span: at, New: text}
	}
}

// fixOperator suggests another operator for the binary expression x.
func (l *lowerer) fixOperator(d *diag.Diagnostic, x syntax.Expr, op, why string) {
	if b, ok := bare(x).(*syntax.Binary); ok {
		l.fixText(d, b.OpAt, op, why+b.OpAt.Text())
	}
}
