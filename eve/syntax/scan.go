package syntax

import (
	"strings"

	"interleave/eve/diag"
	"interleave/eve/source"
)

// A scanner cuts text[pos:end] of a file into tokens without layout. Text that it cannot read
// becomes a Bad token. The scanner reports it, so that the parser need not.
type scanner struct {
	file  *source.File
	text  string
	pos   int
	end   int
	diags *diag.List
	toks  []Token

	braces bool // a { was reported, so its } is not
}

// Most programs have one token for this many bytes or more. The guess spares copies; it is bounded,
// so that a large text of another kind takes no more memory than its own tokens.
const (
	textPerToken = 4
	maxGuess     = 1 << 16
)

// scan returns the tokens of file from start to end, an EOF token last.
func scan(file *source.File, start, end int, diags *diag.List) []Token {
	s := &scanner{file: file, text: file.Text[:end], pos: start, end: end, diags: diags}
	s.toks = make([]Token, 0, min((end-start)/textPerToken+1, maxGuess))
	for {
		lead := s.pos
		s.skip()
		t := Token{Lead: s.text[lead:s.pos]}
		from := s.pos
		if s.pos < s.end {
			t.Kind, t.Value = s.token()
		}
		t.Span = s.span(from, s.pos)
		s.toks = append(s.toks, t)
		if t.Kind == EOF {
			return s.toks
		}
	}
}

func (s *scanner) span(start, end int) source.Span {
	return source.Span{File: s.file, Start: start, End: end}
}

// at returns the byte n places ahead, 0 behind the end.
func (s *scanner) at(n int) byte {
	if s.pos+n >= s.end {
		return 0
	}
	return s.text[s.pos+n]
}

// line is the text from the current place to the end of the line.
func (s *scanner) line() string {
	rest := s.text[s.pos:]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	return strings.TrimSuffix(rest, "\r")
}

// skip skips text without meaning: spaces, line ends, comments.
func (s *scanner) skip() {
	for s.pos < s.end {
		switch c := s.text[s.pos]; {
		case c == ' ', c == '\t', c == '\r', c == '\n':
			s.pos++
		case c == '#':
			s.pos += len(s.line())
		case c == '/' && (s.at(1) == '/' || s.at(1) == '*'):
			s.slashComment()
		case s.pos == 0 && strings.HasPrefix(s.text, "\ufeff"):
			s.pos += len("\ufeff")
		default:
			return
		}
	}
}

// slashComment reports a comment of another language and skips it.
func (s *scanner) slashComment() {
	at, rest := s.span(s.pos, s.pos+2), s.text[s.pos:]
	d := s.diags.Errorf("E0112", at, "a comment starts with '#'")
	d.Label = "Eve has no '" + at.Text() + "'"
	if end := strings.Index(rest, "*/"); at.Text() == "/*" && end >= 0 {
		s.pos += end + len("*/")
		return
	}
	d.Fix = &diag.Fix{Text: "write '#'", Span: at, New: "#"}
	s.pos += len(s.line())
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// token reads one token; the place is not at the end.
func (s *scanner) token() (Kind, string) {
	c := s.text[s.pos]
	switch {
	case c == 'f' && s.at(1) == '"':
		return s.formatString()
	case isLetter(c):
		start := s.pos
		for isLetter(s.at(0)) || isDigit(s.at(0)) {
			s.pos++
		}
		if keywords[s.text[start:s.pos]] {
			return Keyword, ""
		}
		return Identifier, ""
	case isDigit(c):
		return s.number()
	case c == '"':
		return s.quoted()
	case c == '\'':
		return s.char()
	}
	if n := operator(s.text[s.pos:]); n > 0 {
		s.pos += n
		return Op, ""
	}
	return s.bad()
}

// operators by length, longest first, with brackets and punctuation.
var operators = [][]string{
	{"<<=", ">>=", "**=", "+%=", "-%=", "*%="},
	{"||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "..", "**", "+%", "-%", "*%", "<-",
		"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "->", "=>", "++", "--", ":="},
}

const single = "()[]<>=+-*/%!~&|^?@:;,."

// operator is the length of the operator that text starts with; 0 if there is none.
func operator(text string) int {
	for _, ops := range operators {
		for _, op := range ops {
			if strings.HasPrefix(text, op) && !startsOperand(op, text[len(op):]) {
				return len(op)
			}
		}
	}
	if strings.IndexByte(single, text[0]) >= 0 {
		return 1
	}
	return 0
}

// startsOperand says that op is two operators: in a--b, which is `a - -b`, the second minus
// belongs to b. Only at the end of a line is `--` the error that it looks like.
func startsOperand(op, rest string) bool {
	if op != "++" && op != "--" || rest == "" {
		return false
	}
	return isLetter(rest[0]) || isDigit(rest[0]) || rest[0] == '(' || rest[0] == '-'
}
