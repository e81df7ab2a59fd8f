package check

import (
	"strings"

	"interleave/eve/ir"
	"interleave/eve/source"
	"interleave/eve/syntax"
	"interleave/eve/types"
)

// stmts lowers the statements of a suite, and reports statements that can never be reached.
func (l *lowerer) stmts(all []syntax.Stmt) {
	for i, s := range all {
		if s == nil {
			continue
		}
		before := len(l.out.Stmts)
		l.last = i+1 == len(all) && l.out == l.cur.Block
		l.stmt(s)
		l.rejectEvents()
		if i+1 < len(all) && len(l.out.Stmts) > before &&
			l.leaves(l.out.Stmts[len(l.out.Stmts)-1]) {
			d := l.errorf("W0431", all[i+1].Place(), "this is never reached")
			d.Also = also(s.Place(), "no statement behind this runs")
			l.unreached(all[i+1:])
			return
		}
	}
}

// unreached lowers statements that are never reached, to report their errors only.
func (l *lowerer) unreached(rest []syntax.Stmt) {
	l.scoped(&ir.Block{}, func() {
		for _, s := range rest {
			if s != nil {
				l.stmt(s)
				l.rejectEvents()
			}
		}
	})
}

func (l *lowerer) emit(s ir.Stmt) { l.out.Stmts = append(l.out.Stmts, s) }

func mark(n syntax.Node) ir.Mark { return ir.Mark{Span: n.Place()} }

func (l *lowerer) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.DeclStmt:
		l.declStmt(s)
	case *syntax.ExprStmt:
		l.exprStmt(s)
	case *syntax.AssignStmt:
		l.assignStmt(s)
	case *syntax.TaskStmt:
		l.taskStmt(s)
	case *syntax.TaskForStmt:
		l.taskForStmt(s)
	case *syntax.FinishStmt:
		l.finishStmt(s)
	case *syntax.OnStmt:
		l.onStmt(s)
	case *syntax.AwaitStmt:
		l.awaitStmt(s)
	case *syntax.IfStmt:
		l.ifStmt(s)
	case *syntax.BlockStmt:
		l.emit(&ir.Nest{Mark: mark(s), Block: l.block(s.Body)})
	case *syntax.WhileStmt:
		l.whileStmt(s)
	case *syntax.ForStmt:
		l.forStmt(s)
	case *syntax.ForInStmt:
		l.forInStmt(s)
	case *syntax.MatchStmt:
		l.matchStmt(s)
	case *syntax.ReturnStmt:
		l.returnStmt(s)
	case *syntax.BreakStmt:
		if l.inLoop(s.Span, "break") {
			l.emit(&ir.Break{Mark: mark(s)})
		}
	case *syntax.ContinueStmt:
		if l.inLoop(s.Span, "continue") {
			l.emit(&ir.Continue{Mark: mark(s)})
		}
	case *syntax.AssertStmt:
		l.assertStmt(s)
	case *syntax.FailStmt:
		l.failStmt(s)
	case *syntax.DeferStmt:
		l.deferStmt(s)
	case *syntax.EmitStmt:
		l.emitStmt(s)
	}
}

func (l *lowerer) inLoop(at source.Span, word string) bool {
	if l.loops == 0 {
		l.errorf("E0341", at, "'%s' outside a loop", word)
	}
	return l.loops > 0
}

// exprStmt lowers an expression that is evaluated for its effect. It reports an expression without
// one.
func (l *lowerer) exprStmt(s *syntax.ExprStmt) {
	if s.X == nil {
		return
	}
	x := l.expr(s.X, nil)
	if broken(x) {
		l.events = nil
		return
	}
	if l.registerEvents(x, s.Span) {
		return
	}
	if x.Type() == types.VoidT || effective(x) && !pure(x) {
		if x.Type().Kind == types.Result {
			d := l.errorf("W0430", s.Span, "the error that this may return is not used")
			d.Label = "pass it on with ?, or take it apart with match or else"
		}
		l.emit(&ir.Do{Mark: mark(s), X: x})
		return
	}
	l.unused(s, x)
	l.emit(&ir.Do{Mark: mark(s), X: x})
}

