package syntax

import (
	"regexp"
	"strings"

	"interleave/eve/diag"
	"interleave/eve/source"
)

// Forms that programmers write by habit after years of C, Go or Python, and Eve's forms.

// heads of functions and names of types in other languages, with Eve's forms.
var (
	foreignHead = regexp.MustCompile(`^([a-z]+) +(\w+) *\(([^()]*)\) *(?:(?:->|:) *(\w+)|(\w+))? *[:{]?$`)
	foreignType = map[string]string{
		"int": "int", "uint": "uint", "float": "float", "bool": "bool", "char": "char",
		"string": "string", "bytes": "bytes",
		"void": "void", "str": "string", "String": "string", "double": "float", "long": "int",
		"i32": "int<32>", "i64": "int",
		"u8": "uint<8>", "u32": "uint<32>", "u64": "uint", "usize": "int", "f32": "float<32>",
		"f64": "float", "None": "void",
	}
)

// functionHead rewrites a line that starts a function in another language in Eve's form; empty
// when it is none, or when a type in it is not known.
func functionHead(line string) string {
	m := foreignHead.FindStringSubmatch(strings.TrimRight(line, " \r"))
	if m == nil || heads[m[1]] != "function" && foreignType[m[1]] == "" {
		return ""
	}
	result := m[4] + m[5]
	if heads[m[1]] == "" {
		result = m[1]
	}
	if result == "" {
		result = "void"
	}
	if m[2] == "main" {
		return "main: () void:"
	}
	var params []string
	for _, p := range strings.Split(m[3], ",") {
		if strings.TrimSpace(m[3]) == "" {
			break
		}
		param := functionParam(p)
		if param == "" {
			return ""
		}
		params = append(params, param)
	}
	if foreignType[result] == "" {
		return ""
	}
	return m[2] + ": (" + strings.Join(params, ", ") + ") " + foreignType[result] + ":"
}

// functionParam rewrites `int n`, `n int` and `n: int` as the last; empty when it is none of them.
func functionParam(text string) string {
	words := strings.Fields(strings.ReplaceAll(text, ":", " "))
	switch {
	case len(words) != 2:
		return ""
	case foreignType[words[1]] != "":
		return words[0] + ": " + foreignType[words[1]]
	case foreignType[words[0]] != "":
		return words[1] + ": " + foreignType[words[0]]
	}
	return ""
}

// lineOf is the text of the line from a place on, without its comment.
func (p *parser) lineOf(at source.Span) source.Span {
	rest := p.file.Text[at.Start:]
	if i := strings.IndexAny(rest, "#\n"); i >= 0 {
		rest = rest[:i]
	}
	return source.Span{File: p.file, Start: at.Start,
		End: at.Start + len(strings.TrimRight(rest, " \r"))}
}

// fixHead suggests Eve's form of a function's head.
func (p *parser) fixHead(d *diag.Diagnostic) {
	line := p.lineOf(d.Span)
	if text := functionHead(line.Text()); text != "" {
		d.Fix = &diag.Fix{Text: "write " + text, Span: line, New: text}
	}
}

// spoken says whether a brace belongs to the head of a function of another language, whose error
// is reported for the head.
func (p *parser) spoken(d diag.Diagnostic) bool {
	start, _ := p.file.Position(d.Span.Start)
	line := p.file.Line(start)
	return d.Code == "E0112" && d.Span.Text() == "{" &&
		functionHead(strings.TrimSpace(line)) != "" && line == strings.TrimLeft(line, " ")
}

// headOfFunction fails with Eve's form of the head, if the current line is one of another
// language.
func (p *parser) headOfFunction() {
	d := diag.Diagnostic{Code: "E0104", Span: p.here(),
		Message: "a function is written name: (x: int) int:"}
	if p.fixHead(&d); d.Fix != nil && heads[p.tok().Text()] == "" {
		d.Label = "the result's type follows the parameters"
		p.fail(d)
	}
}

