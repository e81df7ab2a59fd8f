package syntax

import (
	"strings"

	"interleave/eve/diag"
	"interleave/eve/source"
)

// typeDecl reads `type name<T>: emitter<A, B>` and its members.
func (p *parser) typeDecl(start source.Span, pub bool) Decl {
	p.next()
	d := &TypeDecl{Pub: pub, Name: p.name("a type")}
	p.head(func() {
		if p.is("<") {
			d.TypeParams = p.typeParams(false)
		}
		p.colon("a type's name")
		if p.is("=") {
			p.failf("E0114",
				"a type has its fields in the lines below; there are no other names for a type")
		}
		if !p.at(Newline) {
			p.emitter(d)
		}
	})
	p.members(func() {
		m := p.member()
		if m != nil {
			d.Members = append(d.Members, m)
		}
	})
	d.At = p.from(start)
	return d
}

// head reads the head of a declaration with members. If it is broken its line is skipped.
func (p *parser) head(parse func()) {
	if !p.guard(parse) {
		p.skipToNewline()
		p.hush = true
	}
}

// colon reads the colon behind what.
func (p *parser) colon(what string) {
	if p.accept(":") {
		return
	}
	p.fail(diag.Diagnostic{
		Code: "E0104", Span: p.behind(), Message: "a ':' belongs behind " + what,
		Fix: p.insertion(":"),
	})
}

// emitter reads `emitter<A, B>`, the only thing that may follow a type's colon.
func (p *parser) emitter(d *TypeDecl) {
	if p.tok().Text() != "emitter" {
		p.failf("E0114", "only emitter<...> is possible here: a type inherits from no other")
	}
	p.next()
	d.IsEmitter = true
	if !p.is("<") {
		p.failf("E0114", "expected the events in '< >' behind 'emitter', found %s", p.found())
	}
	d.Emits = p.typeArgs()
}

// members reads an indented list of lines, each by one; it may be missing. After a broken line
// other broken lines of the list are not reported: most often they belong to another list than the
// parser assumes.
func (p *parser) members(one func()) {
	if !p.at(Newline) || p.peek(1).Kind != Indent {
		return
	}
	p.next()
	p.next()
	broken := p.hush
	for !p.at(Dedent) && !p.at(EOF) {
		start := p.pos
		if p.at(Indent) {
			p.strayIndent()
			p.skipBlock()
			continue
		}
		p.hush = broken
		if !p.guard(one) {
			broken = true
			p.skipLine()
		}
		p.hush = broken
		p.endLine()
		if p.pos == start {
			p.next()
		}
	}
	p.hush = false
	if p.at(Dedent) {
		p.next()
	}
}

// member reads a field or method.
func (p *parser) member() Decl {
	start := p.here()
	pub := p.is("pub") && p.peek(1).isWord()
	if pub {
		p.next()
	}
	if p.is("pass") && p.peek(1).Kind == Newline {
		p.next()
		return nil
	}
	if t, after := p.tok(), p.peek(1); !t.isWord() || !after.is(":") && !after.is(",") {
		if t.isName() && after.is("(") {
			p.missingHead(t)
		}
		if v := p.pairDecl(start, pub); v != nil {
			return v
		}
		if t.Kind == Identifier && after.isWord() {
			p.foreign(t, after)
		}
		p.failf("E0114", "expected a field or a method, found %s", p.found())
	}
	d := p.named(start, pub, "a type")
	if f, ok := d.(*Func); ok && !f.Broken {
		p.selfListed(f)
	}
	return d
}