// unused reports a value that is not used, unless the line was not parsed as it was meant.
func (l *lowerer) unused(s *syntax.ExprStmt, x ir.Expr) {
	if l.last && l.result != nil && x.Type() == l.result {
		return // E0340 reports the missing return
	}
	for _, d := range l.diags.Sorted() {
		if strings.HasPrefix(string(d.Code), "E01") && d.Span.File == s.Span.File &&
			d.Span.Line() == s.Span.Line() {
			return
		}
	}
	if b, ok := x.(*ir.Binary); ok && b.Op == "==" {
		d := l.errorf("W0430", s.Span, "the result of this comparison is not used")
		l.fixOperator(d, s.X, "=", "to store, write = instead of ")
	} else {
		d := l.errorf("W0430", s.Span, "this value is not used")
		if call, ok := x.(*ir.Call); ok && call.Fn.Recv == types.StringT &&
			x.Type() == types.StringT {
			d.Label = "a string never changes: this returns a new one"
		}
	}
}

// effective says whether evaluating x may have an effect.
func effective(x ir.Expr) bool {
	switch x := x.(type) {
	case *ir.Call, *ir.CallValue, *ir.Post, *ir.Propagate:
		return true
	case *ir.Deref:
		return effective(x.X)
	case *ir.Else:
		return effective(x.X) || effective(x.Default)
	}
	return false
}

// condition lowers a boolean expression.
func (l *lowerer) condition(x syntax.Expr) ir.Expr {
	if x == nil {
		return bad(source.Span{})
	}
	got := l.checker.value(l.expr(x, types.BoolT))
	t := got.Type()
	if broken(got) || t == types.BoolT || l.isOpen(t) {
		return got
	}
	d := l.errorf("E0342", x.Place(), "a condition must be a bool, and this is %s", article(t))
	switch {
	case t.IsNumber():
		d.Label = "compare it: != 0"
	case t.Kind == types.Option:
		d.Label = "compare it: != none"
	}
	return bad(x.Place())
}

func (l *lowerer) ifStmt(s *syntax.IfStmt) {
	n := &ir.If{Mark: mark(s), Cond: l.condition(s.Cond)}
	n.Then = l.block(s.Then)
	switch e := s.Else.(type) {
	case *syntax.BlockStmt:
		n.Else = l.block(e.Body)
	case *syntax.IfStmt:
		n.Else = &ir.Block{Span: e.Span}
		l.scoped(n.Else, func() { l.ifStmt(e) })
	}
	l.emit(n)
}

// returnStmt lowers the result of a body. A task, a handler without a result and a continuation
// may end early by a plain return.
func (l *lowerer) returnStmt(s *syntax.ReturnStmt) {
	if l.held != "" {
		l.errorf("E0343", s.Span, "return would leave a %s", l.held)
		if s.X != nil {
			l.expr(s.X, l.result)
		}
		l.emit(&ir.Return{Mark: mark(s)}) // so that a missing return is not reported too
		return
	}
	if s.X == nil && nothing(l.result) {
		l.emit(&ir.Return{Mark: mark(s), X: &ir.Zero{Place: place(l.result, s.Span)}})
		return
	}
	if s.X == nil {
		if l.result != types.VoidT && l.result != types.InvalidT {
			l.errorf("E0344", s.Span, "return needs a value: %s", article(l.result))
		}
		l.emit(&ir.Return{Mark: mark(s)})
		return
	}
	if l.result == types.VoidT {
		x := l.expr(s.X, nil)
		if !broken(x) && x.Type() != types.VoidT {
			d := l.errorf("E0344", s.X.Place(), "%s", l.noResult())
			if l.cur.Kind == ir.Function && l.fn != nil && l.fn.Name == "main" {
				d.Label = "process.exit(status) ends the program"
			} else if l.cur.Kind == ir.Function {
				d.Label = "the type of a result follows the parameters: () " +
					l.defaultType(l.checker.value(x)).Type().String() + ":"
			}
			if l.cur.Kind == ir.Handler && x.Type() == types.BoolT {
				d.Label = "a handler that may consume the event is written on x event = [..] (e: " +
					"event&) bool:"
			}
		}
		if !broken(x) {
			l.emit(&ir.Do{Mark: mark(s), X: x})
		}
		l.emit(&ir.Return{Mark: mark(s)})
		return
	}
	l.emit(&ir.Return{Mark: mark(s), X: l.fitted(s.X, l.result)})
}

