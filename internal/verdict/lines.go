package verdict

import "interleave/internal/manifest"

// LinesOf counts the lines of code of a tree's models, for Judge. A model that is not there, or whose
// source cannot be read, has 0.
func LinesOf(tree *manifest.Tree) func(service, model string) int {
	return func(service, model string) int {
		s := tree.Service(service)
		if s == nil {
			return 0
		}
		m := s.Model(model)
		if m == nil {
			return 0
		}
		n, err := m.Lines()
		if err != nil {
			return 0
		}
		return n
	}
}
