package perm

import (
	"interleave/eve/ir"
	"interleave/eve/types"
)

// lives numbers the expressions of a body in the order in which they run. It says how long each
// variable is still used: a view that is not used any more freezes nothing.
type lives struct {
	order    map[ir.Expr]int
	ends     map[ir.Stmt]int // the number of the last expression in a statement
	last     map[*ir.Var]int // the number of the last use
	declared map[*ir.Var]int
	// the variables that the closure in a variable uses, whenever it is called
	within map[*ir.Var]map[*ir.Var]bool
	n      int
}

const forever = int(^uint(0) >> 1)

func livesOf(b *ir.Body) *lives {
	l := &lives{order: map[ir.Expr]int{}, ends: map[ir.Stmt]int{}, last: map[*ir.Var]int{},
		declared: map[*ir.Var]int{}, within: map[*ir.Var]map[*ir.Var]bool{}}
	l.block(b.Block)
	return l
}

func (l *lives) block(b *ir.Block) {
	if b == nil {
		return
	}
	for _, s := range b.Stmts {
		l.stmt(s)
		l.ends[s] = l.n
	}
}

func (l *lives) stmt(s ir.Stmt) {
	switch s := s.(type) {
	case nil:
	case *ir.Repeat:
		l.block(s.Init)
		l.loop(func() {
			l.expr(s.Cond)
			l.block(s.Body)
			l.stmt(s.Step)
		})
	case *ir.ForIn:
		l.expr(s.X)
		l.loop(func() {
			l.declare(s.Var)
			l.block(s.Body)
		})
	case *ir.Defer:
		before := l.n
		l.block(s.Block)
		l.extend(before, forever)
	case *ir.Declare:
		l.expr(s.Init)
		l.declare(s.Var)
		l.closure(s)
	case *ir.Unpack:
		l.expr(s.Init)
		for _, v := range s.Vars {
			l.declare(v)
		}
	default:
		ir.Children(s, l.node)
	}
}

// node numbers a part of a statement or an expression.
func (l *lives) node(n ir.Node) {
	switch n := n.(type) {
	case *ir.Block:
		l.block(n)
	case *ir.Body:
		l.body(n)
	case ir.Expr:
		l.expr(n)
	}
}

func (l *lives) declare(v *ir.Var) {
	if v != nil {
		l.declared[v] = l.n
	}
}

// closure notes the variables that a stored closure uses: a view in it is needed as long as the
// closure is.
func (l *lives) closure(s *ir.Declare) {
	if s.Var == nil || isInvalid(s.Var.Type) || s.Var.Type.Kind != types.Func {
		return
	}
	found := map[*ir.Var]bool{}
	ir.Walk(s.Init, func(n ir.Node) bool {
		if r, ok := n.(*ir.Ref); ok && r.Var != nil {
			found[r.Var] = true
		}
		return true
	})
	l.within[s.Var] = found
}

// loop numbers a loop. Variables that are used in it and declared before it are needed until it
// ends.
func (l *lives) loop(f func()) {
	before := l.n
	f()
	l.n++
	l.extend(before, l.n)
}

func (l *lives) extend(from, to int) {
	for v, at := range l.last {
		if at > from && l.declared[v] <= from {
			l.last[v] = to
		}
	}
}

func (l *lives) body(b *ir.Body) {
	if b == nil {
		return
	}
	for _, e := range b.Perms {
		l.mention(e.From)
		l.mention(e.Var)
	}
	l.block(b.Block)
}

func (l *lives) expr(e ir.Expr) {
	if e == nil {
		return
	}
	ir.Children(e, l.node)
	l.n++
	l.order[e] = l.n
	if r, ok := e.(*ir.Ref); ok {
		l.mention(r.Var)
	}
}

func (l *lives) mention(v *ir.Var) {
	for ; v != nil; v = v.From {
		l.last[v] = max(l.last[v], l.n)
		for w := range l.within[v] {
			l.mention(w)
		}
	}
}
