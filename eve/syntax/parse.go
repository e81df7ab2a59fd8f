package syntax

import (
	"fmt"

	"interleave/eve/diag"
	"interleave/eve/source"
)

// maxDepth bounds the nesting of brackets, operators, types and blocks. 200 is far above readable
// nesting and far below the recursion that any pass can bear.
const maxDepth = 200

// soft keywords are names wherever their statement or clause cannot be.
var soft = map[string]bool{"test": true, "extern": true, "within": true, "as": true, "emit": true,
	"union": true}

// Parse reads a file. The tree is always complete: a part that could not be parsed is a BadStmt or
// BadExpr, or missing, and diags has the reason, with one error for one line.
func Parse(f *source.File, diags *diag.List) *File {
	p := &parser{file: f, diags: diags, lines: map[int]bool{}}
	var found diag.List
	p.toks = layout(f, scan(f, 0, len(f.Text), &found), &found)
	for _, d := range found.Sorted() {
		if !p.spoken(d) {
			p.report(d)
		}
	}
	file := &File{Source: f}
	p.module(file)
	file.At = At{source.Span{File: f, Start: 0, End: len(f.Text)}}
	file.Tokens = p.tokens()
	return file
}

// A parser reads the tokens of one file, or of one expression inside a format string.
type parser struct {
	file   *source.File
	diags  *diag.List
	toks   []Token
	pos    int
	halves []half       // of tokens cut in two, in order
	last   source.Span  // of the last token read, layout tokens not counted
	lines  map[int]bool // that have an error
	format bool         // the text is an expression of a format string
	hush   bool         // the line before was broken as well: the head of this one is not reported
	mute   bool         // the nesting is too deep: nothing more is reported
	tall   source.Span  // the colon of the last lambda in brackets whose body is below it
	context
}

// A context is the state that a recovery restores.
type context struct {
	depth    int
	brackets int  // open brackets: no line ends inside
	inline   int  // number of suites on the line of their head
	index    rule // on [ behind an expression
}

// A rule says whether [ behind an expression indexes it.
type rule uint8

const (
	always    rule = iota
	notOfCall      // `x <- f() [a]`: a list
	never          // `within d [a]`: a list
)

// bail is the panic of a parse method after it reported an error; a recovery point catches it.
type bail struct{}

// guard runs parse and says whether it succeeded. After an error the parser is at the place of the
// error.
func (p *parser) guard(parse func()) (ok bool) {
	saved := p.context
	defer func() {
		if r := recover(); r != nil {
			if _, is := r.(bail); !is {
				panic(r)
			}
			p.context = saved
			ok = false
		}
	}()
	parse()
	return true
}

// report records d unless its line has an error already.
func (p *parser) report(d diag.Diagnostic) {
	if line := d.Span.Line(); !p.mute && !p.lines[line] {
		p.lines[line] = true
		p.diags.Add(d)
	}
}

// fail reports d and gives up to the next recovery point.
func (p *parser) fail(d diag.Diagnostic) {
	if p.tok().Kind != Bad && !p.hush {
		p.report(d)
	}
	panic(bail{})
}

// failf is fail at the current token with only a message.
func (p *parser) failf(code diag.Code, format string, args ...any) {
	p.fail(diag.Diagnostic{Code: code, Span: p.here(), Message: fmt.Sprintf(format, args...)})
}

// enter counts a level of nesting; leave ends it.
func (p *parser) enter() {
	p.depth++
	if p.depth > maxDepth {
		p.tooDeep()
		panic(bail{})
	}
}

func (p *parser) leave() { p.depth-- }

func (p *parser) tooDeep() {
	d := diag.Diagnostic{Code: "E0118", Span: p.here(), Message: "this is nested too deep"}
	d.Label = fmt.Sprintf("inside %d others", maxDepth)
	p.report(d)
	p.mute = true
}

func (p *parser) tok() *Token { return &p.toks[p.pos] }

// peek returns the token n places ahead.
func (p *parser) peek(n int) *Token {
	return &p.toks[min(p.pos+n, len(p.toks)-1)]
}

// next reads one token. It stays at the end of the file.
func (p *parser) next() Token {
	t := *p.tok()
	if t.Kind != EOF {
		p.pos++
	}
	if !t.isLayout() {
		p.last = t.Span
	}
	return t
}

