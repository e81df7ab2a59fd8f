package check

import (
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// lookup gives what a name means in a module: declared there, imported, of the prelude, or a std module
// that is in scope everywhere. It is nil when nothing has the name. Globals and constants have their
// type.
func (c *checker) lookup(m *module, name string) object { return nil }

// member gives the public object that n names in module m; it reports, and gives nil, when there is none.
func (c *checker) member(m *module, n *syntax.Name) object { return nil }

// unknown reports that nothing has the name; it suggests one of the module's names or of more.
func (c *checker) unknown(m *module, name string, at source.Span, more ...string) {}

// typeOf gives the type that t denotes; it reports what is wrong, and gives InvalidT then.
func (c *checker) typeOf(e *env, t syntax.Type) *types.Type { return types.InvalidT }

// basicType gives the type of a name like int, float, bool; nil when it is no such name.
func basicType(name string) *types.Type { return nil }

// namedType gives the type that tn declares for the arguments, vector<int> and the like included. A fresh
// one gets its Def. It reports, and gives InvalidT, when the number of arguments is wrong.
func (c *checker) namedType(tn *typeName, args []*types.Type, at source.Span) *types.Type {
	return types.InvalidT
}
