package syntax

import (
	"fmt"
	"strings"

	"interleave/eve/diag"
	"interleave/eve/source"
)

// Answers to the forms of other languages, with Eve's way to write them.

// missingHead reports `name(params) type:` in place of `name: (params) type:`.
func (p *parser) missingHead(name *Token) {
	i := p.pos + 1
	close := p.matching(i)
	if close < 0 || p.toks[close+1].isLayout() {
		return
	}
	at := source.Span{File: p.file, Start: name.Span.End, End: p.toks[i].Span.Start}
	p.fail(diag.Diagnostic{
		Code: "E0104", Span: name.Span,
		Message: "a ':' separates the name of a function from its parameters",
		Fix:     &diag.Fix{Text: "write " + name.Text() + ": (", Span: at, New: ": "},
	})
}

// words maps words of other languages to Eve's.
var words = map[string]string{
	"class": "type", "struct": "type", "interface": "type", "trait": "type", "enum": "union",
	"throw": "fail", "raise": "fail", "public": "pub", "export": "pub", "using": "import",
	"include": "import", "use": "import",
	"final": "const",
}

// phrases explain how Eve writes constructs that start with a word of another language.
var phrases = map[string]string{
	"await":  "an awaited call is written x <- f(), in a line of its own",
	"async":  "a waiting function needs no mark: x <- f() continues with the rest of its block",
	"go":     "a task is written @ [list]: f()",
	"spawn":  "a task is written @ [list]: f()",
	"lambda": "a lambda is written (x: int) int: x + 1",
	"from":   "all names of a module are imported by import a.b.*",
}

// typeWords are types that newcomers try first.
var typeWords = map[string]bool{
	"int": true, "uint": true, "float": true, "bool": true, "char": true, "string": true,
	"bytes": true, "duration": true,
}

// wordPair reads `int x` and `x int`, which it reports, as a name and its type. It returns nil if
// there is neither.
func (p *parser) wordPair(code diag.Code, what string) (*Name, Type) {
	first, second := *p.tok(), *p.peek(1)
	if first.Kind != Identifier || second.Kind != Identifier {
		return nil, nil
	}
	d := diag.Diagnostic{Code: code, Span: first.Span.To(second.Span)}
	if typeWords[first.Text()] || !typeWords[second.Text()] && p.peek(2).is("=") &&
		p.foreignWord(first.Text()) == "" {
		d.Message = "the name of " + what + " stands before its type"
		text := second.Text() + ": " + first.Text()
		d.Fix = &diag.Fix{Text: "write " + text, Span: d.Span, New: text}
		p.report(d)
		t := &NamedType{At: At{first.Span}, Path: []*Name{{At{first.Span}, first.Text()}}}
		p.next()
		return p.word(), t
	}
	if !typeWords[second.Text()] || p.foreignWord(first.Text()) != "" {
		return nil, nil
	}
	d.Message = "a ':' belongs between the name of " + what + " and its type"
	at := source.Span{File: p.file, Start: first.Span.End, End: first.Span.End}
	d.Fix = &diag.Fix{Text: "write ':'", Span: at, New: ":"}
	p.report(d)
	name := p.word()
	return name, p.typ()
}

// pairDecl reads a variable whose head is `int x` or `x int`; nil if there is none.
func (p *parser) pairDecl(start source.Span, pub bool) *VarDecl {
	name, t := p.wordPair("E0104", "a variable")
	if name == nil {
		return nil
	}
	v := &VarDecl{Pub: pub, Names: []*Name{name}, Type: t}
	if p.accept("=") {
		v.Init = p.initialiser()
	}
	v.At = p.from(start)
	return v
}

// foreignWord returns Eve's word, or an explanation, for a word of another language; empty if it
// is none.
func (p *parser) foreignWord(word string) string {
	for _, s := range []string{words[word], phrases[word], heads[word], typo(word)} {
		if s != "" {
			return s
		}
	}
	return ""
}

// heads are the words with which other languages start functions and variables, and the kind of
// each.
var heads = map[string]string{
	"def": "function", "fn": "function", "func": "function", "fun": "function",
	"function": "function",
	"proc":     "function", "sub": "function",
	"let": "variable", "var": "variable", "mut": "variable", "val": "variable", "auto": "variable",
}

