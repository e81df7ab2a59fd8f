package syntax

import "interleave/eve/source"

// match reads `match e:` and its arms.
func (p *parser) match(start source.Span) Stmt {
	p.next()
	m := &MatchStmt{X: p.condition("match")}
	if !p.accept(":") {
		p.missingColon("the value to match")
	}
	if p.at(Newline) && p.peek(1).Kind != Indent {
		p.emptyBlock("'match'", "one arm a line: circle(r): ...")
	} else if !p.at(Newline) {
		p.failf("E0117", "the arms of 'match' are in the lines below")
	}
	p.enter()
	saved := p.context
	p.context = context{depth: p.depth}
	p.members(func() { m.Arms = append(m.Arms, p.arm()) })
	p.context = saved
	p.leave()
	m.At = p.from(start)
	return m
}

func (p *parser) arm() *Arm {
	start := p.here()
	a := &Arm{}
	if !p.guard(func() { a.Pattern = p.pattern() }) {
		a.Pattern = &AnyPattern{At{start}}
		p.skipToSuite()
	}
	a.Body = p.suite("the pattern")
	a.At = p.from(start)
	return a
}

// pattern reads the pattern of an arm.
func (p *parser) pattern() Pattern {
	p.foreignArm()
	start, t := p.here(), p.tok()
	switch {
	case t.is("else"), t.Text() == "_" && t.Kind == Identifier && !p.peek(1).is("."):
		p.next()
		return &AnyPattern{p.from(start)}
	case t.is("none"):
		return &CasePattern{At: At{start}, Path: []*Name{p.word()}, Bare: true}
	case t.isName():
		return p.casePattern(start)
	}
	x := p.unary()
	return &LitPattern{p.from(start), x}
}

func (p *parser) casePattern(start source.Span) Pattern {
	c := &CasePattern{Path: []*Name{p.word()}, Bare: true}
	for p.accept(".") {
		c.Path = append(c.Path, p.anyWord("a case"))
	}
	if p.is("(") {
		open := p.here()
		p.next()
		c.Bare = false
		for p.inList(")") {
			c.Names = append(c.Names, p.name("a variable"))
			if !p.accept(",") {
				break
			}
		}
		p.close(")", open)
	}
	c.At = p.from(start)
	return c
}
