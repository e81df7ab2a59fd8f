package check

import (
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// A signature is what a call needs to know of a function: its types for one list of type arguments.
type signature struct {
	env    *env
	self   *types.Type // of a method: T&; nil for functions and statics
	params []param     // without self
	result *types.Type
	format bool // the last parameter is `format: string`: the printf rule
}

// A param is a parameter of a signature.
type param struct {
	name string
	t    *types.Type
	take bool
	tree *syntax.Param // for its default, which is checked in the signature's env
}

// A site is where a generic was instantiated, and in which instance.
type site struct {
	f     *function
	args  []*types.Type
	at    source.Span
	outer *site
}

// signature gives the types of f for a receiver (nil for functions) and f's own type arguments.
func (c *checker) signature(f *function, recv *types.Type, targs []*types.Type) *signature {
	return &signature{env: &env{module: f.module}, result: types.InvalidT}
}

// typeParams gives f's own type parameters: those of its owner are not among them.
func (f *function) typeParams() []*syntax.TypeParam { return nil }

// instance gives the function for a receiver type (nil for functions) and type arguments. There is one
// for each list of them; its body is checked later.
func (c *checker) instance(f *function, recv *types.Type, targs []*types.Type, at source.Span) *ir.Func {
	return nil
}
