package check

import (
	"interleave/eve/source"
	"interleave/eve/types"
)

// infer gives f's own type arguments from what is written (explicit, may be shorter), the types of the
// arguments (nil for those not known yet, self not among them) and the type wanted (nil for none). It
// reports what cannot be inferred and what does not satisfy its constraint.
func (c *checker) infer(f *function, recv *types.Type, explicit, args []*types.Type, want *types.Type, at source.Span) ([]*types.Type, bool) {
	return nil, false
}
