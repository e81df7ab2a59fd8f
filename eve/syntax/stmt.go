package syntax

import (
	"fmt"

	"interleave/eve/diag"
	"interleave/eve/source"
)

// suite reads `: statement` or `:` and an indented block. what describes the part before the
// colon.
func (p *parser) suite(what string) *Block {
	if !p.accept(":") {
		p.missingColon(what)
	}
	if p.at(Newline) {
		if p.peek(1).Kind != Indent {
			return p.emptyBlock(what, "")
		}
		p.next()
		return p.indented()
	}
	start := p.here()
	p.inline++
	s := p.inlineStmt()
	p.inline--
	return &Block{p.from(start), []Stmt{s}}
}

// missingColon reports a missing colon, and goes on if the text behind it is clearly the suite.
func (p *parser) missingColon(what string) {
	d := diag.Diagnostic{
		Code: "E0104", Span: p.behind(), Message: "a ':' belongs behind " + what,
		Fix: p.insertion(":"),
	}
	if not, ok := p.foreignOperator(); ok {
		p.fail(not)
	}
	p.behindOperand()
	if p.then(what) {
		return
	}
	t := p.tok()
	if (p.is("+") || p.is("(")) && what == listOfTask {
		d.Span, d.Message, d.Fix = p.here(),
			"the list of a task needs square brackets: @ [+n]:", nil
		p.fail(d)
	}
	called := t.Kind == Identifier && t.Lead != "" && (p.last.Text() == ")" || p.last.Text() == "]")
	if t.Kind == Newline && p.peek(1).Kind == Indent || t.Kind == Keyword && startsStatement(*t) ||
		called {
		p.report(d)
		return
	}
	if t.Kind == Newline {
		p.fail(d)
	}
	if p.tok().Kind != Bad {
		d.Span, d.Message, d.Fix = p.here(), fmt.Sprintf("expected ':' behind %s, found %s", what,
			p.found()), nil
		if t.is("in") {
			d.Label = containsIn
		}
		if t.is(",") && what == "the pattern" {
			d.Label = "an arm has one pattern: write one for each"
		}
		p.report(d)
	}
	p.skipToSuite()
	p.accept(":")
}

// emptyBlock reports a colon without a suite.
func (p *parser) emptyBlock(what, need string) *Block {
	d := diag.Diagnostic{Code: "E0105", Span: p.last, Message: "an indented block belongs below " +
		what}
	d.Label = need
	if need == "" {
		d.Label = "indent the lines that belong to it"
		d.Fix = &diag.Fix{Text: "write 'pass' if there are none", Span: p.behind(), New: " pass"}
	}
	p.report(d)
	return &Block{At: At{p.behind()}}
}

// indented reads a block from its Indent to its Dedent.
func (p *parser) indented() *Block {
	if p.depth >= maxDepth {
		p.tooDeep()
		p.skipBlock()
		return &Block{At: At{p.behind()}}
	}
	saved := p.context
	p.context = context{depth: p.depth + 1}
	p.hush = false
	p.next()
	b := p.stmts()
	if p.at(Dedent) {
		p.next()
	}
	p.context = saved
	return b
}

// stmts reads statements to the end of the block, which it leaves.
func (p *parser) stmts() *Block {
	b := &Block{At: At{p.here()}}
	lost := false // the if of an else was in a broken line
	for !p.at(Dedent) && !p.at(EOF) {
		if p.at(Indent) {
			lost = true
			if p.strayIndent() {
				b.Stmts = append(b.Stmts, p.indented().Stmts...)
			} else {
				p.skipBlock()
			}
			continue
		}
		p.hush = lost && p.is("else")
		errors := len(p.lines)
		s := p.safeStmt()
		_, bad := s.(*BadStmt)
		lost, p.hush = bad || len(p.lines) > errors, false
		b.Stmts = append(b.Stmts, s)
		p.endLine()
		if a, ok := s.(*AwaitStmt); ok && a.Rest == nil {
			p.rest(a)
		}
	}
	b.Span = b.Span.To(p.last)
	return b
}

// rest reads the statements behind `x <- f()` in its block.
func (p *parser) rest(a *AwaitStmt) {
	if p.depth >= maxDepth {
		p.tooDeep()
		for !p.at(Dedent) && !p.at(EOF) {
			if p.at(Indent) {
				p.skipBlock()
			} else {
				p.next()
			}
		}
	}
	p.depth++
	a.Rest = p.stmts()
	p.depth--
	a.Span = a.Span.To(p.last)
}

const longExpr = "an expression over several lines needs brackets"

// strayIndent reports a block that no line opened, and says whether it may contain statements.
func (p *parser) strayIndent() bool {
	t := p.peek(1)
	d := diag.Diagnostic{Code: "E0103", Span: t.Span,
		Message: "this line is indented deeper than the one before"}
	d.Label = "only a line that ends in ':' opens a block"
	goesOn := t.Kind == Op && !t.is("@")
	if goesOn {
		d.Label = longExpr
	}
	p.report(d)
	return !goesOn
}

