package syntax

import (
	"interleave/eve/diag"
	"interleave/eve/source"
)

// The precedence of binary operators: that of C, with `..` between comparison and shift.
var strength = map[string]int{
	"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5,
	"==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7,
	"..": 8, "<<": 9, ">>": 9,
	"+": additive, "-": additive, "+%": additive, "-%": additive,
	"*": 11, "/": 11, "%": 11, "*%": 11,
}

const additive = 10

// expr reads an expression: a lambda, or operands with a default behind `else`.
func (p *parser) expr() Expr {
	p.enter()
	defer p.leave()
	if p.isLambda() {
		return p.lambda()
	}
	start := p.here()
	x := p.binary(0)
	if p.is("else") && !p.startsLine() {
		p.next()
		d := p.expr()
		x = &ElseExpr{p.from(start), x, d}
	}
	return x
}

// binary reads operators of at least the precedence least.
func (p *parser) binary(least int) Expr {
	start := p.here()
	x := p.unary()
	for p.at(Op) && !p.startsLine() {
		op := p.tok().Text()
		if op == "<-" { // x <-1 compares with a negative number
			op = "<"
		}
		s := strength[op]
		if s == 0 || s < least || p.tok().Text() == "<-" && p.startsList() {
			break
		}
		at := p.operator(op)
		y := p.binary(s + 1)
		x = &Binary{p.from(start), op, at, x, y}
	}
	return x
}

// operator reads op, which the current token is or starts with.
func (p *parser) operator(op string) source.Span {
	if len(op) < len(p.tok().Text()) {
		return p.split().Span
	}
	return p.next().Span
}

// startsList says that no operand follows `<-`.
func (p *parser) startsList() bool { return p.peek(1).isLayout() }

func (p *parser) unary() Expr {
	start := p.here()
	if op := p.tok(); op.is("-") || op.is("!") || op.is("~") || op.is("--") {
		p.enter()
		defer p.leave()
		text := op.Text()[:1]
		p.operator(text)
		x := p.unary()
		return &Unary{p.from(start), text, x}
	}
	x := p.postfix(p.primary(), false)
	if p.is("**") && !p.startsLine() {
		p.enter()
		defer p.leave()
		at := p.next().Span
		y := p.unary()
		x = &Binary{p.from(start), "**", at, x, y}
	}
	return x
}

// primary reads an operand without its suffixes.
func (p *parser) primary() Expr {
	start, t := p.here(), p.tok()
	switch t.Kind {
	case Int, Float, Char, String, Duration:
		return p.literal(start)
	case FormatString:
		return p.fstring()
	case Identifier:
		p.next()
		return &Ident{At{start}, t.Text()}
	}
	switch {
	case t.is("true"), t.is("false"):
		p.next()
		return &Lit{At{start}, BoolLit, t.Text(), ""}
	case t.is("none"):
		p.next()
		return &Lit{At{start}, NoneLit, t.Text(), ""}
	case t.isName():
		n := p.word()
		return &Ident{n.At, n.Text}
	case t.is("("):
		return p.paren()
	case t.is("["):
		elems := p.list()
		return &ListLit{p.from(start), elems}
	}
	p.noOperand(t)
	return nil
}

// noOperand reports a missing expression.
func (p *parser) noOperand(t *Token) {
	d := diag.Diagnostic{Code: "E0113", Span: p.here(), Message: "expected an expression, found " +
		p.found()}
	p.doubled(&d)
	switch {
	case d.Fix != nil:
	case t.is("]") && p.last.Text() == "..":
		d.Label = "a range has an end: v[1..v.size()]"
	case t.is("if"):
		d.Label = "'if' is a statement, it has no value"
	case t.is("@"):
		d.Label = "a task is a statement, it has no value"
	case t.Kind == Newline && p.peek(1).Kind == Indent:
		d.Label = longExpr
	case t.is("&") && p.peek(1).isName():
		d.Label = "a place is passed by its name"
		d.Fix = &diag.Fix{Text: "leave out '&'", Span: t.Span}
	case p.last.Text() == ".." && (t.is(".") || t.is("=")):
		d.Label = "0..3 is 0, 1 and 2: the end is left out"
	case t.is("<-"):
		d.Label = "an awaited call has a line of its own: x <- f()"
	case t.Kind == Keyword:
		d.Code = "E0115"
		d.Message = "'" + t.Text() + "' is a keyword and cannot be used as a name"
	case t.is(")") && p.pos > 0 && !p.toks[p.pos-1].is("("):
		d.Label = "something is missing before it"
	}
	p.fail(d)
}

