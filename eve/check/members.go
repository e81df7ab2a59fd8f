package check

import "interleave/eve/types"

// method gives the method of t, behind T@ and T& too, that has the name; nil when there is none. Its
// receiver type for instance and signature is t.Deref().
func (c *checker) method(t *types.Type, name string) *function { return nil }

// fieldOf gives the field of the struct t, behind T@ and T& too, that has the name.
func (c *checker) fieldOf(t *types.Type, name string) (index int, f types.Field, ok bool) {
	return 0, types.Field{}, false
}

// isStatic says whether f belongs to a type but has no self.
func (f *function) isStatic() bool { return false }
