package emit

import (
	"fmt"

	"interleave/eve/ir"
	"interleave/eve/types"
)

// A finishKind says how the children of a finish are run.
type finishKind uint8

const (
	// in the task-free clone, and when enough tasks are ready: one after the other
	atOnce finishKind = iota
	// disjoint children in sequence: frames at known places, the last child runs inline
	straight
	counted // disjoint children in loops: any number of frames
	queued  // children that may conflict: a scope orders them
)

// A finish is the finish around the statements that are being written.
type finish struct {
	kind finishKind
	// counted, and straight when something can fail: the variable that joins in any case
	joiner    string
	arguments string // counted: the variable with arguments that frames point to; or empty
	scope     string // queued
	last      *ir.Spawn
	children  []*child         // straight: in frames
	inside    map[*ir.Var]bool // counted: declared in it
	indent    int              // counted: of the statements that end with it
}

// A child is a task that was pushed and must still be popped.
type child struct {
	body  *ir.Body
	parts []part
	args  string // the struct in its frame
	at    int
}

// spawnsOutsideFinish says whether b spawns children that belong to a finish around it.
func spawnsOutsideFinish(b *ir.Block) bool {
	found := false
	ir.Walk(b, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Finish, *ir.Body:
			return false
		case *ir.Spawn:
			found = found || n.Body.Kind == ir.Child
		case *ir.SpawnEach:
			found = found || n.Body.Kind == ir.Child
		}
		return !found
	})
	return found
}

// finishBlock writes a finish.
func (f *function) finishBlock(b *ir.Block, disjoint bool) {
	if !spawnsOutsideFinish(b) {
		f.block(b)
		return
	}
	at := f.at
	f.put("{")
	f.indent++
	f.nested(func() {
		switch {
		case !disjoint:
			f.queuedFinish(b)
		case f.ctx.finish != nil && f.ctx.finish.kind == atOnce:
			f.stmts(b)
		case f.ctx.clone != nil && contains(b,
			func(n ir.Node) bool { c, ok := n.(*ir.Call); return ok && c.Fn == f.ctx.clone }):
			f.finishTwice(b)
		default:
			f.ctx.clone = nil
			f.framedFinish(b)
		}
	})
	f.indent--
	f.at = at
	f.put("}")
}

// finishTwice writes a finish twice: without tasks, for when enough of them are ready, and with
// tasks.
func (f *function) finishTwice(b *ir.Block) {
	at := f.at
	f.put("if (eve::enough_ready(" + f.ctx.worker + ", " + f.frame() + ")) {")
	f.indent++
	f.nested(func() {
		f.ctx.finish = &finish{kind: atOnce}
		f.stmts(b)
	})
	f.indent--
	f.at = at
	f.put("} else {")
	f.indent++
	f.nested(func() {
		f.ctx.clone = nil
		f.framedFinish(b)
	})
	f.indent--
	f.put("}")
}

// framedFinish writes a finish whose children are in frames.
func (f *function) framedFinish(b *ir.Block) {
	if isStraight(b) {
		f.straightFinish(b)
		return
	}
	j := f.locals.name("children_")
	joiner := "eve::joiner " + j + "(" + f.ctx.worker + ", " + f.frame() + ");"
	fin := &finish{kind: counted, joiner: j, inside: declared(b), indent: f.indent}
	f.ctx.finish = fin
	f.ctx.top, f.ctx.above = j+".top", 0
	children := f.capture(func() { f.stmts(b) })
	if fin.arguments != "" { // before the joiner, so that it ends after all children
		f.put("eve::argument_store " + fin.arguments + ";")
	}
	f.put(joiner)
	f.lines = append(f.lines, children...)
	f.put(j + ".join();")
}

// declared finds the variables of a block and of the blocks in it.
func declared(b *ir.Block) map[*ir.Var]bool {
	found := map[*ir.Var]bool{}
	ir.Walk(b, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Body:
			return false
		case *ir.Declare:
			found[n.Var] = true
		case *ir.Unpack:
			for _, v := range n.Vars {
				found[v] = true
			}
		case *ir.ForIn:
			found[n.Var] = true
		}
		return true
	})
	return found
}

// isStraight says whether the children of a finish are in sequence, not in loops or branches.
func isStraight(b *ir.Block) bool {
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *ir.Spawn:
		case *ir.SpawnEach:
			if !splits(s) {
				return false
			}
		default:
			if contains(s, func(n ir.Node) bool {
				switch n := n.(type) {
				case *ir.Spawn:
					return n.Body.Kind == ir.Child
				case *ir.SpawnEach:
					return n.Body.Kind == ir.Child
				}
				return false
			}) {
				return false
			}
		}
	}
	return true
}

