package syntax

import (
	"fmt"
	"strings"

	"interleave/eve/diag"
	"interleave/eve/source"
)

// What people write who come from another language is answered with Eve's way to write it.

// missingHead fails if `name(params) type:` stands where `name: (params) type:` belongs.
func (p *parser) missingHead(name *Token) {
	i := p.pos + 1
	close := p.matching(i)
	if close < 0 || p.toks[close+1].isLayout() {
		return
	}
	at := source.Span{File: p.file, Start: name.Span.End, End: p.toks[i].Span.Start}
	p.fail(diag.Diagnostic{
		Code: "E0104", Span: name.Span, Message: "a ':' stands between the name of a function and its parameters",
		Fix: &diag.Fix{Text: "write " + name.Text() + ": (", Span: at, New: ": "},
	})
}

// words of other languages, and Eve's.
var words = map[string]string{
	"class": "type", "struct": "type", "interface": "type", "trait": "type", "enum": "union",
	"throw": "fail", "raise": "fail", "using": "import", "include": "import", "use": "import",
	"final": "const",
}

// typeWords are the types that everybody tries first.
var typeWords = map[string]bool{
	"int": true, "uint": true, "float": true, "bool": true, "char": true, "string": true, "bytes": true, "duration": true,
}

// foreign fails with advice if the line starts, with two words, as in another language.
func (p *parser) foreign(first, second *Token) {
	word, name := first.Text(), second.Text()
	d := diag.Diagnostic{Code: "E0104", Span: first.Span}
	switch word {
	case "def", "fn", "func", "fun", "function", "proc", "sub":
		d.Message = fmt.Sprintf("a function is written %s: (x: int) int:", name)
		d.Label = "there is no word before its name"
	case "let", "var", "mut", "val", "auto":
		d.Message = fmt.Sprintf("a variable is written %s: int = 1", name)
		d.Label = "there is no word before its name"
	default:
		with := words[word]
		if with == "" {
			with = typo(word)
		}
		if with != "" {
			d.Message = fmt.Sprintf("Eve's word for '%s' is '%s'", word, with)
			d.Fix = &diag.Fix{Text: "write " + with, Span: first.Span, New: with}
			break
		}
		if after := p.peek(2); !after.is("=") && !typeWords[word] {
			return
		}
		d.Span = first.Span.To(second.Span)
		d.Message = "the name of a variable stands before its type"
		text := name + ": " + word
		d.Fix = &diag.Fix{Text: "write " + text, Span: d.Span, New: text}
	}
	if typo(word) != "" && words[word] == "" {
		d.Message = fmt.Sprintf("'%s' is no word of Eve; perhaps '%s' is meant", word, typo(word))
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

// typo gives the statement keyword of which word is a slip: two letters in the wrong order, one missing or
// one too many. It is empty when there is none.
func typo(word string) string {
	for _, k := range []string{"return", "while", "finish", "import", "match", "const", "assert", "defer", "union", "type"} {
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

// foreignOperator gives what is wrong when `and`, `or`, `not` are used as operators; false if they are not.
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

// elif takes `elif c:` for `else if c:`, which it reports.
func (p *parser) elif() bool {
	t := p.tok()
	if t.Kind != Identifier || !p.isBlockEnd() {
		return false
	}
	switch t.Text() {
	case "elif", "elsif", "elseif":
		d := diag.Diagnostic{Code: "E0117", Span: t.Span, Message: "'" + t.Text() + "' is written 'else if'"}
		d.Fix = &diag.Fix{Text: "write else if", Span: t.Span, New: "else if"}
		p.report(d)
		return true
	}
	return false
}

// trailing fails because something stands behind a whole statement.
func (p *parser) trailing() {
	if d, ok := p.foreignOperator(); ok {
		p.fail(d)
	}
	t := p.tok()
	d := diag.Diagnostic{Code: "E0117", Span: p.here(), Message: "expected the end of the line, found " + p.found()}
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
	case "++":
		replace("+= 1")
	case "--":
		replace("-= 1")
	case ";":
		d.Label = "a statement ends with its line"
		if p.peek(1).isLayout() {
			d.Fix = &diag.Fix{Text: "leave it out", Span: t.Span}
		}
	case ":=":
		d.Label = "a declaration says its type: x: int = 1"
	case "->", "=>":
		d.Label = "Eve has no '" + t.Text() + "'"
	}
	p.fail(d)
}
