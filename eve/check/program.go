package check

import (
	"interleave/eve/ir"
	"interleave/eve/source"
)

// program loads, declares and checks main and all that it needs.
func (c *checker) program(main *source.File) *ir.Program {
	return &ir.Program{Universe: c.universe}
}