// literalType is the type of a literal that is the whole rest of the line; empty for other text.
func (p *parser) literalType(n int) string {
	t := p.peek(n)
	if !p.peek(n + 1).isLayout() {
		return ""
	}
	if t.is("true") || t.is("false") {
		return "bool"
	}
	return map[Kind]string{Int: "int", Float: "float", Char: "char", String: "string",
		FormatString: "string", Duration: "duration"}[t.Kind]
}

// fixVariable suggests `x: int = 1` for a line that declares x without a type, from at on; assign
// is how many tokens ahead its `=` is.
func (p *parser) fixVariable(d *diag.Diagnostic, at source.Span, name string, assign int) {
	if a := p.peek(assign); a.is("=") || a.is(":=") {
		if t := p.literalType(assign + 1); t != "" {
			text := name + ": " + t + " ="
			d.Fix = &diag.Fix{Text: "write " + text, Span: at.To(a.Span), New: text}
		}
	}
}

// bareCall reports `print "x"`.
func (p *parser) bareCall() {
	t := p.tok()
	if p.pos == 0 || t.Kind != String && t.Kind != FormatString && t.Kind != Int {
		return
	}
	name := &p.toks[p.pos-1]
	if name.Kind != Identifier {
		return
	}
	if with := words[name.Text()]; with != "" && p.pos > 1 && p.toks[p.pos-2].isLayout() {
		p.fail(diag.Diagnostic{
			Code: "E0104", Span: name.Span, Message: "Eve's word for '" + name.Text() + "' is '" +
				with + "'",
			Fix: &diag.Fix{Text: "write " + with, Span: name.Span, New: with},
		})
	}
	args := p.lineOf(t.Span)
	gap := source.Span{File: p.file, Start: name.Span.End, End: args.End}
	d := diag.Diagnostic{Code: "E0117", Span: t.Span,
		Message: "the arguments of a call need parentheses"}
	if p.brackets == 0 {
		d.Fix = &diag.Fix{Text: "write " + name.Text() + "(" + args.Text() + ")", Span: gap,
			New: "(" + args.Text() + ")"}
	}
	p.fail(d)
}

// tallLambda reports the second statement of a lambda in brackets.
func (p *parser) tallLambda(open source.Span) {
	if !p.tall.IsValid() || p.tall.Start < open.Start || p.tok().isLayout() ||
		p.here().Line() == p.last.Line() {
		return
	}
	p.fail(diag.Diagnostic{
		Code: "E0106", Span: p.here(), Message: "a lambda in brackets is one statement",
		Label: "a longer lambda goes below its call, which ends in ':', as name = (x: T) U:",
		Also:  []diag.Label{{Span: p.tall, Text: "it begins here"}},
	})
}

// behindOperand reports operators of other languages behind a whole operand: `c ? a : b`, `x!`, `a
// is b`, `a not in b`, and strings in three quotes.
func (p *parser) behindOperand() {
	t := p.tok()
	d := diag.Diagnostic{Code: "E0117", Span: p.here()}
	switch {
	case p.last.Text() == "?" && !t.isLayout() && !t.is(")"):
		d.Span, d.Message = p.last, "Eve has no '? :'; an 'if' statement chooses"
		d.Label = "if c: x = a, and below it else: x = b"
	case t.is("!") && t.Lead == "":
		d.Message = "the value of an option is taken with else, ? or match"
		d.Label = "x else 0 is x, or 0 if there is none"
	case t.Kind == Identifier && t.Text() == "is":
		with, until := "==", t.Span
		if p.peek(1).Text() == "not" {
			with, until = "!=", p.peek(1).Span
		}
		d.Span = t.Span.To(until)
		d.Message = "'" + d.Span.Text() + "' is written '" + with + "'"
		d.Fix = &diag.Fix{Text: "write " + with, Span: d.Span, New: with}
	case t.Kind == Identifier && t.Text() == "not" && p.peek(1).is("in"):
		d.Span = t.Span.To(p.peek(1).Span)
		d.Message, d.Label = "Eve has no 'not in'", containsIn
	case t.Kind == String && p.last.Text() == `""` && t.Lead == "":
		d.Message, d.Label = "Eve has no strings in three quotes",
			`a string ends in its line: \n is a line end`
	default:
		return
	}
	p.fail(d)
}

