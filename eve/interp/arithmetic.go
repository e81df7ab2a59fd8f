package interp

import (
	"math"
	"math/big"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// exact does arithmetic on integers without a bound.
func exact(op string, a, b *big.Int) *big.Int {
	r := new(big.Int)
	switch op {
	case "+", "+%":
		r.Add(a, b)
	case "-", "-%":
		r.Sub(a, b)
	case "*", "*%":
		r.Mul(a, b)
	case "/":
		r.Quo(a, b)
	case "%":
		r.Rem(a, b)
	}
	return r
}

// bigOf is an integer of a type, without a bound.
func bigOf(v int64, t *types.Type) *big.Int {
	if t.IsUnsigned() {
		return new(big.Int).SetUint64(uint64(v))
	}
	return big.NewInt(v)
}

// low64 are the lowest 64 bits of r in two's complement.
func low64(r *big.Int) int64 {
	mask := new(big.Int).SetUint64(math.MaxUint64)
	return int64(new(big.Int).And(r, mask).Uint64())
}

// arithmetic computes a op b in the integer type of e.
func (f *frame) arithmetic(e ir.Expr, op string, a, b int64) value {
	t := e.Type()
	switch op {
	case "&":
		return a & b
	case "|":
		return a | b
	case "^":
		return wrapped(a^b, t)
	case "<<", ">>":
		if uint64(b) >= uint64(t.Bits()) {
			fail(e.At(), "shift by %d: the value has %d bits", b, t.Bits())
		}
		if op == "<<" {
			return wrapped(a<<b, t)
		}
		if t.IsUnsigned() {
			return int64(uint64(a) >> b)
		}
		return a >> b
	case "/", "%":
		if b == 0 {
			fail(e.At(), "division by zero")
		}
	case "**":
		if b < 0 && !e.Type().IsUnsigned() {
			fail(e.At(), "a negative power of an integer")
		}
		return f.power(e, a, uint64(b))
	}
	v, fits := compute(op, a, b, t)
	if !fits && op[len(op)-1] != '%' && (!f.in.options.Wrap || op == "/") {
		fail(e.At(), "integer overflow")
	}
	return v
}

// compute computes a op b, and says whether the result fits t.
func compute(op string, a, b int64, t *types.Type) (v int64, fits bool) {
	const small = 1 << 31
	least := int64(-small)
	if t.IsUnsigned() {
		least = -1 // a number below 0 is a large unsigned number
	}
	if least < a && a < small && least < b && b < small { // every result fits 64 bits
		var r int64
		switch op[0] {
		case '+':
			r = a + b
		case '-':
			r = a - b
		case '*':
			r = a * b
		case '/':
			r = a / b
		case '%':
			r = a % b
		}
		v = wrapped(r, t)
		return v, v == r && !(r < 0 && t.Kind == types.Uint64)
	}
	r := exact(op, bigOf(a, t), bigOf(b, t))
	v = wrapped(low64(r), t)
	return v, bigOf(v, t).Cmp(r) == 0
}

// power is a to the n by squaring.
func (f *frame) power(e ir.Expr, a int64, n uint64) value {
	t := e.Type()
	times := func(a, b int64) int64 {
		v, fits := compute("*", a, b, t)
		if !fits && !f.in.options.Wrap {
			fail(e.At(), "integer overflow")
		}
		return v
	}
	for r := int64(1); ; a = times(a, a) {
		if n&1 != 0 {
			r = times(r, a)
		}
		if n >>= 1; n == 0 {
			return r
		}
	}
}

// convert converts between numbers, and characters, strings and bytes.
func (f *frame) convert(e *ir.Convert) value {
	from, to := e.X.Type(), e.T
	switch v := f.value(e.X).(type) {
	case int64:
		switch {
		case to.IsFloat():
			return rounded(toFloat(v, from), to)
		case to.Kind == types.String && from.Kind == types.Char:
			return string([]byte{byte(v)})
		case to.IsInteger():
			return f.narrow(e, bigOf(v, from), v)
		}
		return f.text(v, from)
	case float64:
		if to.IsFloat() {
			return rounded(v, to)
		}
		if !to.IsInteger() {
			return f.text(v, from)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			if !f.in.options.Wrap {
				fail(e.Span, unfit)
			}
			return int64(0)
		}
		whole, _ := big.NewFloat(math.Trunc(v)).Int(nil)
		return f.narrow(e, whole, low64(whole))
	case string:
		if to.Kind == types.Vector {
			return bytesOf(v)
		}
		return v
	case *list:
		return textOf(v.elems)
	default:
		if to.Kind == types.String {
			return f.text(v, from)
		}
		return v
	}
}

// unfit is the message of a failed conversion.
const unfit = "the number does not fit the type that it is converted to"

// narrow is an integer in another width. If it does not fit it fails, or is truncated if integers
// wrap.
func (f *frame) narrow(e *ir.Convert, whole *big.Int, low int64) value {
	v := wrapped(low, e.T)
	if bigOf(v, e.T).Cmp(whole) != 0 && !f.in.options.Wrap {
		fail(e.Span, unfit)
	}
	return v
}

func toFloat(v int64, t *types.Type) float64 {
	if t.IsUnsigned() {
		return float64(uint64(v))
	}
	return float64(v)
}

func rounded(v float64, t *types.Type) float64 {
	if t.Kind == types.Float32 {
		return float64(float32(v))
	}
	return v
}

func bytesOf(s string) *list {
	l := &list{elems: make([]value, len(s))}
	for i := range len(s) {
		l.elems[i] = int64(s[i])
	}
	return l
}

// textOf converts bytes to text.
func textOf(elems []value) string {
	b := make([]byte, len(elems))
	for i, e := range elems {
		b[i] = byte(e.(int64))
	}
	return string(b)
}