// foreign fails with advice if the line starts, with two words, as in another language.
func (p *parser) foreign(first, second *Token) {
	word, name := first.Text(), second.Text()
	d := diag.Diagnostic{Code: "E0104", Span: first.Span}
	switch {
	case heads[word] == "function":
		d.Message = fmt.Sprintf("a function is written %s: (x: int) int:", name)
		d.Label = "there is no word before its name"
		p.fixHead(&d)
	case heads[word] == "variable":
		d.Message = fmt.Sprintf("a variable is written %s: int = 1", name)
		d.Label = "there is no word before its name"
		if p.peek(2).is(":") {
			gap := source.Span{File: p.file, Start: first.Span.Start, End: second.Span.Start}
			d.Fix = &diag.Fix{Text: "leave out '" + word + "'", Span: gap}
		}
		p.fixVariable(&d, first.Span, name, 2)
	case phrases[word] != "":
		d.Code, d.Message = "E0117", phrases[word]
	default:
		with := words[word]
		if with == "" {
			with = typo(word)
		}
		if with == "" {
			return
		}
		d.Message = fmt.Sprintf("Eve's word for '%s' is '%s'", word, with)
		d.Fix = &diag.Fix{Text: "write " + with, Span: first.Span, New: with}
	}
	if typo(word) != "" && words[word] == "" && phrases[word] == "" {
		d.Message = fmt.Sprintf("'%s' is not a word of Eve; perhaps '%s' is meant", word,
			typo(word))
	}
	p.fail(d)
}

// foreignMatch reports `switch` and says that its arms can be read as those of `match`.
func (p *parser) foreignMatch(t *Token) bool {
	if t.Text() != "switch" {
		return false
	}
	d := diag.Diagnostic{Code: "E0104", Span: t.Span, Message: "Eve's word for 'switch' is 'match'"}
	d.Fix = &diag.Fix{Text: "write match", Span: t.Span, New: "match"}
	p.report(d)
	return true
}

// foreignArm skips `case` of other languages, which it reports.
func (p *parser) foreignArm() {
	t, after := p.tok(), p.peek(1)
	d := diag.Diagnostic{Code: "E0104", Span: t.Span,
		Message: "an arm starts with a pattern"}
	if t.Text() != "case" || t.Kind != Identifier || after.is(":") || after.is("(") ||
		after.is(".") {
		return
	}
	gap := source.Span{File: p.file, Start: t.Span.Start, End: after.Span.Start}
	d.Fix = &diag.Fix{Text: "leave out 'case'", Span: gap}
	p.report(d)
	p.next()
}

// typo returns the statement keyword that word misspells: two letters swapped, one missing or one
// too many. It is empty when there is none.
func typo(word string) string {
	for _, k := range []string{"return", "while", "finish", "import", "match", "const", "assert",
		"defer", "union", "type"} {
		if isSlip(word, k) {
			return k
		}
	}
	return ""
}

func isSlip(word, of string) bool {
	i := 0
	for i < len(word) && i < len(of) && word[i] == of[i] {
		i++
	}
	a, b := word[i:], of[i:]
	switch len(a) - len(b) {
	case 0:
		return len(a) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]
	case 1:
		return a[1:] == b
	case -1:
		return a == b[1:]
	}
	return false
}

// foreignOperator explains `and`, `or`, `not` as operators; false if there is none of these.
func (p *parser) foreignOperator() (diag.Diagnostic, bool) {
	t := p.tok()
	word, with := t.Span, map[string]string{"and": "&&", "or": "||"}[t.Text()]
	if with == "" && p.last.Text() == "not" && !t.isLayout() {
		word, with = source.Span{File: p.file, Start: p.last.Start, End: t.Span.Start}, "!"
	}
	d := diag.Diagnostic{Code: "E0117", Span: t.Span}
	if with == "!" {
		d.Span = p.last
	}
	d.Message = fmt.Sprintf("'%s' is written '%s'", d.Span.Text(), with)
	d.Fix = &diag.Fix{Text: "write " + with, Span: word, New: with}
	return d, with != ""
}

// then takes `then` and `do` for a colon, which it reports.
func (p *parser) then(what string) bool {
	t := p.tok()
	if t.Kind != Identifier || t.Text() != "then" && t.Text() != "do" {
		return false
	}
	gap := source.Span{File: p.file, Start: p.last.End, End: t.Span.End}
	if p.peek(1).is(":") {
		gap.End = p.peek(1).Span.End
	}
	p.report(diag.Diagnostic{
		Code: "E0104", Span: t.Span, Message: fmt.Sprintf("a ':' belongs behind %s, not '%s'", what,
			t.Text()),
		Fix: &diag.Fix{Text: "write ':'", Span: gap, New: ":"},
	})
	p.next()
	p.accept(":")
	return true
}

// colonArg reports f(name: value).
func (p *parser) colonArg(name *Ident) {
	gap := source.Span{File: p.file, Start: name.Span.End, End: p.tok().Span.End}
	p.fail(diag.Diagnostic{
		Code: "E0114", Span: p.here(), Message: "a named argument is written with '=': f(" +
			name.Name + " = 1)",
		Fix: &diag.Fix{Text: "write " + name.Name + " =", Span: gap, New: " ="},
	})
}