const containsIn = "v.contains(x) says whether a vector has x, m.has(x) whether a map or set has"

// doubled explains a missing operand behind an operator that other languages write longer: `===`,
// `!==`, `<>`, and signs in front.
func (p *parser) doubled(d *diag.Diagnostic) {
	t := p.tok()
	replace := func(from source.Span, with string) {
		d.Code, d.Span = "E0117", from.To(t.Span)
		d.Message = "'" + d.Span.Text() + "' is written '" + with + "'"
		d.Fix = &diag.Fix{Text: "write " + with, Span: d.Span, New: with}
	}
	switch last := p.last.Text(); {
	case t.Lead != "":
	case t.is("=") && (last == "==" || last == "!="):
		replace(p.last, last)
	case t.is(">") && last == "<":
		replace(p.last, "!=")
	}
	if next := p.peek(1); t.is("+") && p.startsLine() && next.is("+") && next.Lead == "" &&
		p.peek(2).isName() && p.peek(3).isLayout() {
		line := t.Span.To(p.peek(2).Span)
		text := p.peek(2).Text() + " += 1"
		d.Code, d.Message, d.Span = "E0117", "'++' is written '+= 1'", t.Span.To(next.Span)
		d.Fix = &diag.Fix{Text: "write " + text, Span: line, New: text}
	}
}

// rangeOf reports v[1:3], v[:3], v[1:] and v[..3]; x is the container.
func (p *parser) rangeOf(x Expr, first bool) {
	t := p.tok()
	if !t.is(":") && !(first && t.is("..")) {
		return
	}
	d := diag.Diagnostic{Code: "E0113", Span: t.Span, Message: "a range is written from..end"}
	text := ".."
	if first {
		text = "0.."
	}
	if p.peek(1).is("]") {
		if text += x.Place().Text() + ".size()"; path(x) == nil {
			text = "" // two calls may have an effect twice
		}
	}
	if text != "" {
		d.Fix = &diag.Fix{Text: "write " + text, Span: t.Span, New: text}
	}
	p.fail(d)
}

// blockWords start blocks in other languages.
var blockWords = map[string]string{
	"loop": forever, "forever": forever,
	"do": "a loop tests its condition before its first turn: while c:",
}

const forever = "a loop must end: let a timer or an event repeat the work"

// handlers of exceptions in other languages.
var handlers = map[string]bool{"except": true, "catch": true, "finally": true, "rescue": true}

// exceptions reads `try:` and the handlers below it. It explains once what Eve has instead.
func (p *parser) exceptions(start source.Span) Stmt {
	p.report(diag.Diagnostic{
		Code: "E0117", Span: start,
		Message: "Eve has no exceptions: a function that may fail returns T!",
		Label:   "f()? passes its error on, match or else takes it apart",
	})
	p.next()
	p.suite("'try'")
	for p.at(Newline) && handlers[p.peek(1).Text()] || p.isBlockEnd() && handlers[p.tok().Text()] {
		if p.at(Newline) {
			p.next()
		}
		p.skipToSuite()
		p.suite("the handler")
	}
	return &BadStmt{p.from(start)}
}

// rangeCall matches `range(n)` of Python.
var rangeCall = regexp.MustCompile(`\brange\(([^(),]+)(?:, *([^(),]+))?\)`)

// withRanges rewrites the ranges of a loop's head in Eve's form.
func withRanges(head string) string {
	return rangeCall.ReplaceAllStringFunc(head, func(call string) string {
		m := rangeCall.FindStringSubmatch(call)
		if m[2] == "" {
			return "0.." + m[1]
		}
		return m[1] + ".." + m[2]
	})
}
