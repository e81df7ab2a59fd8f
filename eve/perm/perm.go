// Package perm judges a checked program by the permission rules R1 to R12: who may touch what, and
// when. A program that it accepts has no data race, whatever the scheduler does.
//
// Each rule has a file of its own. The core they share is small: a path says which storage an
// expression denotes, an access is a path with a mode, and a state walks through one body, meets
// its accesses in the order in which they happen, and asks the rules about each.
package perm

import (
	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/types"
)

// A mode says what is done to storage, or what a body may do to an object.
type mode uint8

const (
	null mode = iota // the handle only
	read
	full
)

// Check reports what in p breaks a rule and fills Body.Contained. Functions in which diags has an
// error already are passed over: what is said of broken code misleads.
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

// A checker holds what one Check knows.
type checker struct {
	diags   *diag.List
	hints   diag.List // to be said when there are no errors
	broken  []source.Span
	done    map[*ir.Func]bool
	minding map[*ir.Func]bool // whether a function relies on its parameters being apart
	// awaited holds the variables that <- gives a value: the continuation owns it.
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
	name string // as the user wrote it
	// moved says that the value is taken away.
	moved bool
}

// A state is a walk through one body, with the lambdas that it makes.
type state struct {
	*checker
	body  *ir.Body
	outer *state
	lives *lives
	pos   int // of the expression reached, as lives counts

	sources  map[*ir.Var]path     // what a view shows
	closures map[*ir.Var][]access // what calling a local closure does
	used     map[*ir.Var]mode     // the strongest use of each variable
	said     map[*ir.Var]bool     // a missing permission on it was reported
	views    []*ir.Var            // declared in the blocks around, outermost first
	frozen   []freeze             // by the loops around
	finishes []*frame             // around, in this body
	logs     []*[]access          // that record what happens
	lambdas  []lambda             // around, in this body, innermost last
	loops    int                  // around, in this body
	late     []deferred           // what the defers of the blocks around do
	// what tasks change that start when this body has ended, and where they list it
	pending map[*ir.Var]source.Span
	// how many finishes a task in the defer around needs; 0 outside
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

// mine says whether v may be named in this body: its own, its lambdas', or of the module.
func (s *state) mine(v *ir.Var) bool {
	return v.Kind == ir.Global || v.Kind == ir.Constant || v.Body == nil ||
		v.Body.Owner() == s.body.Owner()
}

// use notes that v is used, for the lints and for what a loan needs.
func (s *state) use(v *ir.Var, m mode) {
	if old, ok := s.used[v]; !ok || old < m {
		s.used[v] = m
	}
}

func isShared(t *types.Type) bool { return t != nil && t.Kind == types.Shared }

func isInvalid(t *types.Type) bool { return t == nil || t.Kind == types.Invalid }

// isView says whether a variable of the type shows storage that belongs to another.
func isView(t *types.Type) bool {
	return t != nil && (t.Kind == types.Slice || t.Kind == types.Ref)
}