func (t *Token) isLayout() bool {
	return t.Kind == Newline || t.Kind == Indent || t.Kind == Dedent || t.Kind == EOF
}

// is says whether t is the operator, bracket or keyword text.
func (t *Token) is(text string) bool {
	return (t.Kind == Op || t.Kind == Keyword) && t.Text() == text
}

// isName says whether t can be a name.
func (t *Token) isName() bool {
	return t.Kind == Identifier || t.Kind == Keyword && soft[t.Text()]
}

// isWord says whether t is a name or a keyword.
func (t *Token) isWord() bool { return t.Kind == Identifier || t.Kind == Keyword }

func (p *parser) at(kind Kind) bool { return p.tok().Kind == kind }

func (p *parser) is(text string) bool { return p.tok().is(text) }

func (p *parser) accept(text string) bool {
	if !p.is(text) {
		return false
	}
	p.next()
	return true
}

// here is the span of the current token; at the end of a line or of the file, the place behind it.
func (p *parser) here() source.Span {
	t := p.tok()
	if t.Kind == EOF && p.last.IsValid() {
		return source.Span{File: p.file, Start: p.last.End, End: p.last.End}
	}
	return t.Span
}

// behind is the place behind the last token.
func (p *parser) behind() source.Span {
	return source.Span{File: p.file, Start: p.last.End, End: p.last.End}
}

// from is the span from start to the last token.
func (p *parser) from(start source.Span) At { return At{start.To(p.last)} }

// found describes the current token.
func (p *parser) found() string {
	switch t := p.tok(); t.Kind {
	case EOF:
		if p.format {
			return "'}'"
		}
		return "the end of the file"
	case Newline, Dedent:
		return "the end of the line"
	case Indent:
		return "a deeper indentation"
	case String, FormatString:
		return "a string"
	case Keyword:
		return "the keyword '" + t.Text() + "'"
	default:
		return "'" + t.Text() + "'"
	}
}

// expect reads text, which must follow what.
func (p *parser) expect(text, what string) {
	if p.accept(text) {
		return
	}
	d := diag.Diagnostic{Code: "E0114", Span: p.here(),
		Message: fmt.Sprintf("expected '%s' %s, found %s", text, what, p.found())}
	if p.tok().isLayout() {
		d.Fix = p.insertion(text)
	}
	p.fail(d)
}

// insertion adds a missing text behind the last token.
func (p *parser) insertion(text string) *diag.Fix {
	return &diag.Fix{Text: "write '" + text + "' here", Span: p.behind(), New: text}
}

// close reads the bracket that closes the one at open.
func (p *parser) close(text string, open source.Span) {
	if p.accept(text) {
		return
	}
	p.tallLambda(open)
	p.behindOperand()
	p.bareCall()
	d := diag.Diagnostic{Code: "E0106", Span: open, Message: fmt.Sprintf("this '%s' is not closed",
		open.Text())}
	switch {
	case p.last.Text() == "lambda" || p.is("=>") || p.is("->") || p.last.Text() == ")" &&
		p.at(Identifier) && p.lambdaHead():
		d.Code, d.Span, d.Message = "E0117", p.last.To(p.here()), phrases["lambda"]
	case p.tok().isLayout(), p.is(":") && p.peek(1).isLayout():
		if p.last != open && p.last.Text() != "," {
			d.Fix = &diag.Fix{Text: "close it with '" + text + "'", Span: p.behind(), New: text}
		}
		if p.last.Line() != open.Line() {
			d.Also = []diag.Label{{Span: p.last, Text: "the bracket must be closed before this"}}
		}
	case text != ">" && !p.closesLater(text):
		d.Also = []diag.Label{{Span: p.here(), Text: fmt.Sprintf("expected ',' or '%s' here",
			text)}}
	default:
		d.Span, d.Message = p.here(), fmt.Sprintf("expected ',' or '%s', found %s", text, p.found())
		d.Also = []diag.Label{{Span: open, Text: "to close this"}}
		if _, literal := literals[p.tok().Kind]; literal || p.at(Identifier) {
			d.Fix = p.insertion(",")
		}
	}
	p.fail(d)
}

// closesLater says whether the innermost open bracket is closed further on in its line.
func (p *parser) closesLater(text string) bool {
	depth := 0
	for i := p.pos; !p.toks[i].isLayout(); i++ {
		switch t := &p.toks[i]; {
		case t.is("("), t.is("["):
			depth++
		case depth > 0 && (t.is(")") || t.is("]")):
			depth--
		case t.is(text):
			return true
		}
	}
	return false
}