// straightFinish pushes all children but the last, runs that one, and pops the others in reverse.
func (f *function) straightFinish(b *ir.Block) {
	fin := &finish{kind: straight}
	if last, ok := b.Stmts[len(b.Stmts)-1].(*ir.Spawn); ok {
		fin.last = last
	}
	if f.facts.fails(b, f.o.Checked) {
		fin.joiner = f.locals.name("children_")
		f.put("eve::joiner " + fin.joiner + "(" + f.ctx.worker + ", " + f.frame() + ");")
	}
	f.ctx.finish = fin
	f.stmts(b)
	for i := len(fin.children) - 1; i >= 0; i-- {
		f.popChild(fin, fin.children[i])
	}
}

// spawn writes one `@`.
func (f *function) spawn(s *ir.Spawn) {
	if s.Body.Kind != ir.Child {
		f.root(s.Body)
		return
	}
	fin := f.ctx.finish
	if fin == nil {
		panic(bug("a child outside of finish in " + f.ownerName()))
	}
	switch fin.kind {
	case atOnce:
		f.inlineChild(s.Body, f.parts(s.Body, false))
	case straight:
		if s == fin.last {
			f.inlineChild(s.Body, f.parts(s.Body, false))
		} else {
			f.pushChild(fin, s)
		}
	case counted:
		f.pushCounted(fin, s.Body)
	case queued:
		f.spawnQueued(fin, s.Body)
	}
}

// splits says whether a parallel loop over the elements in place is possible: for loans of a
// contiguous container.
func splits(s *ir.SpawnEach) bool {
	if s.Body.Kind != ir.Child || s.Body.Each == nil || s.Body.Each.Type.Kind == types.Shared {
		return false
	}
	switch s.X.Type().Deref().Kind {
	case types.Vector, types.Array, types.Slice:
		return true
	}
	return false
}

// spawnEach writes `@ for`.
func (f *function) spawnEach(s *ir.SpawnEach) {
	fin := f.ctx.finish
	child := s.Body.Kind == ir.Child
	if child && fin != nil && fin.kind != queued && fin.kind != atOnce && splits(s) {
		f.parallelFor(s)
		return
	}
	at := f.at
	f.put("{")
	f.indent++
	f.nested(func() {
		loop := &ir.ForIn{Mark: s.Mark, Var: s.Body.Each, X: s.X,
			Body: &ir.Block{Stmts: []ir.Stmt{&ir.Spawn{Mark: s.Mark, Body: s.Body}}}}
		if r, ok := s.X.(*ir.Range); ok {
			f.forRange(loop, r)
		} else {
			f.forElements(loop)
		}
	})
	f.indent--
	f.at = at
	f.put("}")
}

// parallelFor writes a loop that the runtime splits when a worker has nothing to do.
func (f *function) parallelFor(s *ir.SpawnEach) {
	at := f.at
	x := f.view(s.X)
	parts := f.parts(s.Body, true)
	f.nested(func() {
		worker, top := f.ctx.worker, f.frame()
		w, t := f.locals.name("w_"), f.locals.name("top_")
		e := f.local(s.Body.Each)
		elem := f.ctype(s.Body.Each.Type.Deref())
		f.vars[s.Body.Each] = plainly(e)
		f.put(fmt.Sprintf("eve::parallel_for(%s, %s, %s, [&](eve::worker* %s, eve::frame* %s, "+
			"%s& %s) {", worker, top, x, w, t, elem, e))
		f.indent++
		f.ctx = context{worker: w, top: t, result: types.VoidT}
		for _, p := range parts {
			f.vars[p.inner] = p.here
			// each task needs a copy
			if p.how == copied || p.inner.Sign == '=' && storesTo(s.Body.Block, p.inner) {
				own := f.locals.name(p.inner.Name)
				f.put("auto " + own + " = " + p.here.name + ";")
				f.vars[p.inner] = plainly(own)
			}
		}
		f.traced(s.Body, func() { f.childBody(s.Body) })
		f.indent--
		f.at = at
		f.put("});")
	})
}

// queuedFinish writes a finish whose children may want the same objects.
func (f *function) queuedFinish(b *ir.Block) {
	s := f.locals.name("scope_")
	f.put("eve::scope " + s + "(" + f.ctx.worker + ", " + f.frame() + ");")
	f.ctx.finish = &finish{kind: queued, scope: s}
	f.ctx.clone = nil
	f.ctx.top, f.ctx.above = s+".top()", 0
	f.stmts(b)
	f.put(s + ".join();")
}
