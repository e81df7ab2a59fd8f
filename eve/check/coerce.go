package check

import (
	"fmt"
	"strconv"
	"strings"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/types"
)

// coerce makes x fit the type by implicit conversions. It reports an x that does not fit. The
// result always has the type; for T& it is a place of type T.
func (c *checker) coerce(x ir.Expr, to *types.Type) ir.Expr {
	from := x.Type()
	if to == nil || to.Kind == types.Invalid {
		return x
	}
	if from.Kind == types.Invalid {
		return &ir.Zero{Place: ir.Place{T: to, Span: x.At()}}
	}
	if r, ok := c.convert(x, to); ok {
		return r
	}
	c.mismatch(x, to)
	return &ir.Zero{Place: ir.Place{T: to, Span: x.At()}}
}

// convert is coerce without a report: false when x does not fit.
func (c *checker) convert(x ir.Expr, to *types.Type) (ir.Expr, bool) {
	from := x.Type()
	switch {
	case from == to || from.Kind == types.Invalid:
		return x, true
	case untyped(from):
		return c.convertConst(x, to)
	case to.Kind == types.Option || to.Kind == types.Result:
		return c.convertWrap(x, to)
	case to.Kind == types.Ref:
		x = c.value(x)
		return x, x.Type() == to.Elem
	case to.Kind == types.Slice:
		return c.convertSlice(x, to)
	case from.Kind == types.Shared || from.Kind == types.Ref:
		if to.Kind == types.Shared {
			return x, from.Deref() == to
		}
		return c.convert(c.value(x), to)
	case widens(from, to):
		return &ir.Convert{Place: ir.Place{T: to, Span: x.At()}, X: x}, true
	case from.Kind == types.String && to == types.BytesT:
		f := c.instance(c.method(types.StringT, "bytes"), types.StringT, nil, x.At())
		return &ir.Call{Place: ir.Place{T: to, Span: x.At()}, Fn: f, Args: []ir.Expr{x}}, true
	case from.Kind == types.Func && to.Kind == types.Func && from.Par:
		return x, c.universe.Func(from.Elems, from.Elem, false) == to
	case from.Kind == types.Tuple && to.Kind == types.Tuple:
		return c.convertTuple(x, to)
	}
	return x, false
}

// convertConst gives an untyped number the wanted type.
func (c *checker) convertConst(x ir.Expr, to *types.Type) (ir.Expr, bool) {
	from := x.Type()
	switch {
	case to.Kind == types.Option || to.Kind == types.Result:
		inner, ok := c.convertConst(x, to.Elem)
		return &ir.Wrap{Place: ir.Place{T: to, Span: x.At()}, X: inner}, ok
	case to.Kind == types.Param:
		k := c.decls[c.constraints[to]]
		ok := k == nil || k.module == c.prelude && k.name == "number"
		return &ir.Zero{Place: ir.Place{T: to, Span: x.At()}}, ok
	case from.Kind == types.UntypedFloat && !to.IsFloat():
		return x, false
	case !to.IsNumber() || to.Kind == types.Duration:
		return x, false
	}
	k := c.fold(x)
	if k == nil {
		return &ir.Zero{Place: ir.Place{T: to, Span: x.At()}}, true // fold has reported the error
	}
	return c.constTo(k, to), true
}

// constTo converts a constant to another type. It reports a constant that does not fit.
func (c *checker) constTo(k *ir.Const, to *types.Type) *ir.Const {
	r := &ir.Const{Place: ir.Place{T: to, Span: k.Span}, Value: k.Value}
	if to.IsFloat() {
		r.Value = rounded(toFloat(k.Value), to)
		return r
	}
	if n := toBig(k.Value); n != nil && !inRange(n, to) {
		c.diags.Errorf("E0309", k.Span, "%s does not fit in %s", n, to)
		r.Value = int64(0)
	}
	return r
}

