package manifest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A notation is what a language's comments and strings look like. Strings matter only because they
// may hold what looks like a comment.
type notation struct {
	line     []string // a comment up to the end of the line
	from, to string   // a comment over lines; empty if there is none
	quotes   string   // what strings are enclosed in
	over     string   // those of them that go on over the end of a line
	dollar   bool     // $" is a character, as in Erlang
}

// notations are by the ending of a file's name. A file of another ending has no comments that we
// could know of: all its lines count but the blank ones.
var notations = map[string]notation{
	".c":    {line: []string{"//"}, from: "/*", to: "*/", quotes: `"'`},
	".h":    {line: []string{"//"}, from: "/*", to: "*/", quotes: `"'`},
	".cpp":  {line: []string{"//"}, from: "/*", to: "*/", quotes: `"'`},
	".hpp":  {line: []string{"//"}, from: "/*", to: "*/", quotes: `"'`},
	".go":   {line: []string{"//"}, from: "/*", to: "*/", quotes: "\"'`", over: "`"},
	".java": {line: []string{"//"}, from: "/*", to: "*/", quotes: `"'`},
	".js":   {line: []string{"//"}, from: "/*", to: "*/", quotes: "\"'`", over: "`"},
	".mjs":  {line: []string{"//"}, from: "/*", to: "*/", quotes: "\"'`", over: "`"},
	// ' opens a lifetime
	".rs":  {line: []string{"//"}, from: "/*", to: "*/", quotes: `"`, over: `"`},
	".erl": {line: []string{"%"}, quotes: `"`, over: `"`, dollar: true},
	".hrl": {line: []string{"%"}, quotes: `"`, over: `"`, dollar: true},
	".py":  {line: []string{"#"}, quotes: `"'`},
	".rb":  {line: []string{"#"}, quotes: `"'`},
	".hs":  {line: []string{"--"}, from: "{-", to: "-}", quotes: `"`},
	".eve": {line: []string{"#"}, quotes: `"`},
	".sh":  {line: []string{"#"}, quotes: `"'`, over: `"'`},
}

// Lines counts the model's lines of code: those that hold more than blanks and comments.
func (m *Model) Lines() (int, error) {
	total := 0
	for _, name := range m.Source {
		data, err := os.ReadFile(filepath.Join(m.Dir, name))
		if err != nil {
			return 0, fmt.Errorf("counting lines of %s: %w", m.Name, err)
		}
		total += CodeLines(name, data)
	}
	return total, nil
}

// Whole says whether the model's source is all of its program, so that its lines can be compared.
// It is not where a script starts a package of the system, and where the program lies outside of
// the services and one of its files is shown.
func (m *Model) Whole() bool {
	return !slices.ContainsFunc(m.Source, func(name string) bool {
		return filepath.Ext(name) == ".sh" && m.Language != "sh" ||
			strings.HasPrefix(filepath.ToSlash(name), "../../../")
	})
}

// CodeLines counts the lines of code of a file's text. The name tells the language.
func CodeLines(name string, data []byte) int {
	return codeLines(data, notations[filepath.Ext(name)])
}

// codeLines counts the lines with code on them.
func codeLines(data []byte, n notation) int {
	s := scanner{notation: n}
	count := 0
	for line := range bytes.Lines(data) {
		if s.scan(string(bytes.TrimSpace(line))) {
			count++
		}
	}
	return count
}

// A scanner knows what the end of the last line left open.
type scanner struct {
	notation
	comment bool
	quote   byte // of an open string; 0 if none
}

// scan goes over one line and says whether there is code on it.
func (s *scanner) scan(line string) (code bool) {
	if line == "" {
		return false // a blank line inside a string is still a blank line
	}
	for i := 0; i < len(line); {
		rest := line[i:]
		switch {
		case s.comment:
			if !strings.HasPrefix(rest, s.to) {
				i++
				continue
			}
			s.comment = false
			i += len(s.to)
		case s.quote != 0:
			code = true
			i += s.inString(rest)
		case s.from != "" && strings.HasPrefix(rest, s.from):
			s.comment = true
			i += len(s.from)
		case s.startsComment(rest):
			i = len(line)
		case s.character(rest) > 0:
			code = true
			i += s.character(rest)
		default:
			code = code || rest[0] != ' ' && rest[0] != '\t'
			if strings.IndexByte(s.quotes, rest[0]) >= 0 {
				s.quote = rest[0]
			}
			i++
		}
	}
	if s.quote != 0 && strings.IndexByte(s.over, s.quote) < 0 {
		s.quote = 0
	}
	return code
}

// character is the length of a character literal that could be taken for a quote, or 0: $" in
// Erlang, '"' where the single quote encloses no strings.
func (s *scanner) character(rest string) int {
	switch {
	case s.dollar && rest[0] == '$':
		return min(2, len(rest))
	case rest[0] != '\'' || strings.Contains(s.quotes, "'"):
		return 0
	case len(rest) > 2 && rest[1] != '\\' && rest[2] == '\'':
		return 3
	case len(rest) > 3 && rest[1] == '\\' && rest[3] == '\'':
		return 4
	}
	return 0
}

func (s *scanner) startsComment(rest string) bool {
	for _, mark := range s.line {
		if strings.HasPrefix(rest, mark) {
			return true
		}
	}
	return false
}

// inString steps over one character of a string and closes it at its end.
func (s *scanner) inString(rest string) int {
	switch {
	case rest[0] == '\\' && s.quote != '`' && len(rest) > 1:
		return 2
	case rest[0] == s.quote:
		s.quote = 0
	}
	return 1
}