// selfListed reports a method that lists self without having it as a parameter, and adds the
// parameter.
func (p *parser) selfListed(f *Func) {
	if f.Perms == nil || len(f.Params) > 0 && f.Params[0].Name != nil &&
		f.Params[0].Name.Text == "self" {
		return
	}
	for _, e := range f.Perms.Entries {
		if e.Name == nil || e.Name.Text != "self" {
			continue
		}
		end := f.Perms.Span.End
		at := end + strings.IndexByte(p.file.Text[end:], '(') + 1
		missing := source.Span{File: p.file, Start: at, End: at}
		text := "self"
		if len(f.Params) > 0 {
			text = "self, "
		}
		p.report(diag.Diagnostic{
			Code: "E0114", Span: e.Span,
			Message: "a method that lists self has it as its first parameter",
			Fix:     &diag.Fix{Text: "write self there", Span: missing, New: text},
		})
		f.Params = append([]*Param{{At: At{missing}, Name: &Name{At{missing}, "self"}}},
			f.Params...)
		return
	}
}

// unionDecl reads `union name<T>:` and its cases.
func (p *parser) unionDecl(start source.Span, pub bool) Decl {
	p.tok().Kind = Keyword
	p.next()
	d := &UnionDecl{Pub: pub, Name: p.name("a union")}
	p.head(func() {
		if p.is("<") {
			d.TypeParams = p.typeParams(false)
		}
		p.colon("a union's name")
	})
	if p.at(Newline) && p.peek(1).Kind != Indent {
		p.emptyBlock("a union's name", "one case a line")
	}
	p.members(func() {
		at := p.here()
		c := &Case{Name: p.anyWord("a case")}
		if p.is("(") {
			c.Fields = p.params()
		}
		c.At = p.from(at)
		d.Cases = append(d.Cases, c)
	})
	d.At = p.from(start)
	return d
}

// constDecl reads `const name: T = e`.
func (p *parser) constDecl(start source.Span, pub bool) Decl {
	p.next()
	c := &ConstDecl{Pub: pub, Name: p.name("a constant")}
	ok := p.guard(func() {
		if p.accept(":") && !p.is("=") {
			c.Type = p.typ()
		}
		p.expect("=", "and the value of the constant")
	})
	if ok {
		c.Init = p.initialiser()
	} else {
		c.Init = &BadExpr{At{p.behind()}}
		p.skipLine()
	}
	c.At = p.from(start)
	return c
}

// externDecl reads `extern "C" "zlib.h":` and its signatures.
func (p *parser) externDecl(start source.Span) Decl {
	p.next()
	d := &ExternDecl{}
	p.head(func() {
		if !p.at(String) || p.tok().Value != "C" {
			p.failf("E0114", `expected "C" behind 'extern', found %s`, p.found())
		}
		p.next()
		if !p.at(String) {
			p.failf("E0114", "expected the name of a header, found %s", p.found())
		}
		d.Header = p.next().Value
		p.colon("the header")
	})
	p.members(func() {
		if f := p.externFunc(); f != nil {
			d.Funcs = append(d.Funcs, f)
		}
	})
	d.At = p.from(start)
	return d
}

func (p *parser) externFunc() *Func {
	start := p.here()
	speed := p.tok().Text()
	if speed != "fast" && speed != "slow" || !p.peek(1).isWord() {
		d := diag.Diagnostic{Code: "E0114", Span: start,
			Message: "a C function is marked 'fast' or 'slow'"}
		d.Label = "a fast function is called like any other; a slow one is called by x <- f()"
		before := source.Span{File: p.file, Start: start.Start, End: start.Start}
		d.Fix = &diag.Fix{Text: "mark it slow", Span: before, New: "slow "}
		if mark := p.peek(2).Text(); p.peek(1).is(":") && (mark == "fast" || mark == "slow") {
			at := start.To(p.peek(2).Span)
			text := mark + " " + speed + ":"
			d.Fix = &diag.Fix{Text: "write " + text, Span: at, New: text}
		}
		p.fail(d)
	}
	p.next()
	name := p.name("a function")
	p.expect(":", "behind the name of a function")
	f := p.function(start, false, name)
	f.Speed = speed
	return f
}

// testDecl reads `test "name": suite`.
func (p *parser) testDecl(start source.Span) Decl {
	p.next()
	t := &TestDecl{Name: p.next().Value}
	p.taskPerms(&t.Perms)
	t.Body = p.suite("a test's name")
	t.At = p.from(start)
	return t
}
