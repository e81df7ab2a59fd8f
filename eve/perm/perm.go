// Package perm checks a program by the permission rules R1 to R12, which say when a body may read
// or change an object. A program that it accepts has no data race, whatever the scheduler does.
//
// Each rule has a file of its own. The core that they share is small. A path says which storage an
// expression denotes. An access is a path with a mode. A state walks through one body, makes its
// accesses in the order in which they happen, and applies the rules to each.
package perm

import (
	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/types"
)

// A mode is the kind of an access to storage, or of a body's permission on an object.
type mode uint8

const (
	null mode = iota // the handle only
	read
	full
)

// Check reports violations of the rules in p and fills Body.Contained. It skips functions in which
// diags has an error, since reports about broken code mislead.
func Check(p *ir.Program, diags *diag.List) {
	c := &checker{diags: diags, broken: brokenSpans(diags), awaited: map[*ir.Var]bool{}}
	for _, m := range p.Modules {
		for _, f := range m.Funcs {
			c.function(f)
		}
	}
	for _, f := range p.Tests {
		c.function(f)
	}
	if p.Main != nil {
		c.function(p.Main)
	}
	if !diags.HasErrors() {
		for _, d := range c.hints.Sorted() {
			diags.Add(d)
		}
	}
}

// A checker is the state of one Check.
type checker struct {
	diags   *diag.List
	hints   diag.List // reported only when there are no errors
	broken  []source.Span
	done    map[*ir.Func]bool
	minding map[*ir.Func]bool // whether a function relies on its parameters being apart
	// awaited holds the variables that get a value by <-. The continuation owns that value.
	awaited map[*ir.Var]bool
}

func brokenSpans(diags *diag.List) []source.Span {
	var all []source.Span
	for _, d := range diags.Sorted() {
		if d.Code.IsError() {
			all = append(all, d.Span)
		}
	}
	return all
}

func (c *checker) function(f *ir.Func) {
	if f == nil || f.Body == nil || f.Body.Block == nil || c.done[f] || c.isBroken(f) {
		return
	}
	if c.done == nil {
		c.done = map[*ir.Func]bool{}
	}
	c.done[f] = true
	c.signature(f)
	s := c.enter(f.Body, nil)
	s.ownList()
	s.block(f.Body.Block)
	s.lint()
}

// isBroken says whether an error was reported inside f before.
func (c *checker) isBroken(f *ir.Func) bool {
	whole := f.Body.Head.To(f.Body.Block.Span)
	for _, at := range c.broken {
		if at.File == whole.File && at.File != nil && whole.Start <= at.Start &&
			at.Start < max(whole.End, whole.Start+1) {
			return true
		}
	}
	return false
}

// An access is one use of storage.
type access struct {
	path path
	mode mode
	at   source.Span
	name string // the name in the text
	// moved says that the value is moved.
	moved bool
}

// A state is a walk through one body, with the lambdas that it makes.
type state struct {
	*checker
	body  *ir.Body
	outer *state
	lives *lives
	pos   int // of the last expression reached, in the numbers of lives

	sources  map[*ir.Var]path     // the storage that a view shows
	closures map[*ir.Var][]access // the accesses of a call of a local closure
	used     map[*ir.Var]mode     // the strongest use of each variable
	said     map[*ir.Var]bool     // a missing permission on it was reported
	views    []*ir.Var            // of the blocks around, outermost first
	frozen   []freeze             // by the loops around
	finishes []*frame             // around, in this body
	logs     []*[]access          // lists that record accesses
	lambdas  []lambda             // around, in this body, innermost last
	loops    int                  // around, in this body
	late     []deferred           // accesses of the deferred blocks around
	// changes by tasks that start when this body has ended, and the place in their list
	pending map[*ir.Var]source.Span
	// how many finishes the tasks in the defer around need; 0 outside a defer
	deferred int
}

// enter starts the walk through b.
func (c *checker) enter(b *ir.Body, outer *state) *state {
	return &state{
		checker: c, body: b, outer: outer, lives: livesOf(b),
		sources: map[*ir.Var]path{}, closures: map[*ir.Var][]access{},
		used: map[*ir.Var]mode{}, said: map[*ir.Var]bool{}, pending: map[*ir.Var]source.Span{},
	}
}

// mine says whether v may be named in this body: a variable of its own, of its lambdas, or of the
// module.
func (s *state) mine(v *ir.Var) bool {
	return v.Kind == ir.Global || v.Kind == ir.Constant || v.Body == nil ||
		v.Body.Owner() == s.body.Owner()
}

// use notes that v is used, for the lints and for loans.
func (s *state) use(v *ir.Var, m mode) {
	if old, ok := s.used[v]; !ok || old < m {
		s.used[v] = m
	}
}

func isShared(t *types.Type) bool { return t != nil && t.Kind == types.Shared }

func isInvalid(t *types.Type) bool { return t == nil || t.Kind == types.Invalid }

// isView says whether a variable of the type shows storage of another owner.
func isView(t *types.Type) bool {
	return t != nil && (t.Kind == types.Slice || t.Kind == types.Ref)
}
