package syntax

import (
	"fmt"

	"interleave/eve/diag"
	"interleave/eve/source"
)

// module reads a whole file. Of consecutive broken lines only the first is reported, since the
// others mostly belong to it.
func (p *parser) module(file *File) {
	for broken := false; !p.at(EOF); {
		start := p.pos
		if p.at(Indent) {
			p.strayIndent()
			p.skipBlock()
			continue
		}
		var d Decl
		p.hush = broken
		if broken = !p.guard(func() { d = p.item(file) }); broken {
			p.skipLine()
		}
		p.hush = broken
		if d != nil {
			file.Decls = append(file.Decls, d)
		}
		p.endLine()
		if p.pos == start {
			p.next()
		}
	}
}

// item reads one declaration of a module. It returns nil for an import.
func (p *parser) item(file *File) Decl {
	start := p.here()
	if p.is("import") {
		file.Imports = append(file.Imports, p.importDecl())
		return nil
	}
	pub := p.is("pub") && !p.peek(1).is(":") && !p.peek(1).is(",")
	if pub {
		p.next()
	}
	switch t, after := p.tok(), p.peek(1); {
	case t.is("type") && !after.is(":") && !after.is(","):
		return p.typeDecl(start, pub)
	case t.is("union") && after.isName():
		return p.unionDecl(start, pub)
	case t.is("const") && !after.is(":") && !after.is(","):
		return p.constDecl(start, pub)
	case t.is("extern") && (after.Kind == String || after.is(":")):
		return p.externDecl(start)
	case t.is("test") && after.Kind == String:
		return p.testDecl(start)
	case t.isWord() && (after.is(":") || after.is(",")):
		return p.named(start, pub, "a module")
	}
	p.headOfFunction()
	if v := p.pairDecl(start, pub); v != nil {
		return v
	}
	p.noItem()
	return nil
}

// noItem reports why the current line is not a declaration.
func (p *parser) noItem() {
	t := p.tok()
	d := diag.Diagnostic{Code: "E0119", Span: p.here()}
	d.Message = "a statement belongs inside a function, not at the level of the module"
	d.Label = "put it into main: () void:"
	if after := p.peek(1); t.Kind == Identifier && after.isWord() {
		p.foreign(t, after)
		if p.peek(2).is(":") {
			gap := source.Span{File: p.file, Start: t.Span.Start, End: after.Span.Start}
			d.Message, d.Label = "'"+t.Text()+"' is not a word of Eve", ""
			d.Fix = &diag.Fix{Text: "leave it out", Span: gap}
		}
	}
	if t.is("test") && p.peek(1).isName() {
		name := p.peek(1)
		d.Message, d.Label = "a test is named by a string: test \""+name.Text()+"\":", ""
		d.Fix = &diag.Fix{Text: "write \"" + name.Text() + "\"", Span: name.Span, New: "\"" +
			name.Text() + "\""}
	}
	if t.isName() && p.peek(1).is("(") {
		p.missingHead(t)
	}
	if t.isName() && p.peek(1).is("<") {
		d.Code, d.Message = "E0114", "type parameters follow the colon: "+t.Text()+
			": <type T> (x: T) T:"
		d.Label = ""
	}
	if t.Kind == Op || t.is("in") || t.is("as") || t.is("within") {
		d.Message, d.Label = "expected a declaration, found "+p.found(), ""
	}
	p.fail(d)
}

func (p *parser) importDecl() *Import {
	start := p.here()
	p.next()
	im := &Import{}
	im.Path = append(im.Path, p.name("a module"))
	for p.accept(".") {
		if p.accept("*") {
			im.All = true
			break
		}
		im.Path = append(im.Path, p.anyWord("a module"))
	}
	if p.accept("as") {
		im.As = p.name("the module here")
	}
	im.At = p.from(start)
	return im
}

// named reads a declaration that starts with a name and a colon: a function or variables. where
// says what it belongs to.
func (p *parser) named(start source.Span, pub bool, where string) Decl {
	what := "a variable"
	if p.peek(1).is(":") && p.isFuncHead(2) {
		what = "a function"
	}
	first := p.memberName(what, where)
	if p.is(":") && p.isFuncHead(1) {
		p.next()
		return p.function(start, pub, first)
	}
	return p.variables(start, pub, first, where)
}

// memberName reads the name of a declaration. Members of types come after a dot, so any word can
// be their name.
func (p *parser) memberName(what, where string) *Name {
	if where == "a type" {
		return p.anyWord(what)
	}
	return p.name(what)
}

// isFuncHead says whether the head of a function, and not a type, follows the colon n tokens
// ahead.
func (p *parser) isFuncHead(n int) bool {
	t, after := p.peek(n), p.peek(n+1)
	switch {
	case t.is("["):
		return !p.isListType(n)
	case t.is("<"):
		return !after.is("(")
	case t.is("("):
		return p.isParams(n) || p.isUntypedParams(n)
	}
	return false
}

