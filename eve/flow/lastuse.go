package flow

import (
	"maps"

	"interleave/eve/diag"
	"interleave/eve/ir"
	"interleave/eve/types"
)

// A set of variables: those that are used on some path from here to the end of the body.
type set map[*ir.Var]bool

func (s set) with(o set) set {
	n := maps.Clone(s)
	if n == nil {
		n = set{}
	}
	maps.Copy(n, o)
	return n
}

// A lastUse goes backwards through one body and knows at each place which variables are used
// behind it.
type lastUse struct {
	diags   *diag.List
	body    *ir.Body
	shows   map[*ir.Var]set  // variables that must stay while a view, a closure or a part is used
	owned   map[*ir.Var]bool // bound by a pattern to a part of a value without another owner
	exit    set              // used by the deferred blocks around: any failure runs them
	turn    []jump           // the loops around
	beside  []ir.Expr        // operands that are evaluated before this one and used with it
	passive int              // above 0: no reports, as the sets of a loop are not final
}

// A jump has the sets at the targets of break and continue.
type jump struct{ out, next set }

// lastUses fills Ref.Move in a body and the bodies in it.
func lastUses(b *ir.Body, diags *diag.List) {
	if b == nil || b.Block == nil {
		return
	}
	l := &lastUse{diags: diags, body: b, shows: map[*ir.Var]set{}, owned: map[*ir.Var]bool{},
		exit: set{}}
	l.look(b.Block)
	l.block(b.Block, l.exit)
	ir.Walk(b.Block, func(n ir.Node) bool {
		in, ok := n.(*ir.Body)
		if !ok || in.Kind == ir.Lambda {
			return true
		}
		lastUses(in, diags)
		return false
	})
}

// look finds out which variables depend on others. Going backwards would find that too late.
func (l *lastUse) look(b *ir.Block) {
	ir.Walk(b, func(n ir.Node) bool {
		switch s := n.(type) {
		case *ir.Body:
			return s.Kind == ir.Lambda
		case *ir.Declare:
			l.depend(s.Var, s.Init)
		case *ir.Unpack:
			for _, v := range s.Vars {
				l.depend(v, s.Init)
			}
		case *ir.ForIn:
			l.part(s.Var, s.X)
		case *ir.Match:
			for _, a := range s.Arms {
				for _, v := range a.Vars {
					l.part(v, s.X)
					l.owned[v] = !showsPlace(s.X)
				}
			}
		}
		return true
	})
}

// depend notes the variables that a view or closure v needs.
func (l *lastUse) depend(v *ir.Var, init ir.Expr) {
	if v != nil && (isView(v.Type) || v.Type.Kind == types.Func) {
		l.shows[v] = l.in(init)
	}
}

// part notes that v is a part of the place x.
func (l *lastUse) part(v *ir.Var, x ir.Expr) {
	if v != nil && showsPlace(x) {
		l.shows[v] = l.in(x)
	}
}

// in returns the variables in an expression, with those that they need.
func (l *lastUse) in(e ir.Expr) set {
	found := set{}
	ir.Walk(e, func(n ir.Node) bool {
		if r, ok := n.(*ir.Ref); ok {
			l.add(found, r.Var)
		}
		return true
	})
	return found
}

// mentions returns the variables in n and in the lists of its bodies, with those that they need.
// It goes into the bodies for which enter holds.
func (l *lastUse) mentions(n ir.Node, enter func(*ir.Body) bool) set {
	found := set{}
	ir.Walk(n, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Ref:
			l.add(found, n.Var)
		case *ir.Body:
			for _, e := range n.Perms {
				l.add(found, e.From)
			}
			return enter(n)
		}
		return true
	})
	return found
}

func anyBody(*ir.Body) bool    { return true }
func isLambda(b *ir.Body) bool { return b.Kind == ir.Lambda }

// add puts v and the variables that it needs into s.
func (l *lastUse) add(s set, v *ir.Var) {
	if v == nil {
		return
	}
	s[v] = true
	for w := range l.shows[v] {
		s[w] = true
	}
}

