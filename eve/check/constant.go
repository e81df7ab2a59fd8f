package check

import (
	"math"
	"math/big"
	"strings"

	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/types"
)

// fold computes a constant expression: constants and arithmetic on them. For other expressions it
// returns nil. It reports overflow and division by zero.
func (c *checker) fold(x ir.Expr) *ir.Const {
	switch x := x.(type) {
	case *ir.Const:
		return x
	case *ir.Ref:
		if x.Var == nil || x.Var.Kind != ir.Constant {
			return nil
		}
		if k, ok := x.Var.Init.(*ir.Const); ok {
			return &ir.Const{Place: x.Place, Value: k.Value}
		}
	case *ir.Unary:
		if k := c.fold(x.X); k != nil {
			return c.foldUnary(x, k)
		}
	case *ir.Binary:
		a := c.fold(x.X)
		if a == nil {
			return nil
		}
		if b := c.fold(x.Y); b != nil {
			return c.foldBinary(x, a, b)
		}
	case *ir.Convert:
		if k := c.fold(x.X); k != nil {
			return c.foldConvert(x, k)
		}
	}
	return nil
}

func (c *checker) foldUnary(x *ir.Unary, k *ir.Const) *ir.Const {
	at := ir.Place{T: x.T, Span: x.Span}
	switch v := k.Value.(type) {
	case bool:
		if x.Op == "!" {
			return &ir.Const{Place: at, Value: !v}
		}
	case float64:
		if x.Op == "-" {
			return &ir.Const{Place: at, Value: -v}
		}
	case int64, uint64:
		n := toBig(v)
		switch x.Op {
		case "-":
			return c.whole(at, n.Neg(n), x.Span)
		case "~":
			n.Not(n)
			if x.T.IsUnsigned() {
				n = wrapped(n, x.T)
			}
			return c.whole(at, n, x.Span)
		}
	}
	return nil
}

func (c *checker) foldConvert(x *ir.Convert, k *ir.Const) *ir.Const {
	at := ir.Place{T: x.T, Span: x.Span}
	switch {
	case x.T.IsFloat() && (k.T.IsInteger() || k.T.IsFloat()):
		return &ir.Const{Place: at, Value: rounded(toFloat(k.Value), x.T)}
	case x.T.IsInteger() && k.T.IsInteger():
		return c.whole(at, toBig(k.Value), x.Span)
	case x.T.IsInteger() && k.T.IsFloat():
		f, ok := k.Value.(float64)
		if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil
		}
		n, _ := big.NewFloat(math.Trunc(f)).Int(nil)
		return c.whole(at, n, x.Span)
	}
	return nil
}

func (c *checker) foldBinary(x *ir.Binary, a, b *ir.Const) *ir.Const {
	at := ir.Place{T: x.T, Span: x.Span}
	if a.T.IsFloat() || b.T.IsFloat() {
		return foldFloats(at, x.Op, toFloat(a.Value), toFloat(b.Value))
	}
	switch v := a.Value.(type) {
	case bool:
		w, ok := b.Value.(bool)
		if !ok {
			return nil
		}
		return foldBools(at, x.Op, v, w)
	case string:
		w, ok := b.Value.(string)
		if !ok || a.T != types.StringT || b.T != types.StringT {
			return nil
		}
		if x.Op == "+" {
			return &ir.Const{Place: at, Value: v + w}
		}
		return compared(at, x.Op, strings.Compare(v, w))
	case int64, uint64:
		if n, m := toBig(v), toBig(b.Value); m != nil {
			return c.foldInts(at, x, n, m)
		}
	}
	return nil
}

func foldBools(at ir.Place, op ir.Op, v, w bool) *ir.Const {
	var r bool
	switch op {
	case "&&", "&":
		r = v && w
	case "||", "|":
		r = v || w
	case "==":
		r = v == w
	case "!=", "^":
		r = v != w
	default:
		return nil
	}
	return &ir.Const{Place: at, Value: r}
}

func foldFloats(at ir.Place, op ir.Op, v, w float64) *ir.Const {
	var r float64
	switch op {
	case "+":
		r = v + w
	case "-":
		r = v - w
	case "*":
		r = v * w
	case "/":
		r = v / w
	case "**":
		r = math.Pow(v, w)
	case "==", "!=", "<", "<=", ">", ">=":
		if math.IsNaN(v) || math.IsNaN(w) {
			return &ir.Const{Place: at, Value: op == "!="}
		}
		order := 0
		if v < w {
			order = -1
		} else if v > w {
			order = 1
		}
		return compared(at, op, order)
	default:
		return nil
	}
	return &ir.Const{Place: at, Value: rounded(r, at.T)}
}