// isListType says whether the [ n tokens ahead opens a list type of other languages: `v: [int]`.
func (p *parser) isListType(n int) bool {
	end := p.matching(min(p.pos+n, len(p.toks)-1))
	return end > p.pos+n+1 && p.peek(n+1).Kind == Identifier && (p.toks[end+1].isLayout() ||
		p.toks[end+1].is("="))
}

// isUntypedParams says that the ( n tokens ahead opens parameters without types: a result or a
// colon follows, which cannot follow a tuple's type.
func (p *parser) isUntypedParams(n int) bool {
	end := p.matching(min(p.pos+n, len(p.toks)-1))
	if end < 0 {
		return false
	}
	after := &p.toks[end+1]
	return after.isName() || after.is(":") || after.is("->") || after.is("<") || after.is("<-")
}

// isParams says whether the ( n tokens ahead opens parameters and not a type or an expression.
func (p *parser) isParams(n int) bool {
	first, second := p.peek(n+1), p.peek(n+2)
	switch {
	case first.is(")"), first.is("="):
		return true
	case first.isWord() && second.is(":"):
		return true
	case first.Text() == "self":
		return second.is(")") || second.is(",")
	}
	return false
}

// variables reads `a, b: T(args) = init` behind the first name.
func (p *parser) variables(start source.Span, pub bool, first *Name, where string) *VarDecl {
	v := &VarDecl{Pub: pub, Names: []*Name{first}}
	for p.accept(",") {
		v.Names = append(v.Names, p.memberName("a variable", where))
	}
	p.expect(":", "and a type behind the name of a variable")
	if p.is("=") {
		p.untyped(first)
	}
	v.Type = p.typ()
	if p.is("(") {
		v.Args = p.args()
	}
	if p.accept("=") {
		v.Init = p.initialiser()
	}
	v.At = p.from(start)
	return v
}

// untyped reports `x := 1`, `x: = 1`.
func (p *parser) untyped(name *Name) {
	p.fail(diag.Diagnostic{
		Code: "E0120", Span: p.here(), Message: fmt.Sprintf("the type of '%s' is missing",
			name.Text),
		Label: "a declaration says the type: " + name.Text + ": int = ...",
	})
}

// function reads a function behind `name:`.
func (p *parser) function(start source.Span, pub bool, name *Name) *Func {
	f := &Func{Pub: pub, Name: name}
	if !p.guard(func() { p.signature(f) }) {
		f.Broken = true
		// and has no body: without its parameters every name in it would be one error more
		p.recoverSuite()
		f.At = p.from(start)
		return f
	}
	switch {
	case p.is(":") || p.at(Newline) && p.peek(1).Kind == Indent:
		f.Body = p.suite("a function's head")
	case p.is("="):
		p.failf("E0104", "a function's body follows ':', not '='")
	}
	f.At = p.from(start)
	return f
}

// signature reads `<type T> [perms] (params) result` or `... <- result`.
func (p *parser) signature(f *Func) {
	if p.is("<") {
		f.TypeParams = p.typeParams(true)
	}
	if p.is("[") {
		f.Perms = p.perms()
	}
	if p.is("<") {
		p.failf("E0114", "type parameters come before the permission list")
	}
	if !p.is("(") {
		p.failf("E0114", "expected the parameters in '( )', found %s", p.found())
	}
	f.Params = p.params()
	if p.is("->") {
		gap := source.Span{File: p.file, Start: p.here().Start, End: p.peek(1).Span.Start}
		p.fail(diag.Diagnostic{
			Code: "E0114", Span: p.here(),
			Message: "the result's type directly follows the parameters",
			Fix:     &diag.Fix{Text: "leave out '->'", Span: gap, New: ""},
		})
	}
	if p.is("[") {
		p.lateList(f)
	}
	p.lateResult()
	f.Async = p.accept("<-")
	if f.Async || !p.is(":") && !p.tok().isLayout() {
		f.Result = p.typ()
	}
}

// lateResult reports `(n: int): int` before a block.
func (p *parser) lateResult() {
	end := p.peek(2)
	if !p.is(":") || !p.peek(1).isName() || !end.is(":") && (end.Kind != Newline ||
		p.peek(3).Kind != Indent) {
		return
	}
	at := p.here().To(p.peek(1).Span)
	if end.is(":") {
		at = at.To(end.Span)
	}
	text := " " + p.peek(1).Text() + ":"
	p.fail(diag.Diagnostic{
		Code: "E0114", Span: p.here(),
		Message: "the result's type directly follows the parameters",
		Fix:     &diag.Fix{Text: "write" + text, Span: at, New: text},
	})
}

