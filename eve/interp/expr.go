package interp

import (
	"fmt"
	"math"
	"slices"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// place returns the storage of an expression. A value without storage gets a place of its own.
func (f *frame) place(e ir.Expr) place {
	switch e := e.(type) {
	case *ir.Ref:
		return f.cell(e.Var)
	case *ir.Deref:
		switch v := f.value(e.X).(type) {
		case *object:
			return &v.v
		case place:
			return v
		case *view: // a slice is a reference itself
			x := value(v)
			return &x
		}
	case *ir.Field:
		return &(*f.place(e.X)).(*record).fields[e.Index]
	case *ir.Element:
		return &(*f.place(e.X)).(*record).fields[e.Index]
	case *ir.Index:
		return f.element(e)
	}
	v := f.value(e)
	return &v
}

// element is the place of x[i].
func (f *frame) element(e *ir.Index) place {
	x := *f.place(e.X)
	if t, is := x.(*table); is {
		if p := t.find(f.value(e.I)); p != nil {
			return p
		}
		fail(e.Span, "the map has no such key")
	}
	i := f.value(e.I).(int64)
	if s, is := x.(string); is {
		checkIndex(e, i, len(s))
		v := value(int64(s[i]))
		return &v
	}
	elems := elemsOf(x)
	checkIndex(e, i, len(elems))
	return &elems[i]
}

// thereAre names the number of elements of a container.
func thereAre(n int) string {
	if n == 1 {
		return "there is 1 element"
	}
	return fmt.Sprintf("there are %d elements", n)
}

func checkIndex(e ir.Expr, i int64, n int) {
	if i < 0 || i >= int64(n) {
		fail(e.At(), "index %d is out of range: %s", i, thereAre(n))
	}
}

// elemsOf are the elements of a vector, array or slice.
func elemsOf(v value) []value {
	switch v := v.(type) {
	case *list:
		return v.elems
	case *view:
		return v.elems()
	}
	return nil
}

// value evaluates an expression.
func (f *frame) value(e ir.Expr) value {
	switch e := e.(type) {
	case *ir.Const:
		return constant(e)
	case *ir.Zero:
		return f.in.zero(e.T)
	case *ir.Ref, *ir.Deref, *ir.Field, *ir.Element, *ir.Index:
		return *f.place(e)
	case *ir.Box:
		return f.in.object(owned(f.value(e.X), e.X.Type()), e.T.Elem)
	case *ir.Cut:
		return f.cut(e)
	case *ir.Range:
		return spanOf(f.value(e.Lo).(int64), f.value(e.Hi).(int64), e.Lo.Type())
	case *ir.Unary:
		return f.unary(e)
	case *ir.Binary:
		return f.binary(e)
	case *ir.Convert:
		return f.convert(e)
	case *ir.Call:
		return f.call(e)
	case *ir.CallValue:
		c := f.value(e.Fun).(*closure)
		return f.in.invoke(c, f.arguments(e.Args, c.body.Params))
	case *ir.Post:
		f.post(e)
		return nil
	case *ir.Closure:
		return f.closure(e.Body)
	case *ir.Format:
		return f.format(e)
	case *ir.Copy:
		return copied(f.value(e.X))
	}
	return f.made(e)
}

// made evaluates expressions that build a value from parts, or take options and results apart.
func (f *frame) made(e ir.Expr) value {
	switch e := e.(type) {
	case *ir.MakeStruct:
		return &record{0, f.all(e.Fields)}
	case *ir.MakeCase:
		return &record{e.Case, f.all(e.Fields)}
	case *ir.MakeTuple:
		return &record{0, f.all(e.Elems)}
	case *ir.MakeList:
		return f.list(e)
	case *ir.Wrap:
		if e.X == nil {
			return some(nil)
		}
		return some(owned(f.value(e.X), e.X.Type()))
	case *ir.MakeError:
		return failed(f.value(e.X).(*fault))
	case *ir.Propagate:
		r := f.value(e.X).(*record)
		if r.kind == 0 {
			f.in.left = &propagated{r}
			panic(f.in.left)
		}
		return r.fields[0]
	case *ir.Else:
		if r := f.value(e.X).(*record); r.kind == 1 {
			return r.fields[0]
		}
		return f.value(e.Default)
	}
	fail(e.At(), "the interpreter does not know this expression")
	return nil
}

// propagated is the panic of x?. The body returns it.
type propagated struct{ r *record }

func (f *frame) all(es []ir.Expr) []value {
	out := make([]value, len(es))
	for i, e := range es {
		out[i] = owned(f.value(e), e.Type())
	}
	return out
}

func constant(e *ir.Const) value {
	switch v := e.Value.(type) {
	case uint64:
		return int64(v)
	case nil:
		return none()
	case int64:
		if e.T.IsFloat() {
			return float64(v)
		}
		return v
	case float64:
		if e.T.Kind == types.Float32 {
			return float64(float32(v))
		}
	}
	return e.Value
}

func (f *frame) list(e *ir.MakeList) value {
	elems := f.all(e.Elems)
	switch e.T.Kind {
	case types.Set:
		t := newTable()
		for _, x := range elems {
			t.put(x, nil)
		}
		return t
	case types.Map:
		t := newTable()
		for _, x := range elems {
			t.put(x.(*record).fields[0], x.(*record).fields[1])
		}
		t.pairs = true
		return t
	}
	return &list{elems: elems}
}

// post calls a callback. It runs later; only an answer is handed over now.
func (f *frame) post(e *ir.Post) {
	c := f.value(e.Fun).(*closure)
	switch {
	case c.answer == nil:
		f.in.later(c, f.arguments(e.Args, c.body.Params))
	case len(e.Args) == 0:
		c.answer(nil)
	default:
		c.answer(owned(f.value(e.Args[0]), e.Args[0].Type()))
	}
}

// closure makes a closure of a body.
func (f *frame) closure(b *ir.Body) *closure {
	if b.Kind == ir.Lambda {
		return &closure{body: b, frame: f}
	}
	cells := f.captures(b)
	return &closure{body: b, cells: cells, needs: f.in.wants(b, cells)}
}

// cut is x[a..b].
func (f *frame) cut(e *ir.Cut) value {
	x := *f.place(e.X)
	bound := func(e ir.Expr, otherwise int) int64 {
		if e == nil {
			return int64(otherwise)
		}
		return f.value(e).(int64)
	}
	size := len(elemsOf(x))
	if s, is := x.(string); is {
		size = len(s)
	}
	low := bound(e.Lo, 0)
	high := bound(e.Hi, size)
	if low < 0 || high < low || high > int64(size) {
		fail(e.Span, "%d..%d is out of range: %s", low, high, thereAre(size))
	}
	switch x := x.(type) {
	case string:
		return x[low:high]
	case *view:
		return &view{x.of, x.start + int(low), x.start + int(high)}
	}
	return &view{x.(*list), int(low), int(high)}
}

// arguments evaluates the arguments for parameters.
func (f *frame) arguments(es []ir.Expr, params []*ir.Var) []value {
	args := make([]value, len(es))
	for i, e := range es {
		args[i] = f.argument(e, params[i])
	}
	return args
}

func (f *frame) argument(e ir.Expr, p *ir.Var) value {
	switch {
	case p.Type.Kind == types.Ref:
		if e.Type().Kind == types.Ref { // a reference is passed on
			if v, is := f.value(e).(place); is {
				return v
			}
		}
		return f.place(e)
	case p.Kind == ir.Self && p.Type.Kind != types.Shared:
		return f.place(e)
	}
	return owned(f.value(e), p.Type)
}

func (f *frame) call(e *ir.Call) value {
	args := f.arguments(e.Args, e.Fn.Params)
	switch {
	case e.Fn.Extern != nil:
		fail(e.Span,
			"the interpreter cannot call '%s', a C function; `eve test` without --seeds can",
			e.Fn.Name)
	case e.Fn.Body != nil && e.Fn.Native == "":
		return f.in.call(e.Fn, args)
	}
	native := natives[e.Fn.Native]
	if native == nil {
		fail(e.Span, "the interpreter has no %s", e.Fn.Native)
	}
	return native(&called{in: f.in, f: f, at: e.Span, fn: e.Fn, t: e.T, args: args})
}

func (f *frame) unary(e *ir.Unary) value {
	if c, is := e.X.(*ir.Const); is && e.Op == "-" && e.T.IsInteger() { // -9223372036854775808
		if n, is := c.Value.(uint64); is && n == 1<<63 && !e.T.IsUnsigned() {
			return int64(math.MinInt64)
		}
	}
	switch v := f.value(e.X).(type) {
	case bool:
		return !v
	case float64:
		return -v
	case int64:
		if e.Op == "~" {
			return wrapped(^v, e.T)
		}
		return f.arithmetic(e, "-", 0, v)
	}
	return nil
}

func (f *frame) binary(e *ir.Binary) value {
	switch e.Op {
	case "&&":
		return f.value(e.X).(bool) && f.value(e.Y).(bool)
	case "||":
		return f.value(e.X).(bool) || f.value(e.Y).(bool)
	}
	x, y := f.sides(e)
	switch e.Op {
	case "==", "!=", "<", "<=", ">", ">=":
		return f.compared(e, x, y)
	}
	if l, is := x.(*list); is {
		return &list{elems: append(append([]value{}, l.elems...), elemsOf(y)...)}
	}
	return f.combine(e, x, y)
}

// sides are the values of both operands.
func (f *frame) sides(e *ir.Binary) (x, y value) {
	x = f.value(e.X)
	switch x.(type) {
	case *record, *list, *table:
		if hasCall(e.Y) { // the call may change the object that x is a part of
			x = copied(x)
		}
	}
	return x, f.value(e.Y)
}

// compared is the result of a comparison of x and y.
func (f *frame) compared(e *ir.Binary, x, y value) bool {
	switch e.Op {
	case "==":
		return equal(x, y)
	case "!=":
		return !equal(x, y)
	}
	return ordered(string(e.Op), x, y, e.X.Type())
}

func hasCall(e ir.Expr) bool {
	switch e.(type) {
	case *ir.Call, *ir.CallValue:
		return true
	}
	return slices.ContainsFunc(ir.Operands(e), hasCall)
}

func ordered(op string, x, y value, t *types.Type) bool {
	a, isFloat := x.(float64)
	if isFloat { // every comparison with NaN is false
		b := y.(float64)
		switch op {
		case "<":
			return a < b
		case "<=":
			return a <= b
		case ">":
			return a > b
		}
		return a >= b
	}
	c := compare(x, y, t)
	switch op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

func floats(e *ir.Binary, a float64, y value) value {
	b, is := y.(float64)
	if !is {
		b = float64(y.(int64))
	}
	var r float64
	switch e.Op {
	case "+":
		r = a + b
	case "-":
		r = a - b
	case "*":
		r = a * b
	case "/":
		r = a / b
	case "%":
		r = math.Mod(a, b)
	case "**":
		r = math.Pow(a, b)
	}
	if e.T.Kind == types.Float32 {
		r = float64(float32(r))
	}
	return r
}