// compared is the value of a comparison whose sides compare as `order` says.
func compared(at ir.Place, op ir.Op, order int) *ir.Const {
	var r bool
	switch op {
	case "==":
		r = order == 0
	case "!=":
		r = order != 0
	case "<":
		r = order < 0
	case "<=":
		r = order <= 0
	case ">":
		r = order > 0
	case ">=":
		r = order >= 0
	default:
		return nil
	}
	return &ir.Const{Place: at, Value: r}
}

// maxPower bounds the exponent of a constant, in bits of the result: no type has more than 64.
const maxPower = 128

func (c *checker) foldInts(at ir.Place, x *ir.Binary, n, m *big.Int) *ir.Const {
	r := new(big.Int)
	switch x.Op {
	case "+", "+%":
		r.Add(n, m)
	case "-", "-%":
		r.Sub(n, m)
	case "*", "*%":
		r.Mul(n, m)
	case "/", "%":
		if m.Sign() == 0 {
			c.diags.Errorf("E0316", x.Span, "division by zero")
			return nil
		}
		if x.Op == "/" {
			r.Quo(n, m)
		} else {
			r.Rem(n, m)
		}
	case "**":
		if m.Sign() < 0 || n.BitLen() > 1 && m.Cmp(big.NewInt(maxPower)) > 0 {
			c.diags.Errorf("E0309", x.Span, "the power does not fit in %s", at.T)
			return nil
		}
		// for 0, 1 and -1 only the parity of the exponent matters
		if n.BitLen() <= 1 && m.BitLen() > 1 {
			m = big.NewInt(2 + int64(m.Bit(0)))
		}
		r.Exp(n, m, nil)
	case "&":
		r.And(n, m)
	case "|":
		r.Or(n, m)
	case "^":
		r.Xor(n, m)
	case "<<", ">>":
		return c.foldShift(at, x, n, m)
	default:
		return compared(at, x.Op, n.Cmp(m))
	}
	// an untyped number has no width at which to wrap
	if strings.HasSuffix(string(x.Op), "%") && x.Op != "%" && !untyped(at.T) {
		r = wrapped(r, at.T)
	}
	return c.whole(at, r, x.Span)
}

func (c *checker) foldShift(at ir.Place, x *ir.Binary, n, m *big.Int) *ir.Const {
	if m.Sign() < 0 || m.Cmp(big.NewInt(int64(at.T.Bits()))) >= 0 {
		c.diags.Errorf("E0309", x.Span, "a shift of %s is by 0 to %d", at.T, at.T.Bits()-1)
		return nil
	}
	by := uint(m.Int64())
	if x.Op == ">>" {
		return c.whole(at, n.Rsh(n, by), x.Span)
	}
	n.Lsh(n, by)
	if !untyped(at.T) { // bits shifted out are lost, as at run time
		n = wrapped(n, at.T)
	}
	return c.whole(at, n, x.Span)
}

// whole makes an integer constant. It reports one that does not fit its type.
func (c *checker) whole(at ir.Place, n *big.Int, span source.Span) *ir.Const {
	if !inRange(n, at.T) {
		c.diags.Errorf("E0309", span, "%s does not fit in %s", n, at.T)
		return nil
	}
	if n.IsInt64() {
		return &ir.Const{Place: at, Value: n.Int64()}
	}
	return &ir.Const{Place: at, Value: n.Uint64()}
}

// toBig returns the value of an integer, and nil for other values.
func toBig(v any) *big.Int {
	switch v := v.(type) {
	case int64:
		return big.NewInt(v)
	case uint64:
		return new(big.Int).SetUint64(v)
	}
	return nil
}

func toFloat(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// rounded returns f with the precision of t.
func rounded(f float64, t *types.Type) float64 {
	if t == types.Float32T {
		return float64(float32(f))
	}
	return f
}

// bounds returns the smallest and the largest integer of a type.
func bounds(t *types.Type) (low, high *big.Int) {
	one := big.NewInt(1)
	bits := uint(t.Bits())
	high = new(big.Int).Lsh(one, bits)
	switch {
	case t.Kind == types.UntypedInt:
		return new(big.Int).Neg(new(big.Int).Lsh(one, 63)), high.Sub(high, one)
	case t.IsUnsigned():
		return new(big.Int), high.Sub(high, one)
	}
	half := new(big.Int).Lsh(one, bits-1)
	return new(big.Int).Neg(half), half.Sub(half, one)
}

func inRange(n *big.Int, t *types.Type) bool {
	if !t.IsInteger() {
		return false
	}
	low, high := bounds(t)
	return n.Cmp(low) >= 0 && n.Cmp(high) <= 0
}

// wrapped returns n modulo the size of t, in t's range.
func wrapped(n *big.Int, t *types.Type) *big.Int {
	low, high := bounds(t)
	size := new(big.Int).Lsh(big.NewInt(1), uint(t.Bits()))
	n = new(big.Int).Mod(n, size)
	if n.Cmp(high) > 0 {
		n.Sub(n, size)
	}
	if n.Cmp(low) < 0 {
		n.Add(n, size)
	}
	return n
}
