package syntax

import (
	"interleave/eve/diag"
	"interleave/eve/source"
)

// A loopHead is the part in the parentheses of a loop over elements.
type loopHead struct {
	name *Name
	typ  Type
	in   Expr
}

// forStmt reads `for (x: T in e): suite` and `for (init; cond; step): suite`.
func (p *parser) forStmt(start source.Span) Stmt {
	p.next()
	open := p.here()
	var head loopHead
	loop := &ForStmt{}
	ok := p.guard(func() {
		if !p.is("(") {
			p.bareFor(open)
			if !p.eachHead(&head) {
				panic(bail{})
			}
			return
		}
		p.next()
		p.brackets++
		if !p.eachHead(&head) {
			p.countHead(loop, head)
		}
		p.close(")", open)
		p.brackets--
	})
	if !ok {
		if head.in == nil {
			head.in = &BadExpr{p.from(open)}
		}
		if loop.Cond == nil {
			loop.Cond = &BadExpr{p.from(open)}
		}
		p.skipToSuite()
	}
	body := p.suite("the loop's head")
	if head.name != nil && loop.Init == nil {
		return &ForInStmt{p.from(start), head.name, head.typ, head.in, body}
	}
	loop.Body = body
	loop.At = p.from(start)
	return loop
}

// bareFor reports `for x in v:`.
func (p *parser) bareFor(open source.Span) {
	d := diag.Diagnostic{Code: "E0122", Span: open,
		Message: "the head of a loop needs parentheses: for (x in v):"}
	for i := p.pos; !p.toks[i].isLayout(); i++ {
		if p.toks[i].is(":") && p.toks[i+1].isLayout() {
			d.Span = source.Span{File: p.file, Start: open.Start, End: p.toks[i].Span.Start}
			text := "(" + withRanges(d.Span.Text()) + ")"
			d.Fix = &diag.Fix{Text: "write for " + text, Span: d.Span, New: text}
		}
	}
	p.report(d)
}

// eachHead reads `x: T in e`. False, behind `x: T`, if it is a declaration, or at the start if it
// is neither.
func (p *parser) eachHead(h *loopHead) bool {
	if !p.tok().isName() || !p.peek(1).is(":") && !p.peek(1).is("in") {
		return false
	}
	h.name = p.word()
	if p.accept(":") {
		h.typ = p.typ()
	}
	if !p.accept("in") {
		return false
	}
	h.in = p.expr()
	return true
}

// countHead reads `init; cond; step`; the name and type of init may have been read.
func (p *parser) countHead(loop *ForStmt, h loopHead) {
	switch {
	case h.name != nil:
		v := &VarDecl{Names: []*Name{h.name}, Type: h.typ}
		if p.accept("=") {
			v.Init = p.expr()
		}
		v.At = p.from(h.name.Span)
		loop.Init = &DeclStmt{v.At, v}
		if !p.is(";") {
			p.failf("E0114", "expected 'in' or ';', found %s", p.found())
		}
	case !p.is(";"):
		loop.Init = p.simple(p.here())
	}
	if word := p.tok().Text(); word == "of" || word == ":" {
		p.fail(diag.Diagnostic{
			Code: "E0114", Span: p.here(), Message: "a loop over elements is written for (x in v):",
			Fix: &diag.Fix{Text: "write in", Span: p.here(), New: "in"},
		})
	}
	if p.is("in") || p.is(",") {
		p.failf("E0114", "a loop has one variable: of a map it is a pair, for (e in m): e.0, e.1")
	}
	p.expect(";", "behind the first part of the loop's head")
	if !p.is(";") {
		loop.Cond = p.condition("for")
	}
	p.expect(";", "behind the condition")
	if !p.is(")") {
		loop.Step = p.simple(p.here())
		if word := p.tok().Text(); word == "++" || word == "--" {
			with := " " + word[:1] + "= 1"
			p.report(diag.Diagnostic{
				Code: "E0117", Span: p.here(), Message: "'" + word + "' is written '" + with[1:] +
					"'",
				Fix: &diag.Fix{Text: "write" + with, Span: p.here(), New: with},
			})
			p.next()
		}
	}
}

const listOfTask = "'@' and its permission list"

// task reads `@ [perms]: suite` and `@ for (x: T in e) [perms]: suite`.
func (p *parser) task(start source.Span) Stmt {
	p.next()
	if p.is("for") {
		return p.taskFor(start)
	}
	t := &TaskStmt{}
	p.taskPerms(&t.Perms)
	t.Body = p.suite(listOfTask)
	t.At = p.from(start)
	return t
}

