// Package profile reads profiles of servers: call stacks, with their numbers of samples. A Go
// server writes pprof's format; the JDK's own program converts a JVM's flight recording to text.
package profile

import (
	"cmp"
	"slices"
)

// The bounds of a profile: more cannot be seen in a figure.
const (
	mostDepth  = 128  // a framework of Java stands 60 deep before it calls what is ours
	leastShare = .002 // of all samples; rarer functions are counted with their caller
)

// A Node is a function, called by those above it. The root is all samples.
type Node struct {
	Name  string  `json:"name"`
	N     int64   `json:"n"`               // samples in which it was on the stack, here
	Calls []*Node `json:"calls,omitempty"` // by name
}

// Add counts a stack, the outermost function first. A stack that is too deep is cut at mostDepth.
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

// Self is the number of samples in which the function itself was running.
func (n *Node) Self() int64 {
	self := n.N
	for _, c := range n.Calls {
		self -= c.N
	}
	return self
}

// Selves adds up, for each function, the samples in which it was running itself.
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

// prune removes functions that are too rare to be seen.
func (n *Node) prune() *Node {
	least := int64(leastShare * float64(n.N))
	n.visit(func(n *Node) {
		n.Calls = slices.DeleteFunc(n.Calls, func(c *Node) bool { return c.N <= least })
	})
	return n
}