// safeStmt reads a statement. A broken one becomes a BadStmt and its line is skipped.
func (p *parser) safeStmt() Stmt {
	start, pos := p.here(), p.pos
	var s Stmt
	if p.guard(func() { s = p.stmt() }) {
		return s
	}
	p.skipLine()
	if p.pos == pos && !p.at(EOF) && !p.at(Dedent) {
		p.next()
	}
	return &BadStmt{p.from(start)}
}

// inlineStmt reads the statement behind a colon on its line. Inside brackets its error concerns
// the whole bracket.
func (p *parser) inlineStmt() Stmt {
	s := Stmt(nil)
	if p.brackets > 0 {
		s = p.stmt()
	} else {
		s = p.safeStmt()
	}
	if a, ok := s.(*AwaitStmt); ok && a.Rest == nil {
		a.Rest = &Block{At: At{p.behind()}}
	}
	return s
}

// stmt reads one statement, without the end of its line.
func (p *parser) stmt() Stmt {
	p.enter()
	defer p.leave()
	start, t := p.here(), p.tok()
	if t.Kind == Keyword {
		if s, ok := p.keywordStmt(start, t.Text()); ok {
			return s
		}
	}
	switch after := p.peek(1); {
	case t.is("@"):
		return p.task(start)
	case t.Kind == Identifier && t.Text() == "foreach" && after.is("("):
		p.fail(diag.Diagnostic{
			Code: "E0104", Span: t.Span, Message: "Eve's word for 'foreach' is 'for'",
			Fix: &diag.Fix{Text: "write for", Span: t.Span, New: "for"},
		})
	case t.Kind == Identifier && t.Text() == "try" && after.is(":"):
		return p.exceptions(start)
	case t.is("<-"), t.isName() && after.is("<-") && p.brackets == 0:
		return p.await(start)
	case t.Kind == Identifier && after.isName():
		if p.foreignMatch(t) {
			return p.match(start)
		}
		if v := p.pairDecl(start, false); v != nil {
			return &DeclStmt{v.At, v}
		}
		p.foreign(t, after)
	case t.isName() && after.is(":") && p.isFuncHead(2):
		p.localFunc(t)
	case t.isName() && after.is(":") && p.peek(2).Kind != Newline:
		return p.declaration(start)
	// else an argument behind a lambda
	case t.isName() && after.is(",") && (p.brackets == 0 || p.peek(p.nameList(1)).is(":")):
		return p.declaration(start)
	case t.Kind == Keyword && !t.isName() && after.is(":") && p.peek(2).isName():
		p.name("a variable")
	}
	return p.simple(start)
}

// declaration reads `a, b: T = init`.
func (p *parser) declaration(start source.Span) Stmt {
	first := p.name("a variable")
	if p.is(",") {
		p.checkNames(start)
	}
	v := p.variables(start, false, first, "a block")
	return &DeclStmt{v.At, v}
}

// checkNames reports `a, b = f()`.
func (p *parser) checkNames(start source.Span) {
	n := p.nameList(0)
	if p.peek(n).is("=") {
		both := source.Span{File: p.file, Start: start.Start, End: p.peek(n - 1).Span.End}
		p.fail(diag.Diagnostic{
			Code: "E0120", Span: both, Message: "a type is missing behind these names",
			Label: "write " + both.Text() + ": and their type; what exists is assigned one by one",
		})
	}
}

// nameList returns the place behind `, b, c`, which begins at n.
func (p *parser) nameList(n int) int {
	for p.peek(n).is(",") && p.peek(n+1).isName() {
		n += 2
	}
	return n
}

func (p *parser) localFunc(name *Token) {
	if open, elem := p.peek(2), p.peek(4); open.is("[") && p.peek(3).is("]") && elem.isName() {
		at := open.Span.To(elem.Span)
		text := "vector<" + elem.Text() + ">"
		p.fail(diag.Diagnostic{
			Code: "E0120", Span: at, Message: "a list's type is written " + text,
			Fix: &diag.Fix{Text: "write " + text, Span: at, New: text},
		})
	}
	d := diag.Diagnostic{Code: "E0119", Span: name.Span,
		Message: "a function belongs at the level of the module or in a type"}
	d.Label = "inside a function, write a lambda: " + name.Text() +
		": <(int) int> = (x: int) int: x + 1"
	p.fail(d)
}

// keywordStmt reads a statement that starts with a keyword; false if word starts none.
func (p *parser) keywordStmt(start source.Span, word string) (Stmt, bool) {
	if after := p.peek(1); after.is(":") && word != "finish" && word != "defer" && word != "else" {
		if p.peek(2).Kind == Identifier {
			return nil, false
		}
	}
	switch word {
	case "if":
		return p.ifStmt(start), true
	case "while":
		p.next()
		cond := p.condition("while")
		body := p.suite("the condition")
		return &WhileStmt{p.from(start), cond, body}, true
	case "for":
		return p.forStmt(start), true
	case "match":
		return p.match(start), true
	case "on":
		return p.on(start), true
	case "finish":
		return p.finish(start), true
	case "emit":
		return p.emit(start)
	case "defer":
		return p.deferStmt(start), true
	}
	return p.shortStmt(start, word)
}

