package syntax

import (
	"strings"
	"unicode/utf8"

	"interleave/eve/diag"
	"interleave/eve/source"
)

// bad reads text that is no token: one character, a text in typographic quotes, or a run of bytes
// that are not UTF-8.
func (s *scanner) bad() (Kind, string) {
	start := s.pos
	r, n := utf8.DecodeRuneInString(s.text[s.pos:])
	s.pos += n
	switch {
	case r == utf8.RuneError && n == 1:
		for s.pos < s.end && !utf8.RuneStart(s.text[s.pos]) {
			s.pos++
		}
		s.diags.Errorf("E0112", s.span(start, s.pos), "this is not UTF-8")
	case r == '{', r == '}':
		s.brace(start, r)
	case strings.ContainsRune("“„”", r) && strings.ContainsRune(s.line(), '”'):
		s.pos += strings.IndexRune(s.line(), '”') + len("”")
		d := s.diags.Errorf("E0112", s.span(start, s.pos), "a string needs plain quotes")
		d.Label = "these are typographic"
		text := `"` + d.Span.Text()[n:s.pos-start-len("”")] + `"`
		d.Fix = &diag.Fix{Text: "write " + text, Span: d.Span, New: text}
	default:
		d := s.diags.Errorf("E0112", s.span(start, s.pos), "'%c' means nothing here", r)
		d.Label, d.Fix = strange(r, d.Span)
	}
	return Bad, ""
}

// brace reports { and }. After a { was reported its } is not: both are one habit.
func (s *scanner) brace(start int, r rune) {
	if r == '}' && s.braces {
		return
	}
	s.braces = s.braces || r == '{'
	d := s.diags.Errorf("E0112", s.span(start, s.pos), "'%c' means nothing here", r)
	d.Label = "blocks are made by indentation, after a ':'"
	before := strings.TrimRight(s.text[:start], " ")
	alone := strings.HasSuffix(before, "\n")
	switch {
	case r == '{' && before != "" && strings.IndexByte("=(,[:", before[len(before)-1]) >= 0 &&
		s.line() != "":
		d.Label = `a list is written [1, 2], a map [("a", 1), ("b", 2)]`
	case s.line() != "":
	case r == '}' && alone:
		d.Fix = &diag.Fix{Text: "leave it out", Span: d.Span}
	case r == '{' && !alone:
		note := "the block ends with its indentation, without '}'"
		d.Fix = &diag.Fix{Text: "write ':'", Note: note, Span: s.span(len(before), s.pos), New: ":"}
	}
}

// strange tells users who think of another language, or pasted from a document, Eve's counterpart
// of r.
func strange(r rune, at source.Span) (string, *diag.Fix) {
	replace := func(with string) *diag.Fix {
		return &diag.Fix{Text: "write " + with, Span: at, New: with}
	}
	switch r {
	case '“', '”', '„', '«', '»':
		return "this is a typographic quote", replace(`"`)
	case '‘', '’':
		return "this is a typographic quote", replace("'")
	case '–', '—', '−':
		return "this is a dash", replace("-")
	case '`':
		return "a string needs double quotes", nil
	case '×':
		return "Eve multiplies with '*'", replace("*")
	case '≤':
		return "", replace("<=")
	case '≥':
		return "", replace(">=")
	case '≠':
		return "", replace("!=")
	case '\u00a0':
		return "this is a space that does not break", &diag.Fix{Text: "write a plain space",
			Span: at, New: " "}
	}
	if r > 127 {
		return "names are of the letters a to z, digits and _", nil
	}
	return "", nil
}
