// Package irc has the syntax of IRC: lines with their tags, names and their comparison, masks. It
// does no I/O.
package irc

import (
	"errors"
	"slices"
	"strings"
)

// Sizes in bytes, including the end of the line: RFC 2812 section 2.3, and IRCv3's message-tags.
const (
	MaxLine       = 512
	MaxClientTags = 4096
	MaxServerTags = 8191
	// MaxParams is the number of parameters (RFC 2812 section 2.3). The rest of the line belongs to
	// the last.
	MaxParams = 15
)

// A Message is one line. Source and tags are optional. The last parameter may contain blanks.
type Message struct {
	Tags    map[string]string // nil if there are none; values are unescaped
	Source  string            // nick!user@host or a server's name, without the colon
	Command string            // in upper case
	Params  []string
}

// The errors of Parse.
var (
	ErrEmpty = errors.New("no command in the line")
	ErrNUL   = errors.New("a NUL or an end of line inside the line")
)

// Parse parses a line without its end.
func Parse(line string) (m Message, err error) {
	err = m.Parse(line)
	return m, err
}

// Parse parses a line without its end into an empty message. It appends to Params, so the caller
// may provide the memory.
func (m *Message) Parse(line string) error {
	if has(line, 0) || has(line, '\r') || has(line, '\n') {
		return ErrNUL
	}
	if rest, ok := strings.CutPrefix(line, "@"); ok {
		tags, after := cut(rest)
		m.Tags, line = ParseTags(tags), after
	}
	line = unblank(line)
	if rest, ok := strings.CutPrefix(line, ":"); ok {
		m.Source, line = cut(rest)
		line = unblank(line)
	}
	m.Command, line = cut(line)
	if m.Command == "" {
		return ErrEmpty
	}
	m.Command = upper(m.Command)
	m.Params = params(line, m.Params)
	return nil
}

func params(line string, out []string) []string {
	for {
		line = unblank(line)
		switch {
		case line == "":
			return out
		case line[0] == ':':
			return append(out, line[1:])
		case len(out) == MaxParams-1:
			return append(out, line)
		}
		var word string
		word, line = cut(line)
		if out == nil {
			out = make([]string, 0, 3)
		}
		out = append(out, word)
	}
}

// The next three functions use little stack: the goroutine of a client calls them, and should stay
// within 2 KiB.

func has(s string, b byte) bool { return strings.IndexByte(s, b) >= 0 }

func unblank(s string) string {
	for s != "" && s[0] == ' ' {
		s = s[1:]
	}
	return s
}

// cut returns the text before the first blank and after it.
func cut(s string) (before, after string) {
	if i := strings.IndexByte(s, ' '); i >= 0 {
		return s[:i], s[i+1:]
	}
	return s, ""
}

// upper is strings.ToUpper for ASCII. It allocates only if something changes.
func upper(s string) string {
	for i := range len(s) {
		if s[i] >= 'a' && s[i] <= 'z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if b[i] >= 'a' && b[i] <= 'z' {
					b[i] -= 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// Param returns parameter i, or an empty text.
func (m Message) Param(i int) string {
	if 0 <= i && i < len(m.Params) {
		return m.Params[i]
	}
	return ""
}

// Last returns the last parameter, or an empty text.
func (m Message) Last() string { return m.Param(len(m.Params) - 1) }

// String returns the line without its end, with the tags in the order of their names. Only the last
// parameter may be empty, begin with a colon or contain blanks; it then gets a colon.
func (m Message) String() string { return string(m.Append(nil)) }

// Append appends the line to b.
func (m Message) Append(b []byte) []byte {
	var tags string
	n := len(" :") + len(m.Source) + len(" ") + len(m.Command)
	if len(m.Tags) > 0 {
		tags = FormatTags(m.Tags)
		n += len("@") + len(tags)
	}
	for _, p := range m.Params {
		n += len(" :") + len(p)
	}
	b = slices.Grow(b, n)
	if tags != "" {
		b = append(append(append(b, '@'), tags...), ' ')
	}
	if m.Source != "" {
		b = append(append(append(b, ':'), m.Source...), ' ')
	}
	b = append(b, m.Command...)
	for i, p := range m.Params {
		b = append(b, ' ')
		if i == len(m.Params)-1 && (p == "" || p[0] == ':' || strings.Contains(p, " ")) {
			b = append(b, ':')
		}
		b = append(b, p...)
	}
	return b
}

// ParseTags parses the text between @ and the blank. The last of several tags of one name counts.
func ParseTags(text string) map[string]string {
	tags := map[string]string{}
	for tag := range strings.SplitSeq(text, ";") {
		if key, value, _ := strings.Cut(tag, "="); key != "" {
			tags[key] = Unescape(value)
		}
	}
	return tags
}

// FormatTags formats tags in the order of their names.
func FormatTags(tags map[string]string) string {
	keys := make([]string, 0, len(tags))
	for k := range tags {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var b strings.Builder
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(';')
		}
		b.WriteString(k)
		if v := tags[k]; v != "" {
			b.WriteByte('=')
			b.WriteString(Escape(v))
		}
	}
	return b.String()
}

var escaper = strings.NewReplacer(";", `\:`, " ", `\s`, `\`, `\\`, "\r", `\r`, "\n", `\n`)

// Escape escapes the value of a tag.
func Escape(value string) string { return escaper.Replace(value) }

// Unescape removes the escapes from the value of a tag. A backslash before any other character, or
// at the end, is dropped.
func Unescape(value string) string {
	if !strings.Contains(value, `\`) {
		return value
	}
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '\\' {
			b.WriteByte(value[i])
			continue
		}
		if i++; i == len(value) {
			break
		}
		switch value[i] {
		case ':':
			b.WriteByte(';')
		case 's':
			b.WriteByte(' ')
		case 'r':
			b.WriteByte('\r')
		case 'n':
			b.WriteByte('\n')
		default:
			b.WriteByte(value[i])
		}
	}
	return b.String()
}