func (c *checker) convertWrap(x ir.Expr, to *types.Type) (ir.Expr, bool) {
	from, at := x.Type(), ir.Place{T: to, Span: x.At()}
	switch {
	case from.Kind == types.None:
		return &ir.Const{Place: at}, to.Kind == types.Option
	case from.Deref() == to:
		return c.value(x), true
	case from == types.ErrorT && to.Kind == types.Result && to.Elem != types.ErrorT:
		return &ir.MakeError{Place: at, X: x}, true
	case from.Deref().Kind == to.Kind && to.Elem.Kind != to.Kind:
		return x, false
	}
	inner, ok := c.convert(x, to.Elem)
	return &ir.Wrap{Place: at, X: inner}, ok
}

// convertSlice makes a view of all of a vector or array.
func (c *checker) convertSlice(x ir.Expr, to *types.Type) (ir.Expr, bool) {
	x = c.value(x)
	switch from := x.Type(); {
	case from == to:
		return x, true
	case (from.Kind == types.Vector || from.Kind == types.Array) && from.Elem == to.Elem:
		return &ir.Cut{Place: ir.Place{T: to, Span: x.At()}, X: x}, true
	}
	return x, false
}

// convertTuple converts the elements of a tuple that is written out.
func (c *checker) convertTuple(x ir.Expr, to *types.Type) (ir.Expr, bool) {
	t, ok := x.(*ir.MakeTuple)
	if !ok || len(t.Elems) != len(to.Elems) {
		return x, false
	}
	elems := make([]ir.Expr, len(t.Elems))
	for i, e := range t.Elems {
		if elems[i], ok = c.convert(e, to.Elems[i]); !ok {
			return x, false
		}
	}
	return &ir.MakeTuple{Place: ir.Place{T: to, Span: x.At()}, Elems: elems}, true
}

// widens says whether `to` has every number of `from`.
func widens(from, to *types.Type) bool {
	switch {
	case from == types.Float32T:
		return to == types.FloatT
	case from.Kind == types.Duration || to.Kind == types.Duration || !from.IsInteger() ||
		!to.IsInteger():
		return false
	case untyped(from) || untyped(to) || to.Kind == types.Char || from.Bits() >= to.Bits():
		return false
	}
	return from.IsUnsigned() || !to.IsUnsigned()
}

// mismatch reports x where a value of another type is wanted. The fix converts it.
func (c *checker) mismatch(x ir.Expr, to *types.Type) {
	from := x.Type()
	d := c.diags.Errorf("E0300", x.At(), "expected %s, found %s", to, kindText(from))
	text, value := x.At().Text(), from.Deref()
	switch {
	case to.Kind == types.Shared && value == to.Elem:
		d.Label = "declare a variable of type " + to.String() + " to make an object of it"
	case (value.Kind == types.Option || value.Kind == types.Result) && value.Elem == to:
		d.Label = "it may have no value: write x else a default, or x? to pass it on"
	case to == types.FloatT && divided(x) != nil:
		b := divided(x)
		edit(d, fmt.Sprintf("float(%s) / %s", b.X.At().Text(), b.Y.At().Text()))
		d.Fix.Note = "integers are divided without a fraction"
	case value.Kind == types.None && to.Kind != types.Shared:
		d.Label = "only " + to.String() + "? can be none"
	case to == types.StringT && (value.IsNumber() && value.Kind != types.Duration ||
		value == types.BoolT):
		edit(d, "string("+text+")")
	case to.IsInteger() && value == types.StringT && to.Kind != types.Duration:
		fromString(d, to, x, text)
	case to.Kind == types.Result && value.Kind == types.Option && value.Elem == to.Elem:
		d.Label = "turn none into an error: " + text + " else error(\"..\")?"
	case to.IsInteger() && value == types.UntypedFloatT && to.Kind != types.Duration:
		d.Label = "declare a float, or cut its fraction off: int(..)"
	case (to.Kind == types.Slice || to.Kind == types.Vector) && (value == to.Elem ||
		untyped(value) && to.Elem.IsNumber()):
		edit(d, "["+text+"]")
	case value.IsNumber() && to.IsNumber() && !untyped(value) && value.Kind != types.Duration &&
		to.Kind != types.Duration:
		edit(d, fmt.Sprintf("%s(%s)", to, text))
	case value == types.BytesT && to == types.StringT:
		edit(d, text+".text()")
	case value.Kind == types.Slice && to.Kind == types.Vector && value.Elem == to.Elem:
		edit(d, text+".to_vector()")
	case value == types.UntypedIntT && to == types.DurationT:
		d.Label = "write the unit: " + text + "s, " + text + "ms"
	}
}