// shortStmt reads the statements that have no suite.
func (p *parser) shortStmt(start source.Span, word string) (Stmt, bool) {
	switch word {
	case "return":
		p.next()
		r := &ReturnStmt{}
		if !p.atEnd() {
			r.X = p.initialiser()
		}
		r.At = p.from(start)
		return r, true
	case "break":
		p.next()
		return &BreakStmt{p.from(start)}, true
	case "continue":
		p.next()
		return &ContinueStmt{p.from(start)}, true
	case "pass":
		p.next()
		return &PassStmt{p.from(start)}, true
	case "assert":
		p.next()
		a := &AssertStmt{X: p.condition("assert")}
		if p.brackets == 0 && p.accept(",") {
			a.Message = p.expr()
		}
		a.At = p.from(start)
		return a, true
	case "fail":
		p.next()
		x := p.expr()
		return &FailStmt{p.from(start), x}, true
	case "else":
		p.failf("E0114", "this 'else' belongs to no 'if' above it at the same indentation")
	case "import", "type", "const", "pub":
		p.failf("E0119", "'%s' belongs at the level of the module, not inside a function", word)
	}
	return nil, false
}

// atEnd says whether the statement ends here.
func (p *parser) atEnd() bool {
	return p.tok().isLayout() || p.is(")") || p.is("]") || p.is(",") || p.is(";")
}

// simple reads an expression statement or an assignment.
func (p *parser) simple(start source.Span) Stmt {
	x := p.expr()
	if p.at(Op) && assigns[p.tok().Text()] {
		op := p.next().Text()
		value := p.initialiser()
		return &AssignStmt{p.from(start), x, op, value}
	}
	x = p.callbacks(x)
	return &ExprStmt{p.from(start), x}
}

var assigns = map[string]bool{
	"=": true, "+=": true, "-=": true, "*=": true, "/=": true, "%=": true, "&=": true, "|=": true,
	"^=":  true,
	"<<=": true, ">>=": true, "**=": true, "+%=": true, "-%=": true, "*%=": true,
}

// initialiser reads an expression that may end in `call:` with named callbacks. A broken one is a
// BadExpr, so that the declaration stays known.
func (p *parser) initialiser() Expr {
	start := p.here()
	var x Expr
	if p.brackets > 0 {
		return p.expr()
	}
	if p.guard(func() { x = p.callbacks(p.expr()) }) {
		return x
	}
	p.skipLine()
	return &BadExpr{p.from(start)}
}

// condition reads the condition of word; `=` in it counts as `==`.
func (p *parser) condition(word string) Expr {
	start := p.here()
	var x Expr
	ok := p.guard(func() {
		x = p.expr()
		if p.is("=") {
			d := diag.Diagnostic{Code: "E0116", Span: p.here(),
				Message: fmt.Sprintf("'=' assigns; '%s' compares with '=='", word)}
			d.Fix = &diag.Fix{Text: "write ==", Span: p.here(), New: "=="}
			p.report(d)
			p.next()
			y := p.expr()
			x = &Binary{p.from(start), "==", d.Span, x, y}
		}
	})
	if ok {
		return x
	}
	p.skipToSuite()
	return &BadExpr{p.from(start)}
}

// skipToSuite skips the rest of a broken head, up to the colon at the end of its line. It gives up
// when no block follows.
func (p *parser) skipToSuite() {
	for i := p.pos; ; i++ {
		t := &p.toks[i]
		if t.is(":") && p.toks[i+1].Kind == Newline && p.toks[i+2].Kind == Indent {
			for p.pos < i {
				p.next()
			}
			return
		}
		if t.isLayout() {
			panic(bail{})
		}
	}
}

// recoverSuite reads the block of a broken head, if there is one, for its own errors.
func (p *parser) recoverSuite() {
	if p.isBlockEnd() && p.startsLine() {
		return
	}
	p.skipToNewline()
	if p.at(Newline) && p.peek(1).Kind == Indent {
		p.next()
		p.indented()
	}
}

// ifStmt reads if, else if, else. An if on the line of another suite has no else on the next line.
func (p *parser) ifStmt(start source.Span) Stmt {
	first := &IfStmt{}
	for s := first; ; {
		p.next()
		s.Cond = p.condition("if")
		s.Then = p.suite("the condition")
		s.At = p.from(start)
		elif := p.elif()
		if !elif && !p.elseAhead() {
			break
		}
		if p.at(Newline) {
			p.next()
		}
		if !elif {
			p.next()
		}
		start = p.here()
		if elif || p.is("if") {
			more := &IfStmt{}
			s.Else, s = more, more
			continue
		}
		body := p.suite("'else'")
		s.Else = &BlockStmt{p.from(start), body}
		break
	}
	last := p.last
	for s := first; s != nil; {
		s.Span = s.Span.To(last)
		s, _ = s.Else.(*IfStmt)
	}
	return first
}

func (p *parser) elseAhead() bool {
	if p.is("else") {
		return p.isBlockEnd()
	}
	return p.inline == 0 && p.at(Newline) && p.peek(1).is("else")
}