// block returns the variables that are used from the start of b on; after has those used behind
// it.
func (l *lastUse) block(b *ir.Block, after set) set {
	if b == nil {
		return after
	}
	exit := l.exit
	for _, s := range b.Stmts {
		if d, ok := s.(*ir.Defer); ok {
			l.exit = l.exit.with(l.mentions(d.Block, anyBody))
		}
	}
	if len(l.exit) > 0 {
		after = after.with(l.exit)
	}
	for i := len(b.Stmts) - 1; i >= 0; i-- {
		after = l.stmt(b.Stmts[i], after)
	}
	l.exit = exit
	return after
}

func (l *lastUse) stmt(s ir.Stmt, after set) set {
	switch s := s.(type) {
	case *ir.Declare:
		return l.declare(s, after)
	case *ir.Unpack:
		after = maps.Clone(after)
		views := false
		for _, v := range s.Vars {
			delete(after, v)
			views = views || v != nil && isView(v.Type)
		}
		return l.expr(s.Init, after, !views)
	case *ir.Assign:
		return l.assign(s, after)
	case *ir.Return:
		return l.expr(s.X, l.exit, true)
	case *ir.Fail:
		return l.expr(s.X, l.exit, false)
	case *ir.Break:
		return l.jump(after, func(j jump) set { return j.out }).with(l.exit)
	case *ir.Continue:
		return l.jump(after, func(j jump) set { return j.next }).with(l.exit)
	case *ir.If:
		return l.expr(s.Cond, l.block(s.Then, after).with(l.block(s.Else, after)), false)
	case *ir.Repeat:
		return l.repeat(s, after)
	case *ir.ForIn:
		return l.forIn(s, after)
	case *ir.Match:
		var before set
		for _, a := range s.Arms {
			own := l.block(a.Body, after).with(nil)
			for _, v := range a.Vars {
				delete(own, v) // in a loop it is another one in each turn
			}
			before = before.with(own)
		}
		return l.expr(s.X, before.with(nil), false)
	case *ir.Finish:
		return l.block(s.Block, after.with(l.lent(s.Block)))
	case *ir.Spawn:
		return l.captures(s.Body, after)
	case *ir.SpawnEach:
		return l.spawnEach(s, after)
	case *ir.On:
		return l.expr(s.Emitter, l.captures(s.Handler, after), false)
	case *ir.Await:
		after = l.captures(s.Rest, l.exit)
		after = l.expr(s.Within, after, false)
		if s.Call == nil {
			return after
		}
		if s.Call.Fn != nil && s.Call.Fn.Answers() {
			return l.expr(s.Call, after, false)
		}
		return l.awaited(s.Call, after)
	case *ir.Emit:
		return l.expr(s.Self, l.expr(s.Value, after, true), false)
	case *ir.Nest:
		return l.block(s.Block, after)
	case *ir.Defer:
		return l.block(s.Block, l.exit).with(after)
	}
	values := ir.Operands(s)
	for i := len(values) - 1; i >= 0; i-- {
		after = l.expr(values[i], after, false)
	}
	return after
}

func (l *lastUse) jump(after set, to func(jump) set) set {
	if len(l.turn) == 0 {
		return after
	}
	return to(l.turn[len(l.turn)-1])
}

func (l *lastUse) declare(s *ir.Declare, after set) set {
	after = maps.Clone(after)
	delete(after, s.Var)
	owning := s.Var != nil && !isView(s.Var.Type) && s.Var.Type.Kind != types.Func
	return l.expr(s.Init, after, owning)
}

func (l *lastUse) assign(s *ir.Assign, after set) set {
	if r, ok := s.Target.(*ir.Ref); ok && s.Op == "" && !isView(r.T) && !l.exit[r.Var] {
		after = maps.Clone(after)
		delete(after, r.Var)
	} else {
		after = l.expr(s.Target, after, false)
	}
	return l.expr(s.Value, after, s.Op == "")
}

