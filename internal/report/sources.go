package report

// The servers' sources, as they were measured, two beside each other.

import (
	"fmt"
	"html"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"interleave/internal/manifest"
)

// maxSourceBytes bounds what of one file a page takes in: a server of the contract has 60 lines.
const maxSourceBytes = 64 << 10

// A source is one model's files.
type source struct {
	ID      string // "src-echo-c-epoll"
	Service string
	Model   string
	Summary string
	Word    string // of the concurrency model
	Lines   int    // of code
	Files   []sourceFile
	Command string // what runs it, where there is no source
}

type sourceFile struct {
	Name    string
	Numbers string // 1 to n, a line each
	Text    template.HTML
}

// sources are those of all measured models, the services in the order of the experiments.
func (s *study) allSources() []source {
	var out []source
	seen := map[string]bool{}
	for _, e := range s.experiments {
		for _, c := range e.cells {
			id := anchor("src", c.Service, c.Model)
			if seen[id] {
				continue
			}
			seen[id] = true
			if m := s.model(c.Service, c.Model); m != nil {
				out = append(out, s.source(id, m))
			}
		}
	}
	slices.SortFunc(out, func(a, b source) int {
		return strings.Compare(a.Service+" "+a.Model, b.Service+" "+b.Model)
	})
	return out
}

func (s *study) source(id string, m *manifest.Model) source {
	out := source{ID: id, Service: m.Service, Model: m.Name, Summary: m.Summary, Word: m.Model,
		Lines: s.lines(m.Service, m.Name)}
	if len(m.Source) == 0 {
		out.Command = command(m.Run)
	}
	for _, name := range m.Source {
		data, err := readSource(filepath.Join(m.Dir, name))
		if err != nil {
			out.Files = append(out.Files, sourceFile{Name: name + ": " + plain(err)})
			continue
		}
		text := strings.TrimRight(string(data), "\n")
		out.Files = append(out.Files, sourceFile{
			Name: name, Numbers: lineNumbers(strings.Count(text, "\n") + 1),
			Text: tint(filepath.Ext(name), text),
		})
	}
	return out
}

func readSource(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxSourceBytes {
		return nil, fmt.Errorf("%d bytes, more than the %d that a page shows", info.Size(),
			maxSourceBytes)
	}
	return os.ReadFile(file)
}

// plain is an error without the path of this machine.
func plain(err error) string {
	if os.IsNotExist(err) {
		return "not kept with the run"
	}
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	return text
}

func lineNumbers(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

// comments are how a language writes them: to the end of the line, and from one mark to another.
var comments = map[string]struct{ line, from, to, quotes string }{
	".c": {"//", "/*", "*/", `"'`}, ".h": {"//", "/*", "*/", `"'`},
	".go":   {"//", "/*", "*/", "\"'`"},
	".java": {"//", "/*", "*/", `"`}, ".js": {"//", "/*", "*/", "\"'`"},
	".rs":  {"//", "/*", "*/", `"`},
	".erl": {"%", "", "", `"`}, ".py": {"#", "", "", `"'`}, ".rb": {"#", "", "", `"'`},
	".eve": {"#", "", "", `"`},
	".hs":  {"--", "{-", "-}", `"`},
}

// tint escapes a source and sets its comments apart, so that the eye finds the code.
func tint(ext, text string) template.HTML {
	n, known := comments[ext]
	if !known {
		return template.HTML(html.EscapeString(text))
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		rest := text[i:]
		switch end := 0; {
		case strings.HasPrefix(rest, n.line):
			end = strings.IndexByte(rest+"\n", '\n')
			fmt.Fprintf(&b, "<i>%s</i>", html.EscapeString(rest[:end]))
			i += end
		case n.from != "" && strings.HasPrefix(rest, n.from):
			end = len(rest)
			if at := strings.Index(rest[len(n.from):], n.to); at >= 0 {
				end = at + len(n.from) + len(n.to)
			}
			fmt.Fprintf(&b, "<i>%s</i>", html.EscapeString(rest[:end]))
			i += end
		case strings.IndexByte(n.quotes, rest[0]) >= 0:
			end = quoted(rest)
			b.WriteString(html.EscapeString(rest[:end]))
			i += end
		default:
			b.WriteString(html.EscapeString(rest[:1]))
			i++
		}
	}
	return template.HTML(b.String())
}

// quoted is the length of the string that rest begins with; one that does not end on its line is
// only its mark, unless it may go over lines.
func quoted(rest string) int {
	mark := rest[0]
	for i := 1; i < len(rest); i++ {
		switch {
		case rest[i] == '\\' && mark != '`':
			i++
		case rest[i] == mark:
			return i + 1
		case rest[i] == '\n' && mark != '`':
			return 1
		}
	}
	return 1
}

// pair chooses the two models that the page shows before anyone chooses: those of the first claim
// that compares two that are there.
func (s *study) pair(all []source) (left, right int) {
	find := func(service, model string) int {
		return slices.IndexFunc(all,
			func(x source) bool { return x.Service == service && x.Model == model })
	}
	for _, e := range s.experiments {
		for _, c := range e.Claims {
			a, b := find(e.Service, c.Of.Model), find(e.Service, c.Against.Model)
			if a >= 0 && b >= 0 && a != b {
				return a, b
			}
		}
	}
	return 0, min(1, len(all)-1)
}
