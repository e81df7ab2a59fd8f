package flow

import (
	"interleave/eve/ir"
	"interleave/eve/perm"
)

// disjoint fills Finish.Disjoint in a body: no two of the tasks can need one object in conflict,
// whatever objects the names stand for. Loans need no check: the rules keep them apart.
func disjoint(b *ir.Body) {
	ir.Walk(b.Block, func(n ir.Node) bool {
		if f, ok := n.(*ir.Finish); ok {
			f.Disjoint = areDisjoint(childrenOf(f.Block, false))
		}
		return true
	})
}

// A child is a task of a finish. With several, more than one of it may run at once.
type child struct {
	body    *ir.Body
	several bool
}

// childrenOf returns the tasks that belong to a finish around b, without those of finishes inside
// it.
func childrenOf(b *ir.Block, several bool) []child {
	if b == nil {
		return nil
	}
	var all []child
	add := func(body *ir.Body, several bool) {
		if body != nil && body.Kind == ir.Child {
			all = append(all, child{body, several})
			all = append(all, childrenOf(body.Block, several)...)
		}
	}
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *ir.Spawn:
			add(s.Body, several)
		case *ir.SpawnEach:
			add(s.Body, true)
		case *ir.Finish:
		case *ir.Repeat:
			all = append(all, childrenOf(s.Body, true)...)
		case *ir.ForIn:
			all = append(all, childrenOf(s.Body, true)...)
		default:
			ir.Children(s, func(n ir.Node) {
				if in, ok := n.(*ir.Block); ok {
					all = append(all, childrenOf(in, several)...)
				}
			})
		}
	}
	return all
}

func areDisjoint(all []child) bool {
	for i, a := range all {
		if a.several && conflict(a.body, a.body) {
			return false
		}
		for _, b := range all[:i] {
			if conflict(a.body, b.body) {
				return false
			}
		}
	}
	return true
}

func conflict(a, b *ir.Body) bool {
	for _, x := range a.Perms {
		for _, y := range b.Perms {
			if acquires(x) && acquires(y) && (x.Sign == '+' || y.Sign == '+') &&
				perm.MayBeSame(x.Var, y.Var) {
				return true
			}
		}
	}
	return false
}

func acquires(e *ir.Entry) bool {
	return (e.Sign == '+' || e.Sign == 0) && e.Var != nil && isShared(e.Var.Type)
}

// escapes fills Var.Escapes for objects that a body and the bodies in it build.
func escapes(b *ir.Body) {
	e := &escape{used: map[ir.Expr]bool{}}
	e.body(b, nil)
}

// An escape walks through bodies and looks for handles that are used as values.
type escape struct {
	used map[ir.Expr]bool // handles that are only dereferenced
}

// body walks through b. finish is the one that waits for b if it is a child.
func (e *escape) body(b *ir.Body, finish *ir.Finish) {
	if b != nil {
		e.block(b.Block, finish)
	}
}

func (e *escape) block(b *ir.Block, finish *ir.Finish) {
	if b == nil {
		return
	}
	for _, s := range b.Stmts {
		e.stmt(s, finish)
	}
}

func (e *escape) stmt(s ir.Stmt, finish *ir.Finish) {
	switch s := s.(type) {
	case *ir.Await:
		if s.Call != nil && len(s.Call.Args) > 0 { // posted to the object that it is called on
			if d, ok := s.Call.Args[0].(*ir.Deref); ok {
				e.handle(d.X)
			}
		}
	case *ir.Finish:
		finish = s
	}
	ir.Children(s, func(n ir.Node) {
		switch n := n.(type) {
		case *ir.Block:
			e.block(n, finish)
		case *ir.Body:
			e.task(n, finish)
		case ir.Expr:
			e.expr(n)
		case ir.Stmt:
			e.stmt(n, finish)
		}
	})
}

// task walks through a body that another one makes. An object need not escape if only children of
// a disjoint finish use it and the finish is within its scope.
func (e *escape) task(b *ir.Body, finish *ir.Finish) {
	if b == nil {
		return
	}
	for _, entry := range b.Perms {
		if entry.From == nil || !isShared(entry.From.Type) || entry.Sign == '=' {
			continue
		}
		stays := b.Kind == ir.Child && finish != nil && finish.Disjoint &&
			!declaredIn(finish, entry.From.Origin())
		if !stays {
			entry.From.Origin().Escapes = entry.From.Origin().Built
		}
	}
	e.body(b, nil)
}

// declaredIn says whether v's scope is inside a finish, and so ends before the tasks do.
func declaredIn(f *ir.Finish, v *ir.Var) bool {
	found := false
	ir.Walk(f.Block, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Body:
			return false
		case *ir.Declare:
			found = found || n.Var == v
		}
		return true
	})
	return found
}

func (e *escape) expr(x ir.Expr) {
	ir.Walk(x, func(n ir.Node) bool {
		switch n := n.(type) {
		case *ir.Deref:
			e.used[n.X] = true
		case *ir.Call:
			if n.Fn != nil && n.Fn.Native == "same" {
				for _, a := range n.Args {
					e.used[a] = true
				}
			}
		case *ir.Ref:
			if !e.used[n] {
				e.handle(n)
			}
		case *ir.Body:
			if n.Kind == ir.Lambda {
				e.block(n.Block, nil)
			} else {
				e.task(n, nil)
			}
			return false
		}
		return true
	})
}

// handle notes that a handle is used as a value.
func (e *escape) handle(x ir.Expr) {
	if r, ok := x.(*ir.Ref); ok && r.Var != nil && isShared(r.Var.Type) {
		if o := r.Var.Origin(); o.Built {
			o.Escapes = true
		}
	}
}