// deep is the nesting depth of loops from which no fixed point is computed, since each level
// doubles the work: there all variables of the loop count as used. Hardly any program has so many
// levels.
const deep = 5

// again calls f, which returns the variables used at a loop's head, until its result is stable,
// and then once with reports. s is the loop.
func (l *lastUse) again(s ir.Stmt, after set, f func(head set) set) set {
	head := after
	if len(l.turn) >= deep {
		return f(after.with(l.outer(s)))
	}
	l.passive++
	for {
		next := head.with(f(head))
		if len(next) == len(head) {
			break
		}
		head = next
	}
	l.passive--
	return f(head)
}

// outer returns the variables that a loop uses and does not declare.
func (l *lastUse) outer(s ir.Stmt) set {
	found := l.mentions(s, anyBody)
	ir.Walk(s, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Declare:
			delete(found, n.Var)
		case *ir.Unpack:
			for _, v := range n.Vars {
				delete(found, v)
			}
		}
		return true
	})
	return found
}

func (l *lastUse) repeat(s *ir.Repeat, after set) set {
	head := l.again(s, after, func(head set) set {
		next := head
		if s.Step != nil {
			next = l.stmt(s.Step, head)
		}
		l.turn = append(l.turn, jump{after, next})
		body := l.block(s.Body, next)
		l.turn = l.turn[:len(l.turn)-1]
		return l.expr(s.Cond, body.with(after), false)
	})
	return l.block(s.Init, head)
}

func (l *lastUse) forIn(s *ir.ForIn, after set) set {
	around := after
	if showsPlace(s.X) {
		around = after.with(l.in(s.X))
	}
	head := l.again(s, around, func(head set) set {
		l.turn = append(l.turn, jump{after, head})
		body := l.block(s.Body, head)
		l.turn = l.turn[:len(l.turn)-1]
		return body.with(after)
	})
	return l.expr(s.X, head, false)
}

func (l *lastUse) spawnEach(s *ir.SpawnEach, after set) set {
	head := l.again(s, after, func(head set) set { return l.captures(s.Body, head).with(after) })
	return l.expr(s.X, head, false)
}

// lent returns the variables that the tasks of a finish borrow: these are in use until the finish
// ends.
func (l *lastUse) lent(b *ir.Block) set {
	found := set{}
	ir.Walk(b, func(n ir.Node) bool {
		in, ok := n.(*ir.Body)
		if !ok {
			return true
		}
		for _, e := range in.Perms {
			if e.From != nil && (e.Sign == '&' || e.From.Type.Kind == types.Func) {
				l.add(found, e.From)
			}
		}
		return true
	})
	return found
}

// awaited handles a call that goes on when this body has ended: it owns its arguments.
func (l *lastUse) awaited(c *ir.Call, after set) set {
	outer := l.beside
	defer func() { l.beside = outer }()
	for i := len(c.Args) - 1; i >= 0; i-- {
		l.beside = append(outer[:len(outer):len(outer)], c.Args[:i]...)
		kept := c.Fn != nil && i < len(c.Fn.Params) && c.Fn.Params[i].Kind != ir.Self &&
			!isShared(c.Args[i].Type())
		after = l.expr(c.Args[i], after, kept)
	}
	return after
}

// captures handles the uses of outer variables by the list of a body that is made here.
func (l *lastUse) captures(b *ir.Body, after set) set {
	if b == nil {
		return after
	}
	for i := len(b.Perms) - 1; i >= 0; i-- {
		e := b.Perms[i]
		if e.From == nil || e.Var == b.Emitter {
			continue
		}
		r := &ir.Ref{Place: ir.Place{T: e.From.Type, Span: e.Span}, Var: e.From}
		after = l.expr(r, after, e.Sign == '=' && !isShared(e.From.Type) &&
			e.From.Type.Kind != types.Ref)
	}
	return after
}