// fromString explains how to convert the string x to an integer.
func fromString(d *diag.Diagnostic, to *types.Type, x ir.Expr, text string) {
	k, literal := x.(*ir.Const)
	inner := strings.Trim(text, "\"")
	if !literal {
		d.Label = "to_int() reads it: " + text + ".to_int() else 0"
		return
	}
	if _, err := strconv.ParseInt(inner, 10, 64); err == nil && to.Kind != types.Char {
		edit(d, inner)
	} else if s, ok := k.Value.(string); ok && to.Kind == types.Char && len(s) == 1 &&
		len(inner) == 1 && inner != "'" {
		edit(d, "'"+inner+"'")
	}
}

// divided returns x if it is a division of integers, else nil.
func divided(x ir.Expr) *ir.Binary {
	b, ok := x.(*ir.Binary)
	if !ok || b.Op != "/" || !b.T.IsInteger() || b.T.Kind == types.Duration ||
		b.X.At().Text() == "" || b.Y.At().Text() == "" {
		return nil
	}
	return b
}

// kindText names a type, also the types that only literals have.
func kindText(t *types.Type) string {
	switch t.Kind {
	case types.UntypedInt:
		return "an integer"
	case types.UntypedFloat:
		return "a float"
	}
	return t.String()
}

// edit adds a fix to d that replaces x by text.
func edit(d *diag.Diagnostic, text string) {
	d.Fix = &diag.Fix{Text: "write " + text, Span: d.Span, New: text}
}

// value reads x: a T@ or T& becomes a Deref.
func (c *checker) value(x ir.Expr) ir.Expr {
	for t := x.Type(); t.Kind == types.Shared || t.Kind == types.Ref; t = t.Elem {
		x = &ir.Deref{Place: ir.Place{T: t.Elem, Span: x.At()}, X: x}
	}
	return x
}

// defaultType gives an untyped constant its default type, int or float. Other expressions are
// returned as they are.
func (c *checker) defaultType(x ir.Expr) ir.Expr {
	switch x.Type().Kind {
	case types.UntypedInt:
		return c.coerce(x, types.IntT)
	case types.UntypedFloat:
		return c.coerce(x, types.FloatT)
	}
	return x
}

// common gives the operands of an operator one type: an untyped constant takes the other's type,
// handles and references are read, and the narrower number is widened. If there is no such type
// the operands are returned as they are, and the type is nil. It is InvalidT when one of them is
// invalid.
func (c *checker) common(x, y ir.Expr) (ir.Expr, ir.Expr, *types.Type) {
	x, y = c.value(x), c.value(y)
	a, b := x.Type(), y.Type()
	switch {
	case a.Kind == types.Invalid || b.Kind == types.Invalid:
		return x, y, types.InvalidT
	case a == b:
		return x, y, a
	case untyped(a) && untyped(b):
		return x, y, types.UntypedFloatT
	case a.Kind == types.None && b.Kind != types.Option || b.Kind == types.None &&
		a.Kind != types.Option:
		return x, y, nil
	}
	if z, ok := c.convert(y, a); ok && !untyped(a) {
		return x, z, a
	}
	if z, ok := c.convert(x, b); ok && !untyped(b) {
		return z, y, b
	}
	return x, y, nil
}