// lateList reports `(x: int) [+a] int`.
func (p *parser) lateList(f *Func) {
	d := diag.Diagnostic{Code: "E0114", Span: p.here(),
		Message: "the permission list comes before the parameters"}
	open, end := p.matchingBack(p.pos-1), p.matching(p.pos)
	if f.Perms == nil && open >= 0 && end >= 0 {
		params := p.toks[open].Span.To(p.last).Text()
		list := p.here().To(p.toks[end].Span).Text()
		at := p.toks[open].Span.To(p.toks[end].Span)
		d.Fix = &diag.Fix{Text: "write " + list + " " + params, Span: at, New: list + " " + params}
	}
	p.fail(d)
}

// matchingBack returns the index of the bracket that opens the one at i; -1 if its line has none.
func (p *parser) matchingBack(i int) int {
	depth := 0
	for ; i >= 0 && !p.toks[i].isLayout(); i-- {
		switch t := &p.toks[i]; {
		case t.is(")"), t.is("]"):
			depth++
		case t.is("("), t.is("["):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// typeParams reads `<type T: constraint, type U>` of a function, `<T, U>` of a type.
func (p *parser) typeParams(word bool) []*TypeParam {
	open := p.here()
	p.next()
	var list []*TypeParam
	for {
		start := p.here()
		if !p.accept("type") && word {
			before := source.Span{File: p.file, Start: start.Start, End: start.Start}
			p.fail(diag.Diagnostic{
				Code: "E0114", Span: p.here(),
				Message: "a type parameter of a function is written 'type T'",
				Fix: &diag.Fix{Text: "write type " + p.tok().Text(), Span: before,
					New: "type "},
			})
		}
		t := &TypeParam{Name: p.name("a type parameter")}
		if p.accept(":") {
			t.Constraint = p.typ()
		}
		t.At = p.from(start)
		list = append(list, t)
		if !p.accept(",") {
			break
		}
	}
	if !p.take(">") {
		p.close(">", open)
	}
	return list
}

// params reads `(self, =x: T, y: U = default)`.
func (p *parser) params() []*Param {
	open := p.here()
	p.next()
	p.brackets++
	list := []*Param{}
	for p.inList(")") {
		list = append(list, p.param())
		if !p.accept(",") {
			break
		}
	}
	p.close(")", open)
	p.brackets--
	return list
}

func (p *parser) param() *Param {
	start := p.here()
	a := &Param{Take: p.accept("=")}
	if a.Name, a.Type = p.wordPair("E0120", "a parameter"); a.Name == nil {
		a.Name = p.name("a parameter")
		if a.Name.Text != "self" || p.is(":") {
			if !p.is(":") {
				p.untypedParam(a.Name)
			}
			p.next()
			a.Type = p.typ()
			p.bareFuncType(a.Type)
		}
	}
	if p.accept("=") {
		a.Default = p.expr()
	}
	a.At = p.from(start)
	return a
}

// bareFuncType reports a parameter `f: (int) int`.
func (p *parser) bareFuncType(t Type) {
	params, ok := t.(*TupleType)
	if !ok || !p.tok().isName() {
		return
	}
	at := params.Span.To(p.here())
	text := "<" + at.Text() + ">"
	p.fail(diag.Diagnostic{
		Code: "E0120", Span: at, Message: "the type of a closure is written " + text,
		Fix: &diag.Fix{Text: "write " + text, Span: at, New: text},
	})
}

// untypedParam reports `(x)`.
func (p *parser) untypedParam(name *Name) {
	d := diag.Diagnostic{Code: "E0120", Span: name.Span,
		Message: fmt.Sprintf("the parameter '%s' has no type", name.Text)}
	d.Label = "write " + name.Text + ": and its type"
	p.fail(d)
}

// perms reads `[+a, b, -c, =n, &v]`.
func (p *parser) perms() *Perms {
	open := p.here()
	p.next()
	p.brackets++
	l := &Perms{}
	for p.inList("]") {
		l.Entries = append(l.Entries, p.perm())
		if !p.accept(",") {
			break
		}
	}
	p.close("]", open)
	p.brackets--
	l.At = p.from(open)
	return l
}

func (p *parser) perm() *Perm {
	start := p.here()
	e := &Perm{}
	if p.is("+") || p.is("-") || p.is("=") || p.is("&") {
		e.Sign = p.next().Text()[0]
	}
	e.Name = p.name("a variable")
	if p.is(".") {
		p.fail(diag.Diagnostic{
			Code: "E0114", Span: p.here(),
			Message: "a permission list names variables, not their fields",
			Label:   "a list has the bare name of a module variable: import m.* brings it",
		})
	}
	e.At = p.from(start)
	return e
}
