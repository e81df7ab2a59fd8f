// Package profile reads what a profiler saw a server do: which functions stood upon each other, and
// in how many samples. A Go server writes what pprof reads; of a JVM's flight recording the JDK's
// own program makes text.
package profile

import (
	"cmp"
	"slices"
)

// The bounds of what is kept: more cannot be seen in a figure.
const (
	mostDepth  = 128  // a framework of Java stands 60 deep before it calls what is ours
	leastShare = .002 // of all samples; what is rarer is left to its caller
)

// A Node is a function called by those above it. The root is everything that was sampled.
type Node struct {
	Name  string  `json:"name"`
	N     int64   `json:"n"`               // samples in which it was on the stack, here
	Calls []*Node `json:"calls,omitempty"` // by name
}

// Add counts a stack: the outermost function first. What lies too deep is left to the function that
// it is deeper than.
func (n *Node) Add(stack []string, times int64) {
	n.N += times
	for _, name := range stack[:min(len(stack), mostDepth)] {
		i, found := slices.BinarySearchFunc(n.Calls, name,
			func(c *Node, name string) int { return cmp.Compare(c.Name, name) })
		if !found {
			n.Calls = slices.Insert(n.Calls, i, &Node{Name: name})
		}
		n = n.Calls[i]
		n.N += times
	}
}

// Self is in how many samples the function itself was at work.
func (n *Node) Self() int64 {
	self := n.N
	for _, c := range n.Calls {
		self -= c.N
	}
	return self
}

// Selves adds up, for each function, the samples in which it was at work itself.
func (n *Node) Selves() map[string]int64 {
	out := map[string]int64{}
	n.visit(func(n *Node) { out[n.Name] += n.Self() })
	return out
}

func (n *Node) visit(see func(*Node)) {
	see(n)
	for _, c := range n.Calls {
		c.visit(see)
	}
}

// prune leaves out what is too rare to be seen.
func (n *Node) prune() *Node {
	least := int64(leastShare * float64(n.N))
	n.visit(func(n *Node) {
		n.Calls = slices.DeleteFunc(n.Calls, func(c *Node) bool { return c.N <= least })
	})
	return n
}