var literals = map[Kind]LitKind{Int: IntLit, Float: FloatLit, Char: CharLit, String: StringLit,
	Duration: DurationLit}

func (p *parser) literal(start source.Span) Expr {
	t := p.next()
	return &Lit{At{start}, literals[t.Kind], t.Text(), t.Value}
}

// paren reads `(e)` and `(a, b)`.
func (p *parser) paren() Expr {
	open := p.here()
	p.next()
	saved := p.inBrackets()
	if p.is(")") {
		p.failf("E0113", "expected an expression between '(' and ')'")
	}
	elems := []Expr{p.expr()}
	tuple := false
	for p.accept(",") {
		tuple = true
		if p.is(")") {
			break
		}
		elems = append(elems, p.expr())
	}
	p.close(")", open)
	p.context = saved
	if tuple {
		return &TupleLit{p.from(open), elems}
	}
	return &Paren{p.from(open), elems[0]}
}

// inBrackets starts the inside of brackets and returns the context to restore behind them.
func (p *parser) inBrackets() context {
	saved := p.context
	p.brackets++
	p.inline = 0
	p.index = always
	return saved
}

// inList says whether another element of a list in brackets follows.
func (p *parser) inList(closing string) bool { return !p.is(closing) && !p.tok().isLayout() }

// list reads `[a, b]`.
func (p *parser) list() []Expr {
	open := p.here()
	p.next()
	saved := p.inBrackets()
	var elems []Expr
	for p.inList("]") {
		elems = append(elems, p.expr())
		if !p.accept(",") {
			break
		}
	}
	p.close("]", open)
	p.context = saved
	return elems
}

// postfix reads the suffixes of an operand: calls, fields, indexes, `?`. An emitter's has no type
// arguments.
func (p *parser) postfix(x Expr, emitter bool) Expr {
	start := x.Place()
	for !p.startsLine() {
		switch t := p.tok(); {
		case t.is("("):
			args := p.args()
			x = &Call{At: p.from(start), Fun: x, Args: args}
		case t.is("."):
			p.next()
			n := p.field()
			x = &Selector{p.from(start), x, n}
		case t.is("[") && p.indexes(x, emitter):
			x = p.indexExpr(start, x)
		case t.is("?"):
			p.next()
			x = &Propagate{p.from(start), x}
		case t.is("<") && !emitter && path(x) != nil && p.typeArgsAhead():
			n := &NamedType{Path: path(x)}
			n.Args = p.typeArgs()
			n.At = p.from(start)
			x = &TypeExpr{n.At, n}
		default:
			return x
		}
	}
	return x
}

// indexes says whether a [ behind x is an index.
func (p *parser) indexes(x Expr, emitter bool) bool {
	if emitter {
		return true
	}
	_, call := x.(*Call)
	return p.index == always || p.index == notOfCall && !call
}

func (p *parser) indexExpr(start source.Span, x Expr) Expr {
	open := p.here()
	p.next()
	saved := p.inBrackets()
	p.rangeOf(x, true)
	i := p.expr()
	p.rangeOf(x, false)
	if p.is(",") {
		p.fail(diag.Diagnostic{
			Code: "E0106", Span: p.here(), Message: "an index has one value: v[i][j]",
			Fix: &diag.Fix{Text: "write ][",
				Span: p.here().To(source.Span{File: p.file, Start: p.peek(1).Span.Start,
					End: p.peek(1).Span.Start}), New: "]["},
		})
	}
	p.close("]", open)
	p.context = saved
	return &Index{p.from(start), x, i}
}

// field reads the name behind a dot: any word, or the number of a tuple's element.
func (p *parser) field() *Name {
	if p.at(Int) {
		t := p.next()
		return &Name{At{t.Span}, t.Text()}
	}
	return p.anyWord("a field or method")
}

// path returns the names of a.b.c; nil if x is anything else.
func path(x Expr) []*Name {
	switch x := x.(type) {
	case *Ident:
		return []*Name{{x.At, x.Name}}
	case *Selector:
		if before := path(x.X); before != nil {
			return append(before, x.Name)
		}
	}
	return nil
}

