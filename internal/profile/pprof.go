package profile

import (
	"fmt"
	"io"
	"path"

	"github.com/google/pprof/profile"
)

// ReadPprof reads a CPU profile as Go's runtime/pprof writes it.
func ReadPprof(r io.Reader) (*Node, error) {
	p, err := profile.Parse(r)
	if err != nil {
		return nil, fmt.Errorf("reading a profile of pprof: %w", err)
	}
	root := &Node{}
	for _, s := range p.Sample {
		if len(s.Value) == 0 || s.Value[0] <= 0 {
			continue
		}
		var stack []string
		// the innermost comes first, and so do inlined ones of a place
		for i := len(s.Location) - 1; i >= 0; i-- {
			lines := s.Location[i].Line
			for j := len(lines) - 1; j >= 0; j-- {
				if f := lines[j].Function; f != nil {
					stack = append(stack, path.Base(f.Name))
				}
			}
			if len(lines) == 0 {
				// code without names of functions, such as a C library's
				stack = append(stack, "[native]")
			}
		}
		root.Add(stack, s.Value[0])
	}
	return root.prune(), nil
}
