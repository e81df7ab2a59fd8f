package ir

import (
	"slices"

	"interleave/eve/types"
)

var comparisons = []Op{"==", "!=", "<", "<=", ">", ">="}

// Sides is the comparison whose two values the failure of an assertion says: it has no message of
// its own, and both are data. It is nil for any other assertion.
func (a *Assert) Sides() *Binary {
	b, ok := a.X.(*Binary)
	if !ok || a.Message != nil || !slices.Contains(comparisons, b.Op) || absent(b.X) ||
		absent(b.Y) || !b.X.Type().IsData() {
		return nil
	}
	return b
}

// absent says whether x is the literal none, which compares without == of the value.
func absent(x Expr) bool {
	c, ok := x.(*Const)
	return ok && c.Value == nil && (c.T.Kind == types.Option || c.T.Kind == types.None)
}
