package syntax

import (
	"strings"

	"interleave/eve/diag"
	"interleave/eve/source"
)

// fstring reads f"text {x:.2} text", which the scanner left as one token.
func (p *parser) fstring() Expr {
	t := p.next()
	f := &FString{At: At{t.Span}}
	end := t.Span.End
	if end-t.Span.Start > 2 && strings.HasSuffix(t.Text(), `"`) {
		end--
	}
	var found diag.List
	s := &scanner{file: p.file, text: p.file.Text[:end], pos: t.Span.Start + 2, end: end,
		diags: &found}
	for s.pos < s.end {
		text := s.formatText()
		if text != "" {
			f.Parts = append(f.Parts, FPart{Text: text})
		}
		if s.pos < s.end {
			f.Parts = append(f.Parts, p.formatPart(s))
		}
	}
	for _, d := range found.Sorted() {
		p.report(d)
	}
	return f
}

// formatText reads up to a brace that opens an expression.
func (s *scanner) formatText() string {
	var text strings.Builder
	for s.pos < s.end {
		switch c := s.text[s.pos]; {
		case (c == '{' || c == '}') && s.at(1) == c:
			text.WriteByte(c)
			s.pos += 2
		case c == '{':
			return text.String()
		case c == '}':
			d := s.diags.Errorf("E0121", s.span(s.pos, s.pos+1), "this '}' closes nothing")
			d.Fix = &diag.Fix{Text: "write }} for a brace", Span: d.Span, New: "}}"}
			s.pos++
		default:
			s.piece(&text)
		}
	}
	return text.String()
}

// formatPart reads `{expression:format}`.
func (p *parser) formatPart(s *scanner) FPart {
	open := s.span(s.pos, s.pos+1)
	s.pos++
	start := s.pos
	colon := s.skipExpr()
	if s.pos >= s.end {
		d := s.diags.Errorf("E0121", open, "this '{' is not closed")
		d.Label = "write {{ for a brace"
		return FPart{X: &BadExpr{At{s.span(start, s.end)}}}
	}
	end := s.pos
	s.pos++
	part := FPart{}
	if colon >= 0 {
		part.Format = strings.TrimSpace(s.text[colon+1 : end])
		end = colon
	}
	if strings.TrimSpace(s.text[start:end]) == "" {
		s.diags.Errorf("E0121", s.span(open.Start, s.pos), "there is no expression in these braces")
		part.X = &BadExpr{At{s.span(start, end)}}
		return part
	}
	part.X = p.within(start, end)
	return part
}

// skipExpr skips an expression up to its closing brace and returns the place of the colon before
// its format; -1 if there is none.
func (s *scanner) skipExpr() int {
	colon, depth := -1, 0
	for ; s.pos < s.end; s.pos++ {
		switch c := s.text[s.pos]; c {
		case '(', '[', '{':
			depth++
		case ')', ']':
			depth--
		case '}':
			if depth <= 0 || colon >= 0 {
				return colon
			}
			depth--
		case ':':
			if depth == 0 && colon < 0 {
				colon = s.pos
			}
		case '"', '\'':
			s.skipLiteral(c)
		}
	}
	return colon
}

// skipLiteral moves to the closing quote of a nested literal, if it has one.
func (s *scanner) skipLiteral(quote byte) {
	if i := s.closing(quote); i > 0 {
		s.pos = i
	}
}

// closing returns the place of the quote that closes the one here; 0 when there is none.
func (s *scanner) closing(quote byte) int {
	for i := s.pos + 1; i < s.end; i++ {
		switch s.text[i] {
		case '\\':
			i++
		case quote:
			return i
		}
	}
	return 0
}

// within reads the expression from start to end of the file.
func (p *parser) within(start, end int) Expr {
	var found diag.List
	q := &parser{file: p.file, diags: p.diags, lines: p.lines, mute: p.mute, format: true,
		context: p.context}
	q.brackets, q.inline, q.index = 1, 0, always
	q.toks = scan(p.file, start, end, &found)
	for _, d := range found.Sorted() {
		p.report(d)
	}
	q.last = source.Span{File: p.file, Start: start, End: start}
	var x Expr
	ok := q.guard(func() {
		q.enter()
		x = q.expr()
		if !q.at(EOF) {
			q.failf("E0121", "expected '}' or ':' and a format, found %s", q.found())
		}
	})
	p.mute = q.mute
	if !ok {
		return &BadExpr{At{source.Span{File: p.file, Start: start, End: end}}}
	}
	return x
}