// taskPerms reads a list if there is one. An error in the list does not lose the body.
func (p *parser) taskPerms(perms **Perms) {
	start := p.here()
	if !p.is("[") {
		return
	}
	if !p.guard(func() { *perms = p.perms() }) {
		p.skipToSuite()
		*perms = &Perms{At: p.from(start)}
	}
}

func (p *parser) taskFor(start source.Span) Stmt {
	p.next()
	t := &TaskForStmt{}
	open := p.here()
	ok := p.guard(func() {
		if !p.is("(") {
			p.failf("E0122", "the head of a loop needs parentheses: @ for (x: T in v) [+x]:")
		}
		p.next()
		p.brackets++
		var h loopHead
		if !p.eachHead(&h) {
			p.failf("E0114", "'@ for' runs over elements: (x: T in v)")
		}
		t.Var, t.Type, t.In = h.name, h.typ, h.in
		p.close(")", open)
		p.brackets--
	})
	if !ok {
		p.skipToSuite()
		if t.Var == nil {
			panic(bail{})
		}
	}
	p.taskPerms(&t.Perms)
	t.Body = p.suite("the loop's head")
	t.At = p.from(start)
	return t
}

// finish reads `finish:` with its suite, or with the `@` statements that follow.
func (p *parser) finish(start source.Span) Stmt {
	p.next()
	f := &FinishStmt{}
	if !p.is(":") || p.peek(1).Kind != Newline || !p.peek(2).is("@") {
		f.Body = p.suite("'finish'")
		f.At = p.from(start)
		return f
	}
	p.next()
	f.Body = &Block{At: At{p.peek(1).Span}}
	for p.finishAhead() {
		if p.at(Newline) {
			p.next()
		}
		f.Body.Stmts = append(f.Body.Stmts, p.safeStmt())
	}
	f.Body.Span = f.Body.Span.To(p.last)
	f.At = p.from(start)
	return f
}

// finishAhead says whether another `@` statement follows.
func (p *parser) finishAhead() bool {
	if p.at(Newline) {
		return p.peek(1).is("@")
	}
	return p.isBlockEnd() && p.is("@")
}

// on reads `on e event [perms]: suite` and `on e event = lambda`.
func (p *parser) on(start source.Span) Stmt {
	p.next()
	o := &OnStmt{}
	o.Emitter = p.postfix(p.primary(), true)
	if !p.tok().isWord() {
		d := diag.Diagnostic{Code: "E0114", Span: p.here(),
			Message: "expected the name of an event, found " + p.found()}
		d.Label = "on client data: names the emitter and the event"
		p.fail(d)
	}
	o.Event = p.anyWord("an event")
	if p.accept("=") {
		at := p.here()
		l, ok := p.expr().(*Lambda)
		if !ok {
			p.fail(diag.Diagnostic{Code: "E0114", Span: at,
				Message: "a lambda belongs behind '=': [list] (e: event&) bool: ..."})
		}
		o.Handler = l
		o.At = p.from(start)
		return o
	}
	p.taskPerms(&o.Perms)
	o.Body = p.suite("the event")
	o.At = p.from(start)
	return o
}

// await reads `x <- call within d [perms]`. The block's loop reads the rest.
func (p *parser) await(start source.Span) Stmt {
	a := &AwaitStmt{}
	if !p.is("<-") {
		a.Var = p.name("a variable")
	}
	p.next()
	callStart := p.here()
	ok := p.guard(func() {
		p.index = notOfCall
		a.Call = p.postfix(p.primary(), false)
		if p.accept("within") {
			p.index = never
			a.Within = p.binary(0)
		}
		p.index = always
		if p.is("[") {
			a.Perms = p.perms()
		}
	})
	if !ok {
		p.skipLine()
		if a.Call == nil {
			a.Call = &BadExpr{p.from(callStart)}
		}
	}
	a.At = p.from(start)
	return a
}

// emit reads `emit event(args)`; false if emit is a name here.
func (p *parser) emit(start source.Span) (Stmt, bool) {
	if !p.peek(1).isWord() {
		return nil, false
	}
	p.next()
	e := &EmitStmt{Event: p.anyWord("an event")}
	if p.is("(") {
		e.Args = p.args()
	}
	e.At = p.from(start)
	return e, true
}

// deferStmt reads `defer statement` and `defer: suite`.
func (p *parser) deferStmt(start source.Span) Stmt {
	p.next()
	d := &DeferStmt{}
	if p.is(":") {
		d.Body = p.suite("'defer'")
	} else {
		at := p.here()
		p.inline++
		s := p.inlineStmt()
		p.inline--
		d.Body = &Block{p.from(at), []Stmt{s}}
	}
	d.At = p.from(start)
	return d
}