func (l *lowerer) noResult() string {
	switch l.cur.Kind {
	case ir.Child, ir.Root:
		return "a task has no result: store it in a shared object"
	case ir.Continuation:
		return "the code behind <- runs later and has no result"
	case ir.Handler:
		return "this handler has no result"
	}
	return "this function has no result: its type is void"
}

func (l *lowerer) assertStmt(s *syntax.AssertStmt) {
	if t, ok := s.X.(*syntax.TupleLit); ok && len(t.Elems) == 2 && s.Message == nil {
		text := t.Elems[0].Place().To(t.Elems[1].Place()).Text()
		d := l.errorf("E0342", t.Span, "assert takes a condition and a message without brackets")
		l.fixText(d, t.Span, " "+text, "")
		d.Fix.Text = "write assert " + text
		return
	}
	n := &ir.Assert{Mark: mark(s), X: l.condition(s.X)}
	if s.Message != nil {
		n.Message = l.fitted(s.Message, types.StringT)
	}
	l.emit(n)
}

func (l *lowerer) failStmt(s *syntax.FailStmt) {
	if s.X == nil {
		return
	}
	x := l.checker.value(l.expr(s.X, types.StringT))
	if t := x.Type(); !broken(x) && t != types.StringT && t != types.ErrorT {
		l.errorf("E0345", s.X.Place(), "fail takes a string or an error, and this is %s",
			article(t))
	}
	l.emit(&ir.Fail{Mark: mark(s), X: x})
}

// deferStmt lowers a block that runs when the body ends. It cannot end the body again, nor start
// anything that outlives it.
func (l *lowerer) deferStmt(s *syntax.DeferStmt) {
	before := l.frame
	l.held, l.loops = "defer", 0
	b := l.block(s.Body)
	l.held, l.loops = before.held, before.loops
	l.emit(&ir.Defer{Mark: mark(s), Block: b})
}

// ends says whether control never reaches the end of b.
func (l *lowerer) ends(b *ir.Block) bool {
	if b == nil {
		return false
	}
	for _, s := range b.Stmts {
		if l.returns(s) {
			return true
		}
	}
	return false
}

// returns says whether s always leaves the body, so that the statement behind it is not reached.
func (l *lowerer) returns(s ir.Stmt) bool {
	switch s := s.(type) {
	case *ir.Return, *ir.Fail, *ir.Await:
		return true
	case *ir.If:
		if c := l.known(s.Cond); c != nil {
			if c.Value == true {
				return l.ends(s.Then)
			}
			return l.ends(s.Else)
		}
		return l.ends(s.Then) && l.ends(s.Else)
	case *ir.Match:
		for _, a := range s.Arms {
			if !l.ends(a.Body) {
				return false
			}
		}
		return len(s.Arms) > 0
	case *ir.Nest:
		return l.ends(s.Block)
	case *ir.Finish:
		return l.ends(s.Block)
	}
	return false
}

// leaves says whether nothing behind s in its block runs.
func (l *lowerer) leaves(s ir.Stmt) bool {
	switch s := s.(type) {
	case *ir.Break, *ir.Continue:
		return true
	case *ir.Match:
		return !l.partial[s] && l.returns(s)
	// a condition that is a constant is a switch of the user's, so unreachable code is no mistake
	case *ir.If:
		return l.known(s.Cond) == nil && s.Else != nil && l.allLeave(s.Then) && l.allLeave(s.Else)
	}
	return l.returns(s)
}

func (l *lowerer) allLeave(b *ir.Block) bool {
	return len(b.Stmts) > 0 && l.leaves(b.Stmts[len(b.Stmts)-1])
}

// known returns the value of a condition that is constant, else nil.
func (l *lowerer) known(x ir.Expr) *ir.Const {
	if broken(x) || x.Type() != types.BoolT {
		return nil
	}
	return l.fold(x)
}
