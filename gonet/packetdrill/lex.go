package packetdrill

import (
	"regexp"
	"strconv"
	"strings"
)

type kind uint8

const (
	end kind = iota
	word
	integer
	floating
	text    // in double quotes
	command // in back quotes
	code    // between %{ and }%
	option  // --name or --name=value
	ellipsis
	symbol // any other character
)

type token struct {
	kind   kind
	text   string // without quotes
	number int64  // of an integer
	line   int
}

func (t token) String() string {
	switch t.kind {
	case end:
		return "the end"
	case text, command, code:
		return strconv.Quote(t.text)
	}
	return t.text
}

// lexer divides a script into tokens by the rules of packetdrill's lexer. It has no tokens for
// addresses, which stand in none of the statements that the parser reads.
type lexer struct {
	rest string
	line int
}

var (
	floatPattern   = regexp.MustCompile(`^-?[0-9]*\.[0-9]+`)
	integerPattern = regexp.MustCompile(`^-?[0-9]+`)
	hexPattern     = regexp.MustCompile(`^0x[0-9a-fA-F]+`)
	wordPattern    = regexp.MustCompile(`^[A-Za-z0-9_]+`)
	optionPattern  = regexp.MustCompile(`^--([A-Za-z0-9_]+)(?:=((?:"[^"\n]*"|[^\s"])*))?`)
	quotePattern   = regexp.MustCompile("^(?:\"(?:\\\\[\\s\\S]|[^\"\\\\])*\"|" +
		"`(?:\\\\[\\s\\S]|[^`\\\\])*`)")
)

// lex returns the tokens of a script. The last one is the end.
func lex(source string) ([]token, error) {
	l := lexer{rest: source, line: 1}
	var tokens []token
	for {
		l.skip()
		t, n, err := l.next()
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		if t.kind == end {
			return tokens, nil
		}
		l.advance(n)
	}
}

func (l *lexer) advance(n int) {
	l.line += strings.Count(l.rest[:n], "\n")
	l.rest = l.rest[n:]
}

// skip passes over blanks and comments.
func (l *lexer) skip() {
	for {
		n := len(l.rest) - len(strings.TrimLeft(l.rest, " \t\r\n"))
		switch {
		case n > 0:
		case strings.HasPrefix(l.rest, "//"):
			if n = strings.IndexByte(l.rest, '\n'); n < 0 {
				n = len(l.rest)
			}
		case strings.HasPrefix(l.rest, "/*"):
			i := strings.Index(l.rest[2:], "*/")
			if i < 0 {
				return
			}
			n = i + 4
		default:
			return
		}
		l.advance(n)
	}
}

// next returns the next token and its length in the source.
func (l *lexer) next() (token, int, error) {
	t := token{line: l.line}
	s := l.rest
	switch {
	case s == "":
		return t, 0, nil
	case strings.HasPrefix(s, "..."):
		t.kind, t.text = ellipsis, "..."
		return t, 3, nil
	case strings.HasPrefix(s, "%{"):
		i := strings.Index(s, "}%")
		if i < 0 {
			return t, 0, &SyntaxError{l.line, "the code has no }%"}
		}
		t.kind, t.text = code, s[2:i]
		return t, i + 2, nil
	case s[0] == '"' || s[0] == '`':
		quoted := quotePattern.FindString(s)
		if quoted == "" {
			return t, 0, &SyntaxError{l.line, "the closing quote is missing"}
		}
		if t.kind = text; s[0] == '`' {
			t.kind = command
		}
		t.text = quoted[1 : len(quoted)-1]
		return t, len(quoted), nil
	}
	if m := optionPattern.FindString(s); m != "" {
		t.kind, t.text = option, m
		return t, len(m), nil
	}
	return l.number(t)
}

// number returns a number, a word, or a single character: of several that match, the longest.
func (l *lexer) number(t token) (token, int, error) {
	s := l.rest
	var err error
	float, whole := floatPattern.FindString(s), integerPattern.FindString(s)
	hex, name := hexPattern.FindString(s), wordPattern.FindString(s)
	switch n := max(len(float), len(whole), len(hex), len(name)); {
	case n == 0:
		t.kind, t.text = symbol, s[:1]
	case n == len(float):
		t.kind, t.text = floating, float
	case n == len(whole):
		t.kind, t.text = integer, whole
		t.number, err = strconv.ParseInt(whole, 10, 64)
	case n == len(hex):
		t.kind, t.text = integer, hex
		t.number, err = strconv.ParseInt(hex[2:], 16, 64)
	default:
		t.kind, t.text = word, name
	}
	if err != nil {
		return t, 0, &SyntaxError{l.line, t.text + " is too large a number"}
	}
	return t, len(t.text), nil
}
