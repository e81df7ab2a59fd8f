package ir

import "fmt"

// Walk calls enter for n and for every node below it, in the order in which they run. A false
// result of enter keeps the walk out of that node. A nil node is not visited.
func Walk(n Node, enter func(Node) bool) {
	var visit func(Node)
	visit = func(n Node) {
		if enter(n) {
			Children(n, visit)
		}
	}
	one(visit, n)
}

// Children calls visit for the nodes directly below n, in the order in which they run: the operands
// of an expression, the parts of a statement, the statements of a block, the block of a body.
// Constants in the arms of a match are not among them: nothing evaluates these.
//
// This is the only place that lists the parts of every kind of node. A new kind is added here, and
// in the passes that do something of their own with it.
func Children(n Node, visit func(Node)) {
	switch n := n.(type) {
	case *Block:
		if n != nil {
			each(visit, n.Stmts)
		}
	case *Body:
		if n != nil {
			one(visit, n.Block)
		}
	default:
		if !ofExpr(n, visit) && !ofSimple(n, visit) && !ofCompound(n, visit) {
			panic(fmt.Sprintf("ir.Children does not know %T", n))
		}
	}
}

// ofExpr visits the operands of an expression. It returns false for other nodes.
func ofExpr(n Node, visit func(Node)) bool {
	switch e := n.(type) {
	case *Const, *Zero, *Ref:
	case *Deref:
		one(visit, e.X)
	case *Box:
		one(visit, e.X)
	case *Field:
		one(visit, e.X)
	case *Element:
		one(visit, e.X)
	case *Unary:
		one(visit, e.X)
	case *Convert:
		one(visit, e.X)
	case *Wrap:
		one(visit, e.X)
	case *MakeError:
		one(visit, e.X)
	case *Propagate:
		one(visit, e.X)
	case *Copy:
		one(visit, e.X)
	case *Index:
		two(visit, e.X, e.I)
	case *Range:
		two(visit, e.Lo, e.Hi)
	case *Binary:
		two(visit, e.X, e.Y)
	case *Else:
		two(visit, e.X, e.Default)
	case *Cut:
		one(visit, e.X)
		two(visit, e.Lo, e.Hi)
	case *Call:
		each(visit, e.Args)
	case *CallValue:
		one(visit, e.Fun)
		each(visit, e.Args)
	case *Post:
		one(visit, e.Fun)
		each(visit, e.Args)
	case *MakeStruct:
		each(visit, e.Fields)
	case *MakeCase:
		each(visit, e.Fields)
	case *MakeTuple:
		each(visit, e.Elems)
	case *MakeList:
		each(visit, e.Elems)
	case *Format:
		for _, p := range e.Parts {
			one(visit, p.X)
		}
	case *Closure:
		one(visit, e.Body)
	default:
		return false
	}
	return true
}

// ofSimple visits the parts of a statement without blocks. It returns false for other nodes.
func ofSimple(n Node, visit func(Node)) bool {
	switch s := n.(type) {
	case *Break, *Continue:
	case *Declare:
		one(visit, s.Init)
	case *Unpack:
		one(visit, s.Init)
	case *Assign:
		two(visit, s.Value, s.Target)
	case *Repoint:
		two(visit, s.Value, s.Target)
	case *Do:
		one(visit, s.X)
	case *Return:
		one(visit, s.X)
	case *Assert:
		two(visit, s.X, s.Message)
	case *Fail:
		one(visit, s.X)
	case *Emit:
		two(visit, s.Self, s.Value)
	default:
		return false
	}
	return true
}

// ofCompound visits the parts of a statement with blocks or bodies. It returns false for other
// nodes.
func ofCompound(n Node, visit func(Node)) bool {
	switch s := n.(type) {
	case *If:
		one(visit, s.Cond)
		two(visit, s.Then, s.Else)
	case *Repeat:
		one(visit, s.Init)
		one(visit, s.Cond)
		one(visit, s.Body)
		one(visit, s.Step)
	case *ForIn:
		one(visit, s.X)
		one(visit, s.Body)
	case *Match:
		one(visit, s.X)
		for _, a := range s.Arms {
			one(visit, a.Body)
		}
	case *Defer:
		one(visit, s.Block)
	case *Finish:
		one(visit, s.Block)
	case *Nest:
		one(visit, s.Block)
	case *Spawn:
		one(visit, s.Body)
	case *SpawnEach:
		one(visit, s.X)
		one(visit, s.Body)
	case *On:
		one(visit, s.Emitter)
		one(visit, s.Handler)
	case *Await:
		one(visit, s.Call)
		one(visit, s.Within)
		one(visit, s.Rest)
	default:
		return false
	}
	return true
}

// one visits n if it is there.
func one(visit func(Node), n Node) {
	switch p := n.(type) {
	case nil:
		return
	case *Block:
		if p == nil {
			return
		}
	case *Body:
		if p == nil {
			return
		}
	case *Call:
		if p == nil {
			return
		}
	}
	visit(n)
}

func two(visit func(Node), a, b Node) {
	one(visit, a)
	one(visit, b)
}

func each[N Node](visit func(Node), all []N) {
	for _, n := range all {
		one(visit, n)
	}
}

// Operands returns the expressions directly below n, in the order in which they are evaluated.
func Operands(n Node) []Expr {
	if c, ok := n.(*Call); ok {
		return c.Args
	}
	var all []Expr
	Children(n, func(c Node) {
		if e, ok := c.(Expr); ok {
			all = append(all, e)
		}
	})
	return all
}
