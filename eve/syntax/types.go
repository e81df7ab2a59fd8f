package syntax

// typ reads a type.
func (p *parser) typ() Type {
	p.enter()
	defer p.leave()
	start := p.here()
	t := p.baseType()
	if p.is("[") {
		p.bracketType(t)
	}
	for {
		suffix := ""
		for _, s := range []string{"@", "&", "?", "!"} {
			if p.take(s) {
				suffix = s
				break
			}
		}
		if suffix == "" {
			return t
		}
		t = &SuffixType{p.from(start), t, suffix[0]}
	}
}

func (p *parser) baseType() Type {
	start := p.here()
	switch t := p.tok(); {
	case t.isName():
		n := &NamedType{Path: []*Name{p.word()}}
		for p.is(".") {
			p.next()
			n.Path = append(n.Path, p.anyWord("a type"))
		}
		if p.is("<") || p.is("<<") { // vector<<() void>@>: the argument is a closure's type
			n.Args = p.typeArgs()
		}
		n.At = p.from(start)
		return n
	case t.is("<"):
		return p.funcType()
	case t.is("("):
		elems := p.typeList()
		return &TupleType{p.from(start), elems}
	case t.Kind == Keyword:
		p.failf("E0115", "'%s' is a keyword and cannot be the name of a type", t.Text())
	case t.is("["):
		p.failf("E0120", "a list's type is written vector<int>, an array's array<int, 16>")
	case t.is("*"):
		p.failf("E0120", "there are no pointers: T@ is a shared object, T& a view")
	}
	p.failf("E0120", "expected a type, found %s", p.found())
	return nil
}

// funcType reads `<(A, B) R>` and `par` behind it.
func (p *parser) funcType() Type {
	start := p.here()
	p.next()
	f := &FuncType{}
	if !p.is("(") {
		p.failf("E0120", "expected the parameters' types in '( )', found %s", p.found())
	}
	f.Params = p.typeList()
	if !p.startsWith(">") {
		f.Result = p.typ()
	}
	if !p.take(">") {
		p.close(">", start)
	}
	if p.at(Identifier) && p.tok().Text() == "par" {
		f.Par = true
		p.next()
	}
	f.At = p.from(start)
	return f
}

// typeList reads `(A, B)`.
func (p *parser) typeList() []Type {
	open := p.here()
	p.next()
	p.brackets++
	list := []Type{}
	for p.inList(")") {
		list = append(list, p.typ())
		if !p.accept(",") {
			break
		}
	}
	p.close(")", open)
	p.brackets--
	return list
}

// typeArgs reads `<A, 16>`.
func (p *parser) typeArgs() []Type {
	open := p.here()
	p.take("<")
	var list []Type
	for {
		if p.at(Int) {
			start := p.here()
			x := p.binary(additive)
			list = append(list, &SizeType{p.from(start), x})
		} else {
			list = append(list, p.typ())
		}
		if !p.accept(",") {
			break
		}
	}
	if !p.take(">") {
		p.close(">", open)
	}
	return list
}

// A reader looks ahead over types without building them. shut counts the remaining halves of a
// `>>` of which one half closed a list.
type reader struct {
	toks  []Token
	i     int
	shut  int
	depth int
}

// typeArgsAhead says whether the `<` at the current place opens type arguments: a list of types
// and `>` follow, and then a token that cannot follow `>` in a comparison.
func (p *parser) typeArgsAhead() bool {
	r := &reader{toks: p.toks, i: p.pos}
	if !r.args() || r.shut != 0 {
		return false
	}
	after := &r.toks[r.i]
	if after.isLayout() {
		return true
	}
	switch after.Text() {
	case "(", ")", ".", ",", "]":
		return after.Kind == Op
	}
	return false
}

func (r *reader) is(text string) bool { return r.toks[r.i].is(text) }

// args skips `<A, B>`.
func (r *reader) args() bool {
	r.depth++
	if r.depth > 50 {
		return false
	}
	r.i++
	for {
		ok := false
		if r.toks[r.i].Kind == Int {
			ok = r.size()
		} else {
			ok = r.typ()
		}
		if !ok {
			return false
		}
		if r.shut > 0 {
			break
		}
		if !r.is(",") {
			break
		}
		r.i++
	}
	r.depth--
	return r.closeAngle()
}

// closeAngle skips one `>`, or half of a `>>`.
func (r *reader) closeAngle() bool {
	switch {
	case r.shut > 0:
		r.shut--
		return true
	case r.is(">"):
		r.i++
		return true
	case r.is(">>"):
		r.i++
		r.shut = 1
		return true
	}
	return false
}

func (r *reader) size() bool {
	r.i++
	for r.is("*") || r.is("+") || r.is("-") {
		r.i++
		if k := r.toks[r.i].Kind; k != Int && k != Identifier {
			return false
		}
		r.i++
	}
	return true
}

func (r *reader) typ() bool {
	switch t := &r.toks[r.i]; {
	case t.isName():
		r.i++
		for r.is(".") && r.toks[r.i+1].isWord() {
			r.i += 2
		}
		if r.is("<") && !r.args() {
			return false
		}
	case t.is("("):
		if !r.list() {
			return false
		}
	case t.is("<"):
		r.i++
		if !r.is("(") || !r.list() || !r.typ() || !r.closeAngle() {
			return false
		}
		if r.shut == 0 && r.toks[r.i].Text() == "par" {
			r.i++
		}
	default:
		return false
	}
	for r.shut == 0 && (r.is("@") || r.is("&") || r.is("&&") || r.is("?") || r.is("!")) {
		r.i++
	}
	return true
}

// list skips `(A, B)`.
func (r *reader) list() bool {
	r.depth++
	if r.depth > 50 {
		return false
	}
	r.i++
	for !r.is(")") {
		if !r.typ() || r.shut > 0 {
			return false
		}
		if !r.is(",") {
			break
		}
		r.i++
	}
	if !r.is(")") {
		return false
	}
	r.i++
	r.depth--
	return true
}