// bracketType reports int[] and vector[int], whose brackets come next.
func (p *parser) bracketType(t Type) {
	n, ok := t.(*NamedType)
	end := p.matching(p.pos)
	if !ok || end < 0 || len(n.Path) > 1 {
		return
	}
	brackets := source.Span{File: p.file, Start: p.here().Start, End: p.toks[end].Span.End}
	inside := p.file.Text[brackets.Start+1 : brackets.End-1]
	d := diag.Diagnostic{Code: "E0120", Span: brackets}
	switch name := n.Path[0].Text; {
	case name == "vector", name == "map", name == "set", name == "array", name == "slice":
		d.Message = "the arguments of a type need '< >'"
		d.Fix = &diag.Fix{Text: "write <" + inside + ">", Span: brackets, New: "<" + inside + ">"}
	case end == p.pos+1:
		d.Span = n.Span.To(brackets)
		d.Message = "a list's type is written vector<" + name + ">"
		d.Fix = &diag.Fix{Text: "write vector<" + name + ">", Span: d.Span, New: "vector<" + name +
			">"}
	case p.peek(1).Kind == Int && end == p.pos+2:
		d.Span = n.Span.To(brackets)
		d.Message = "an array's type is written array<" + name + ", " + inside + ">"
		d.Fix = &diag.Fix{Text: "write array<" + name + ", " + inside + ">", Span: d.Span,
			New: "array<" + name + ", " + inside + ">"}
	default:
		return
	}
	p.fail(d)
}

// elif takes `elif c:` for `else if c:`, which it reports.
func (p *parser) elif() bool {
	t := p.tok()
	below := p.inline == 0 && p.at(Newline)
	if below {
		t = p.peek(1)
	}
	if t.Kind != Identifier || !below && !p.isBlockEnd() {
		return false
	}
	switch t.Text() {
	case "elif", "elsif", "elseif":
		d := diag.Diagnostic{Code: "E0117", Span: t.Span, Message: "'" + t.Text() +
			"' is written 'else if'"}
		d.Fix = &diag.Fix{Text: "write else if", Span: t.Span, New: "else if"}
		p.report(d)
		return true
	}
	return false
}

const choice = "'if' is a statement: assign the chosen value inside it"

// trailing reports text behind a whole statement.
func (p *parser) trailing() {
	if d, ok := p.foreignOperator(); ok {
		p.fail(d)
	}
	p.behindOperand()
	p.bareCall()
	t := p.tok()
	d := diag.Diagnostic{Code: "E0117", Span: p.here(),
		Message: "expected the end of the line, found " + p.found()}
	switch p.last.Text() {
	case "await", "lambda":
		d.Span, d.Message = p.last, phrases[p.last.Text()]
		p.fail(d)
	case "new":
		gap := source.Span{File: p.file, Start: p.last.Start, End: t.Span.Start}
		d.Span, d.Message = p.last, "a value is made by its type's name: account(5)"
		d.Fix = &diag.Fix{Text: "leave out 'new'", Span: gap}
		p.fail(d)
	}
	replace := func(with string) {
		if t.Lead == "" {
			with = " " + with
		}
		d.Fix = &diag.Fix{Text: "write " + strings.TrimSpace(with), Span: t.Span, New: with}
	}
	switch t.Text() {
	case ")", "]":
		d.Code, d.Message = "E0107", "this '"+t.Text()+"' closes nothing"
		d.Fix = &diag.Fix{Text: "leave it out", Span: t.Span}
	case "if":
		d.Message = choice
	case "++":
		replace("+= 1")
	case "--":
		replace("-= 1")
	case ";":
		d.Label = "a statement ends with its line"
		if p.peek(1).isLayout() {
			d.Fix = &diag.Fix{Text: "leave it out", Span: t.Span}
		}
	case ",":
		d.Label = "a line has one declaration; a, b: int declares two of one type"
	case ":=":
		d.Label = "a declaration says its type: x: int = 1"
		if p.pos > 1 && p.toks[p.pos-2].isLayout() && p.toks[p.pos-1].Kind == Identifier {
			p.fixVariable(&d, p.last, p.last.Text(), 0)
		}
	case "->", "=>":
		d.Label = phrases["lambda"]
	case ":":
		if p.peek(1).Kind == Newline && p.peek(2).Kind == Indent {
			d.Label = "a block belongs to a function, if, else, while, for, match, finish, on or @"
			if word := blockWords[p.last.Text()]; word != "" {
				d.Span, d.Message, d.Label = p.last, word, ""
			}
		}
	}
	p.fail(d)
}
