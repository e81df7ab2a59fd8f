package perm

import (
	"interleave/eve/ir"
	"interleave/eve/types"
)

// block walks through statements in a scope of its own.
func (s *state) block(b *ir.Block) {
	if b == nil {
		return
	}
	views, late := len(s.views), len(s.late)
	for _, st := range b.Stmts {
		s.stmt(st)
		s.pos = max(s.pos, s.lives.ends[st])
	}
	s.views, s.late = s.views[:views], s.late[:late]
}

// deferBlock walks through a block that runs when the block around ends: after its value was made,
// and while the tasks of a finish around may still run.
func (s *state) deferBlock(b *ir.Block) {
	outside := s.deferred
	s.deferred = len(s.finishes) + 1
	log := s.recording(func() { s.block(b) })
	s.deferred = outside
	for _, a := range log {
		s.late = append(s.late, deferred{a, len(s.finishes)})
	}
}

// A deferred access happens at the end of a block around.
type deferred struct {
	access
	finishes int // around the defer
}

func (s *state) stmt(st ir.Stmt) {
	switch st := st.(type) {
	case *ir.Declare:
		s.declare(st.Var, st.Init)
	case *ir.Unpack:
		s.unpack(st)
	case *ir.Assign:
		s.assign(st)
	case *ir.Repoint:
		s.repoint(st)
	case *ir.Return:
		s.result(st)
	case *ir.Emit:
		s.emit(st)
	case *ir.Fail:
		s.value(st.X)
	case *ir.If:
		s.value(st.Cond)
		s.branch(func() { s.block(st.Then) })
		s.branch(func() { s.block(st.Else) })
	case *ir.Repeat:
		s.repeat(st)
	case *ir.ForIn:
		s.forIn(st)
	case *ir.Match:
		s.match(st)
	case *ir.Defer:
		s.deferBlock(st.Block)
	case *ir.Spawn:
		s.spawn(st.Body)
	case *ir.SpawnEach:
		s.spawnEach(st)
	case *ir.Finish:
		s.finish(st)
	case *ir.On:
		s.value(st.Emitter)
		s.root(st.Handler)
	case *ir.Await:
		s.await(st)
	default:
		ir.Children(st, s.part)
	}
}

// part walks through a part of a statement that has no rule of its own.
func (s *state) part(n ir.Node) {
	switch n := n.(type) {
	case *ir.Block:
		s.block(n)
	case ir.Expr:
		s.value(n)
	}
}

func (s *state) declare(v *ir.Var, init ir.Expr) {
	if v == nil {
		return
	}
	s.begin(v)
	switch {
	case isInvalid(v.Type):
	case isView(v.Type):
		s.show(v, init)
	case v.Type.Kind == types.Func:
		s.closures[v] = s.recording(func() { s.value(init) })
	case isShared(v.Type):
		s.value(init)
	default:
		s.owned(init)
		s.holdsView(v.Type, v.Span, "'"+v.Name+"'")
	}
}

// begin notes that v's scope begins. If finishes are around it, it ends before their tasks do.
func (s *state) begin(v *ir.Var) {
	for _, f := range s.finishes {
		f.declared[v] = true
	}
}

func (s *state) unpack(st *ir.Unpack) {
	views := false
	for _, v := range st.Vars {
		views = views || v != nil && isView(v.Type)
	}
	if !views {
		s.owned(st.Init)
		for _, v := range st.Vars {
			if v != nil {
				s.begin(v)
			}
		}
		return
	}
	s.value(st.Init)
	for i, v := range st.Vars {
		if v == nil {
			continue
		}
		s.begin(v)
		if c, ok := st.Init.(*ir.Call); ok && isView(v.Type) {
			s.view(v, s.splitPath(c, i), st.Init)
		} else if isView(v.Type) {
			s.view(v, path{}, st.Init)
		}
	}
}

func (s *state) assign(st *ir.Assign) {
	if st.Op == "" {
		s.owned(st.Value)
	} else {
		s.value(st.Value)
	}
	s.place(st.Target, full)
}

func (s *state) repeat(st *ir.Repeat) {
	views := len(s.views)
	if st.Init != nil {
		for _, i := range st.Init.Stmts {
			s.stmt(i)
		}
	}
	s.looping(func() {
		s.value(st.Cond)
		s.block(st.Body)
		if st.Step != nil {
			s.stmt(st.Step)
		}
	})
	s.views = s.views[:views]
}

// looping runs f as a loop: late accesses in it happen before early accesses of the next turn.
func (s *state) looping(f func()) {
	s.loops++
	started := make([]bool, len(s.finishes))
	for i, fr := range s.finishes {
		if fr.loop < 0 {
			fr.loop, started[i] = len(fr.uses), true
		}
	}
	f()
	for i, fr := range s.finishes {
		if started[i] {
			fr.loop = -1
		}
	}
	s.loops--
}

// await walks through x <- f(). The call of a native is posted to its object, as `on` is. So it
// needs only the handle, and the continuation lists its own uses of the object. A function written
// in Eve runs now, as any other; only its answer comes later.
func (s *state) await(st *ir.Await) {
	if st.Call != nil {
		s.call(st.Call, st.Call.Fn != nil && !st.Call.Fn.Answers())
	}
	s.value(st.Within)
	if st.Var != nil {
		s.awaited[st.Var] = true
	}
	s.root(st.Rest)
}
