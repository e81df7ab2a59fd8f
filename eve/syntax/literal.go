package syntax

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"interleave/eve/diag"
)

// units are the words that may follow the digits of a number.
var units = map[string]Kind{
	"ns": Duration, "us": Duration, "ms": Duration, "s": Duration, "m": Duration, "h": Duration,
	"d":   Duration,
	"kib": Int, "mib": Int, "gib": Int,
}

// number reads 12, 1_000, 0x1f, 0b101, 1.5, 1e-9, 500ms, 20mib. Behind a dot only
// digits count: t.0.1.
func (s *scanner) number() (Kind, string) {
	start := s.pos
	if n := len(s.toks); n > 0 && s.toks[n-1].Text() == "." && s.toks[n-1].Span.End == start {
		s.digits("0123456789")
		return Int, ""
	}
	if s.at(0) == '0' && (s.at(1) == 'x' || s.at(1) == 'b') {
		return s.radix(start)
	}
	kind := Int
	s.digits("0123456789_")
	if s.at(0) == '.' && isDigit(s.at(1)) {
		kind = Float
		s.pos++
		s.digits("0123456789_")
	}
	if e := s.exponent(); e > 0 {
		kind = Float
		s.pos += e
		s.digits("0123456789")
	}
	digits := s.text[start:s.pos]
	if slices.ContainsFunc([]string{"__", "_.", "._", "_ "},
		func(bad string) bool { return strings.Contains(digits+" ", bad) }) {
		s.diags.Errorf("E0110", s.span(start, s.pos), "'_' stands between two digits of a number")
	}
	return s.unit(start, kind), ""
}

func (s *scanner) digits(of string) {
	for s.pos < s.end && strings.IndexByte(of, s.text[s.pos]) >= 0 {
		s.pos++
	}
}

// exponent is the length of the e of an exponent and its sign; 0 when there is no exponent.
func (s *scanner) exponent() int {
	switch {
	case s.at(0) != 'e' && s.at(0) != 'E':
		return 0
	case isDigit(s.at(1)):
		return 1
	case (s.at(1) == '-' || s.at(1) == '+') && isDigit(s.at(2)):
		return 2
	}
	return 0
}

// radix reads a number with 0x or 0b before it.
func (s *scanner) radix(start int) (Kind, string) {
	digits, name := "0123456789abcdefABCDEF_", "hexadecimal"
	if s.at(1) == 'b' {
		digits, name = "01_", "binary"
	}
	s.pos += 2
	s.digits(digits)
	bare := s.pos == start+2
	for isLetter(s.at(0)) || isDigit(s.at(0)) {
		bare = true
		s.pos++
	}
	if bare {
		s.diags.Errorf("E0110", s.span(start, s.pos), "'%s' is not a %s number",
			s.text[start:s.pos], name)
	}
	return Int, ""
}

// unit reads the unit of a number, if one follows, and returns the kind of the whole.
func (s *scanner) unit(start int, kind Kind) Kind {
	from := s.pos
	for isLetter(s.at(0)) || isDigit(s.at(0)) {
		s.pos++
	}
	unit := s.text[from:s.pos]
	if unit == "" {
		return kind
	}
	k, ok := units[unit]
	if ok && kind == Int {
		return k
	}
	d := s.diags.Errorf("E0110", s.span(start, s.pos), "a number cannot end in '%s'", unit)
	d.Label = "units are ns us ms s m h d, and kib mib gib"
	if !ok {
		d.Fix = lowerUnit(d, from, unit)
		return kind
	}
	d.Message = "a number with a unit has no decimal point"
	d.Label = "write a whole number of a smaller unit: 1500ms for 1.5s"
	return k
}

// lowerUnit fixes 10MB and 5S.
func lowerUnit(d *diag.Diagnostic, from int, unit string) *diag.Fix {
	lower := strings.ToLower(unit)
	if binary := strings.TrimSuffix(strings.TrimSuffix(lower, "b"), "i") +
		"ib"; units[binary] == Int {
		lower = binary
	}
	if _, ok := units[lower]; !ok {
		return nil
	}
	at := d.Span
	at.Start = from
	return &diag.Fix{Text: "write " + d.Span.Text()[:from-d.Span.Start] + lower, Span: at,
		New: lower}
}

// quoted reads a string literal. One that is not closed ends with its line.
func (s *scanner) quoted() (Kind, string) {
	start := s.pos
	s.pos++
	var value strings.Builder
	for s.pos < s.end && s.text[s.pos] != '"' && s.text[s.pos] != '\n' {
		s.piece(&value)
	}
	s.close(start, '"', "string")
	return String, value.String()
}

// close skips the closing quote, or reports that it is missing.
func (s *scanner) close(start int, quote byte, what string) {
	if s.at(0) == quote && s.pos < s.end {
		s.pos++
		return
	}
	for s.pos > start+1 && (s.text[s.pos-1] == '\r' || s.text[s.pos-1] == ' ') {
		s.pos--
	}
	d := s.diags.Errorf("E0108", s.span(start, s.pos), "this %s is not closed", what)
	d.Label = "a " + what + " ends on the line where it starts"
	end := d.Span
	if text := strings.TrimRight(d.Span.Text(), "):]"); len(text) > 1 &&
		!strings.ContainsAny(text, "([") {
		end.End = start + len(text) // print("abc)
	}
	end.Start = end.End
	d.Fix = &diag.Fix{Text: "close it with " + string(quote), Span: end, New: string(quote)}
}