// args reads `(a, name = b)`.
func (p *parser) args() []*Arg {
	open := p.here()
	p.next()
	saved := p.inBrackets()
	list := []*Arg{}
	for p.inList(")") {
		start := p.here()
		a := &Arg{}
		if p.tok().isWord() && p.peek(1).is("=") {
			a.Name = p.anyWord("an argument")
			p.next()
		}
		a.X = p.expr()
		a.At = p.from(start)
		list = append(list, a)
		if n, ok := a.X.(*Ident); ok && p.is(":") {
			p.colonArg(n)
		}
		if !p.accept(",") {
			break
		}
	}
	p.close(")", open)
	p.context = saved
	return list
}

// callbacks reads the block of named callbacks behind a call at the end of a line.
func (p *parser) callbacks(x Expr) Expr {
	call, ok := x.(*Call)
	if !ok || !p.is(":") || p.brackets > 0 || p.isBlockEnd() {
		return x
	}
	if p.peek(1).Kind != Newline {
		return x
	}
	p.next()
	if p.peek(1).Kind != Indent {
		p.emptyBlock("a call that ends in ':'", "named callbacks: name = [list] (x: T) U: ...")
		return x
	}
	p.enter()
	saved := p.context
	p.context = context{depth: p.depth}
	p.members(func() { call.Named = append(call.Named, p.namedArg()) })
	p.context = saved
	p.leave()
	call.Span = call.Span.To(p.last)
	return x
}

// namedArg reads `name = lambda` of a block of callbacks.
func (p *parser) namedArg() *Arg {
	start := p.here()
	if !p.tok().isWord() || !p.peek(1).is("=") {
		d := diag.Diagnostic{Code: "E0114", Span: start,
			Message: "expected a named callback, found " + p.found()}
		d.Label = "a call that ends in ':' is followed by lines like name = [list] (x: T) U: ..."
		p.fail(d)
	}
	a := &Arg{Name: p.anyWord("a callback")}
	p.next()
	if p.is("(") && !p.isLambda() && p.isUntypedParams(0) {
		p.params() // it fails, and says for which parameter
	}
	a.X = p.initialiser()
	a.At = p.from(start)
	return a
}

// isLambda says whether a lambda starts here: a list or not, then parameters.
func (p *parser) isLambda() bool {
	if p.is("(") {
		return p.isParams(0)
	}
	if !p.is("[") {
		return false
	}
	end := p.matching(p.pos)
	return end >= 0 && p.toks[end+1].is("(")
}

// lambdaHead says whether the last token ends the parameters of a lambda without
// types: `(x) x + 1`.
func (p *parser) lambdaHead() bool {
	for i := p.pos - 1; i > 0 && !p.toks[i].isLayout(); i-- {
		if p.toks[i].is("(") {
			return p.toks[i-1].is("(") || p.toks[i-1].is(",") || p.toks[i-1].is("=")
		}
		if !p.toks[i].is(")") && !p.toks[i].is(",") && p.toks[i].Kind != Identifier {
			return false
		}
	}
	return false
}

// matching returns the index of the bracket that closes the one at i; -1 if its line has none.
func (p *parser) matching(i int) int {
	depth := 0
	for ; i < len(p.toks) && !p.toks[i].isLayout(); i++ {
		switch t := &p.toks[i]; {
		case t.is("("), t.is("["):
			depth++
		case t.is(")"), t.is("]"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// lambda reads `perms (params) result: expr-or-suite`.
func (p *parser) lambda() Expr {
	start := p.here()
	l := &Lambda{}
	if p.is("[") {
		l.Perms = p.perms()
	}
	l.Params = p.params()
	if !p.is(":") {
		l.Result = p.typ()
	}
	if !p.is(":") || p.at(Newline) {
		p.colonOfLambda()
	}
	if p.peek(1).Kind == Newline {
		l.Body = p.suite("a lambda's head")
		l.At = p.from(start)
		return l
	}
	colon := p.next()
	at := p.here()
	if p.brackets > 0 && at.Line() > colon.Span.Line() {
		p.tall = colon.Span
	}
	p.inline++
	s := p.inlineStmt()
	p.inline--
	if x, ok := s.(*ExprStmt); ok {
		l.X = x.X
	} else {
		l.Body = &Block{p.from(at), []Stmt{s}}
	}
	l.At = p.from(start)
	return l
}

// colonOfLambda reports a missing colon behind a lambda's head.
func (p *parser) colonOfLambda() {
	d := diag.Diagnostic{
		Code: "E0104", Span: p.behind(), Message: "a ':' belongs behind a lambda's head",
		Fix: p.insertion(":"),
	}
	p.fail(d)
}