// A half is the first byte of a token that was cut in two. The token at its place is the rest.
type half struct {
	place int
	token Token
}

// split reads only the first byte of the current token: the `>>` of vector<vector<int>> closes two
// lists.
func (p *parser) split() Token {
	t := p.tok()
	first := *t
	first.Span.End = t.Span.Start + 1
	t.Span.Start = first.Span.End
	t.Lead = ""
	p.halves = append(p.halves, half{p.pos, first})
	p.last = first.Span
	return first
}

// tokens returns all tokens, with those that were cut in two as two.
func (p *parser) tokens() []Token {
	if len(p.halves) == 0 {
		return p.toks
	}
	all := make([]Token, 0, len(p.toks)+len(p.halves))
	from := 0
	for _, h := range p.halves {
		all = append(append(all, p.toks[from:h.place]...), h.token)
		from = h.place
	}
	return append(all, p.toks[from:]...)
}

// startsWith says whether the current operator is text or can be split so that it is.
func (p *parser) startsWith(text string) bool {
	t := p.tok()
	if t.Kind != Op || t.Text()[:1] != text {
		return false
	}
	rest := t.Text()[1:]
	return rest == "" || rest == "=" || rest == text || rest == text+"="
}

// take reads text if the current token starts with it.
func (p *parser) take(text string) bool {
	if !p.startsWith(text) {
		return false
	}
	if len(p.tok().Text()) > 1 {
		p.split()
	} else {
		p.next()
	}
	return true
}

// name reads a name; what says of what.
func (p *parser) name(what string) *Name {
	t := p.tok()
	if t.isName() {
		return p.word()
	}
	d := diag.Diagnostic{Code: "E0114", Span: p.here(),
		Message: fmt.Sprintf("expected the name of %s, found %s", what, p.found())}
	if t.Kind == Keyword {
		d.Code, d.Message = "E0115", fmt.Sprintf("'%s' is a keyword and cannot be the name of %s",
			t.Text(), what)
		d.Fix = &diag.Fix{Text: "call it " + t.Text() + "_", Span: t.Span, New: t.Text() + "_"}
	}
	p.fail(d)
	return nil
}

// word reads the current token as a name, whatever word it is.
func (p *parser) word() *Name {
	p.tok().Kind = Identifier
	t := p.next()
	return &Name{At{t.Span}, t.Text()}
}

// anyWord reads a name that may be a keyword, where only a name is possible: behind a dot, as an
// event.
func (p *parser) anyWord(what string) *Name {
	if p.tok().Kind == Keyword {
		return p.word()
	}
	return p.name(what)
}

// isBlockEnd says that the last token ended a block, and with it the line.
func (p *parser) isBlockEnd() bool { return p.pos > 0 && p.toks[p.pos-1].Kind == Dedent }

// endLine reads the end of a line. Text before it is one error and is skipped.
func (p *parser) endLine() {
	if p.isBlockEnd() || p.at(Dedent) || p.at(EOF) {
		return
	}
	if !p.at(Newline) {
		p.guard(p.trailing)
		p.skipLine()
	}
	if p.at(Newline) {
		p.next()
	}
}

// skipLine skips the rest of a broken line and the block behind it, whose contents are unknown. If
// there is no block it stays before the Newline.
func (p *parser) skipLine() {
	if p.isBlockEnd() && p.startsLine() {
		return
	}
	p.skipToNewline()
	if p.at(Newline) && p.peek(1).Kind == Indent {
		p.next()
		p.skipBlock()
	}
}

// startsLine says that the current token is the first of its line.
func (p *parser) startsLine() bool { return p.pos == 0 || p.toks[p.pos-1].isLayout() }

func (p *parser) skipToNewline() {
	for !p.at(Newline) && !p.at(Dedent) && !p.at(EOF) {
		if p.at(Indent) {
			p.skipBlock()
			return
		}
		p.next()
	}
}

// skipBlock skips a block.
func (p *parser) skipBlock() {
	for depth := 0; !p.at(EOF); {
		switch p.next().Kind {
		case Indent:
			depth++
		case Dedent:
			depth--
		}
		if depth == 0 {
			return
		}
	}
}