// piece reads one character or escape of a literal into value.
func (s *scanner) piece(value *strings.Builder) {
	if s.text[s.pos] != '\\' {
		value.WriteByte(s.text[s.pos])
		s.pos++
		return
	}
	start := s.pos
	s.pos++
	c := s.at(0)
	if i := strings.IndexByte(`ntr0\"'`, c); i >= 0 && c != 0 {
		value.WriteByte("\n\t\r\x00\\\"'"[i])
		s.pos++
		return
	}
	switch {
	case c == 'x' && s.hex(1, 2):
		n, _ := strconv.ParseUint(s.text[s.pos+1:s.pos+3], 16, 8)
		value.WriteByte(byte(n))
		s.pos += 3
		return
	case c == 'u' && s.at(1) == '{' && s.unicode(value):
		return
	}
	s.badEscape(start, c)
}

func (s *scanner) badEscape(start int, c byte) {
	if s.pos < s.end && c != '\n' && c != '\r' {
		_, n := utf8.DecodeRuneInString(s.text[s.pos:])
		s.pos += n
	}
	d := s.diags.Errorf("E0109", s.span(start, s.pos), "'%s' is no escape", s.text[start:s.pos])
	switch c {
	case 'x':
		d.Label = `two hexadecimal digits follow: \x1b`
	case 'u':
		d.Label = `a character's number in braces follows: \u{1f600}`
	default:
		d.Label = `escapes are \n \t \r \0 \\ \" \' \x41 \u{e9}`
		back := s.span(start, start+1)
		d.Fix = &diag.Fix{Text: `write \\ for a backslash`, Span: back, New: `\\`}
	}
}

// hex says whether there are n hexadecimal digits `from` places ahead.
func (s *scanner) hex(from, n int) bool {
	for i := from; i < from+n; i++ {
		if strings.IndexByte("0123456789abcdefABCDEF", s.at(i)) < 0 || s.at(i) == 0 {
			return false
		}
	}
	return true
}

// unicode reads u{1f600}. False, without moving, if it is malformed.
func (s *scanner) unicode(value *strings.Builder) bool {
	rest := s.line()
	end := strings.IndexByte(rest, '}')
	if end < 0 {
		return false
	}
	n, err := strconv.ParseUint(rest[2:end], 16, 32)
	if err != nil || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
		return false
	}
	value.WriteRune(rune(n))
	s.pos += end + 1
	return true
}

// char reads a character literal: one byte.
func (s *scanner) char() (Kind, string) {
	start := s.pos
	s.pos++
	var value strings.Builder
	for s.pos < s.end && s.text[s.pos] != '\'' && s.text[s.pos] != '\n' {
		s.piece(&value)
	}
	closed := s.at(0) == '\'' && s.pos < s.end
	s.close(start, '\'', "character")
	if v := value.String(); closed && len(v) != 1 {
		d := s.diags.Errorf("E0111", s.span(start, s.pos),
			"a character is one byte, and this has %d", len(v))
		body := s.text[start+1 : s.pos-1]
		if v != "" && !strings.Contains(body, `"`) {
			d.Fix = &diag.Fix{Text: "make it a string", Span: d.Span, New: `"` + body + `"`}
		}
	}
	return Char, value.String()
}

// formatString reads f"..." as one token, which the parser reads in detail. There may be strings
// inside its braces.
func (s *scanner) formatString() (Kind, string) {
	start := s.pos
	s.pos += 2
	s.skipFormat(0)
	s.close(start, '"', "string")
	return FormatString, ""
}

// skipFormat skips text and {expressions} up to the closing quote or the end of the line.
func (s *scanner) skipFormat(depth int) {
	braces := 0
	for s.pos < s.end && s.text[s.pos] != '\n' {
		switch c := s.text[s.pos]; {
		case c == '\\' && s.at(1) != '\n' && s.at(1) != 0:
			s.pos++
		case c == '{' && braces == 0 && s.at(1) == '{':
			s.pos++
		case c == '{':
			braces++
		case c == '}' && braces > 0:
			braces--
		case c == '"' && braces == 0:
			return
		case c == '"' && !s.skipNested(depth):
			return
		}
		s.pos++
	}
}

// skipNested skips a string inside the braces of a format string, up to its closing quote. If it
// has none, the quote counts as the end of the outer string.
func (s *scanner) skipNested(depth int) bool {
	start := s.pos
	s.pos++
	if depth < 8 && s.text[start-1] == 'f' {
		s.skipFormat(depth + 1)
	} else {
		for s.pos < s.end && s.text[s.pos] != '"' && s.text[s.pos] != '\n' {
			if s.text[s.pos] == '\\' && s.at(1) != '\n' && s.at(1) != 0 {
				s.pos++
			}
			s.pos++
		}
	}
	if s.pos < s.end && s.text[s.pos] == '"' && strings.IndexByte(s.line(), '}') >= 0 {
		return true
	}
	s.pos = start
	return false
}
