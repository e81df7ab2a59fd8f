package check

import (
	"interleave/eve/syntax"
)

// A global is the declaration of a global or constant whose type is still to be found.
type global struct {
	module *module
	vars   *syntax.VarDecl
	konst  *syntax.ConstDecl
	busy   bool
}
