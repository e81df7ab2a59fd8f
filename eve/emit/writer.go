package emit

import (
	"strconv"
	"strings"
)

// A line is one line of C++ with its line of Eve (0: none).
type line struct {
	text string
	at   int
}

// A writer collects lines.
type writer struct {
	lines  []line
	at     int
	indent int
}

func (w *writer) put(text string) {
	w.lines = append(w.lines, line{strings.Repeat("    ", w.indent) + text, w.at})
}

// A printer joins lines, with a #line wherever the debugger would otherwise count wrongly.
type printer struct {
	b    strings.Builder
	file string
	// the line of Eve that the compiler assumes for the next line; 0 while it counts the C++ text
	next int
}

func (p *printer) print(lines []line) {
	for _, l := range lines {
		if l.at != 0 && l.at != p.next {
			p.b.WriteString("#line " + strconv.Itoa(l.at) + " " + quote(p.file) + "\n")
			p.next = l.at
		}
		p.b.WriteString(l.text)
		p.b.WriteByte('\n')
		if p.next != 0 {
			p.next++
		}
	}
}

// quote writes s as a C++ string literal.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case c < ' ' || c >= 0x7f || c == '?':
			// Three octal digits: a digit behind them is then not taken for a fourth one.
			b.WriteString("\\" + string([]byte{'0' + c>>6, '0' + c>>3&7, '0' + c&7}))
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// atom says whether s can be an operand of any operator: it has no blank outside brackets and
// quotes and does not begin with an operator.
func atom(s string) bool {
	if s == "" || strings.ContainsRune("-+!~*&", rune(s[0])) {
		return false
	}
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '"', '\'':
			i = skipQuoted(s, i)
		case ' ':
			if depth == 0 {
				return false
			}
		}
	}
	return true
}

func skipQuoted(s string, i int) int {
	q := s[i]
	for i++; i < len(s) && s[i] != q; i++ {
		if s[i] == '\\' {
			i++
		}
	}
	return i
}

// paren puts brackets around s unless it is an atom.
func paren(s string) string {
	if atom(s) {
		return s
	}
	return "(" + s + ")"
}

// member writes a selection: x.f, and x->f for *x.
func member(x, f string) string {
	if strings.HasPrefix(x, "*") && !strings.HasPrefix(x, "**") && atom(x[1:]) {
		return x[1:] + "->" + f
	}
	return paren(x) + "." + f
}
