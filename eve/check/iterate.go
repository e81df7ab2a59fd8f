package check

import (
	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// A loop over a value whose type is no container calls the method `next` of the type in every turn,
// until that returns none. It becomes the code that a program could have instead, so no other pass
// knows of it:
//
//	while true:
//	    match x.next():
//	        none: break
//	        some(v): the body
//
// Such a loop is not counted, so it has the time budget.

// nextForm is the method that a loop calls.
const nextForm = "next: [+self] (self) T?"

// nextOf returns the method by which a loop runs over x; nil for containers and ranges, and for
// types without a method of that name.
func (l *lowerer) nextOf(x ir.Expr) *function {
	if broken(x) {
		return nil
	}
	if k := x.Type().Kind; k != types.Named && k != types.Param {
		return nil
	}
	return l.method(x.Type(), "next")
}

// forNext lowers a loop over x, whose type has the method next.
func (l *lowerer) forNext(s *syntax.ForInStmt, x ir.Expr, next *function) {
	at := s.In.Place()
	n := &ir.Repeat{Mark: mark(s), Body: &ir.Block{Span: s.Span},
		Cond: &ir.Const{Place: place(types.BoolT, at), Value: true}}
	elem := l.elementByNext(x, next, at)
	switch {
	case elem == types.InvalidT:
	case !isPlace(x): // a new value, which the loop owns
		v := l.hidden(x.Type(), at)
		n.Init = &ir.Block{Span: at,
			Stmts: []ir.Stmt{&ir.Declare{Mark: ir.Mark{Span: at}, Var: v, Init: x}}}
		x = &ir.Ref{Place: place(v.Type, at), Var: v}
	case isLookedUp(x):
		d := l.errorf("E0339", at, "the loop would look up %s again in every turn", at.Text())
		d.Label = "give it a name before the loop: it: " + x.Type().String() + "& = " + at.Text()
		elem = types.InvalidT
	}
	call := bad(at)
	if elem != types.InvalidT {
		got := l.invoked(target{f: next, recv: x.Type(), self: x, at: at},
			&callExpr{Call: &syntax.Call{At: syntax.At{Span: at}}}, nil)
		if got != nil {
			call = got
		}
	}
	outer := l.scope
	l.scope = &scope{outer: outer, body: l.cur, vars: map[string]*ir.Var{}}
	v := l.handedVar(s, elem, x)
	some := &ir.Arm{Span: s.Span, Case: 1, Vars: []*ir.Var{v}, Body: l.loopBody(s.Body)}
	l.scope = outer
	none := &ir.Arm{Span: s.Span, Body: &ir.Block{Span: at,
		Stmts: []ir.Stmt{&ir.Break{Mark: ir.Mark{Span: at}}}}}
	n.Body.Stmts = []ir.Stmt{
		&ir.Match{Mark: mark(s), X: call, Arms: []*ir.Arm{none, some}}}
	l.emit(n)
}

// handedVar declares the variable of a loop that has its elements from next; nil if it has no name.
// As it is bound to a part of a new value, its last use moves it.
func (l *lowerer) handedVar(s *syntax.ForInStmt, elem *types.Type, x ir.Expr) *ir.Var {
	v := l.loopVar(s.Var, s.Type, elem, x)
	v.Kind = ir.Bound
	if l.handed == nil {
		l.handed = map[*ir.Var]bool{}
	}
	l.handed[v] = true
	l.declare(v)
	if v.Name == "" || v.Name == "_" {
		return nil
	}
	return v
}

// isLookedUp says whether the place x is an element of a container, so that it may be another place
// in the next turn.
func isLookedUp(x ir.Expr) bool {
	switch x := x.(type) {
	case *ir.Index:
		return true
	case *ir.Field:
		return isLookedUp(x.X)
	case *ir.Element:
		return isLookedUp(x.X)
	case *ir.Deref:
		return x.X.Type().Kind == types.Ref && isLookedUp(x.X)
	}
	return false
}

// elementByNext is the type of the values that next gives. It reports a method of that name which
// a loop cannot call.
func (l *lowerer) elementByNext(x ir.Expr, next *function, at source.Span) *types.Type {
	t := x.Type()
	if next.tree.Broken || next.isStatic() && next.missingSelf() {
		return types.InvalidT // that was reported
	}
	if next.tree.Async {
		d := l.errorf("E0339", at,
			"a loop cannot wait for the method 'next' of %s, which takes time", article(t))
		d.Label = "call it by <- in a function that calls itself when it has the value"
		d.Also = also(next.tree.Name.Span, "declared here")
		return types.InvalidT
	}
	why := ""
	result := l.signature(next, t, nil).result
	switch {
	case next.isStatic():
		why = "has no self"
	case len(paramsOf(next)) > 0:
		why = "takes arguments"
	case len(next.typeParams()) > 0:
		why = "has type parameters"
	case result.Kind == types.Invalid:
		return types.InvalidT
	case result == types.VoidT:
		why = "returns nothing"
	case result.Kind != types.Option || result.Elem == types.VoidT:
		why = "returns " + article(result)
	default:
		return result.Elem
	}
	d := l.errorf("E0339", at, "a loop cannot run over %s: its method 'next' %s", article(t), why)
	d.Label = "a loop calls " + nextForm
	d.Also = also(next.tree.Name.Span, "declared here")
	return types.InvalidT
}

// eachOf is the type of the elements of x in `@ for`.
func (l *lowerer) eachOf(x ir.Expr, tree syntax.Expr) *types.Type {
	if l.nextOf(x) == nil {
		return l.elementOf(x, tree)
	}
	d := l.errorf("E0339", tree.Place(),
		"@ for cannot run over %s: the method 'next' gives one element after the other",
		article(x.Type()))
	d.Label = "start the tasks in a loop: for (x in " + tree.Place().Text() + "): @ [=x]: .."
	return types.InvalidT
}
