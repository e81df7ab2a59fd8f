package findings

// The paragraphs about causes. People write them, in a file for each source, and no command changes
// these files:
//
//	# Why: eve.txt
//	machine: 2 cores of AMD EPYC
//
//	## E2b
//	written for: not reproduced
//	looked with: strace -c
//
//	Node has become faster: ...
//
// A heading may name several claims of which the same can be said. "written for" lists the verdicts
// of which the paragraph is true. "looked with" names the tools that showed it; without it, the
// paragraph rests on what others have published.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"interleave/internal/record"
	"interleave/internal/stats"
)

// WhyDir is the folder of the paragraphs, below that of the pages.
const WhyDir = "why"

// A Why is one paragraph.
type Why struct {
	Claims  []string     // of which it is written
	Words   []stats.Word // the verdicts of which it is true
	Machine string
	Tools   string // that it was looked into with; empty: it was not
	Text    string // paragraphs of Markdown
	File    string
	Line    int // of its heading
}

// A lineError is a mistake in a file of paragraphs.
type lineError struct {
	file string
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.file, e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// The keys of a paragraph.
const (
	keyMachine = "machine: "
	keyWords   = "written for: "
	keyTools   = "looked with: "
)

// ParseWhys reads a file of paragraphs. Its name appears in errors.
func ParseWhys(name, text string) ([]Why, error) {
	var out []Why
	var errs []error
	machine := ""
	wrong := func(line int, format string, args ...any) {
		errs = append(errs, &lineError{name, line, fmt.Errorf(format, args...)})
	}
	for i, l := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		heading, isHeading := strings.CutPrefix(l, "## ")
		switch {
		case isHeading:
			w := Why{Machine: machine, File: name, Line: i + 1}
			for id := range strings.SplitSeq(heading, ",") {
				w.Claims = append(w.Claims, strings.TrimSpace(id))
			}
			out = append(out, w)
		case len(out) == 0:
			if m, found := strings.CutPrefix(l, keyMachine); found {
				machine = strings.TrimSpace(m)
			} else if l != "" && !strings.HasPrefix(l, "# ") {
				wrong(i+1, "expected `## CLAIM` before any text")
			}
		default:
			if err := out[len(out)-1].add(l); err != nil {
				wrong(i+1, "%w", err)
			}
		}
	}
	for i := range out {
		out[i].Text = strings.TrimSpace(out[i].Text)
		if err := out[i].check(); err != nil {
			wrong(out[i].Line, "%w", err)
		}
	}
	return out, errors.Join(errs...)
}

// add takes a line below the heading.
func (w *Why) add(line string) error {
	if strings.TrimSpace(w.Text) != "" {
		if strings.HasPrefix(line, "#") {
			return errors.New("a heading has two #: `## CLAIM`")
		}
		w.Text += line + "\n"
		return nil
	}
	switch {
	case strings.HasPrefix(line, keyMachine):
		w.Machine = strings.TrimSpace(line[len(keyMachine):])
	case strings.HasPrefix(line, keyTools):
		w.Tools = strings.TrimSpace(line[len(keyTools):])
	case strings.HasPrefix(line, keyWords):
		for word := range strings.SplitSeq(line[len(keyWords):], ",") {
			v := stats.Word(strings.TrimSpace(word))
			if !slices.Contains(order, v) {
				return fmt.Errorf("%q is no verdict: expected %s", v, joined(order))
			}
			w.Words = append(w.Words, v)
		}
	case strings.HasPrefix(line, "#"):
		return errors.New("a heading has two #: `## CLAIM`")
	default:
		w.Text += line + "\n"
	}
	return nil
}

// check says what a paragraph lacks.
func (w *Why) check() error {
	switch {
	case slices.Contains(w.Claims, ""):
		return errors.New("the heading names no claim: expected `## E1a` or `## E1a, E1b`")
	case len(w.Words) == 0:
		return errors.New("expected `written for: ` with the verdicts of which the paragraph is " +
			"true, below the heading")
	case w.Machine == "":
		return errors.New("expected `machine: ` at the top of the file or below the heading")
	case w.Text == "":
		return errors.New("the paragraph is empty: leave its heading out")
	}
	return nil
}

func joined(words []stats.Word) string {
	var list []string
	for _, w := range words {
		list = append(list, string(w))
	}
	return strings.Join(list, ", ")
}

// ReadWhys reads all paragraphs below a folder of pages; a folder without any is none. A paragraph
// for a claim that the figures do not have, or for one of another source, and a second one for a
// claim are mistakes.
func ReadWhys(dir string, f *Figures) (map[string]Why, error) {
	files, err := filepath.Glob(filepath.Join(dir, WhyDir, "*.md"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	out := map[string]Why{}
	var errs []error
	for _, file := range files {
		if filepath.Base(file) == summaryFile {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		list, err := ParseWhys(file, string(data))
		if err != nil {
			errs = append(errs, err)
		}
		source := strings.TrimSuffix(filepath.Base(file), ".md")
		for _, w := range list {
			for _, id := range w.Claims {
				if err := place(out, f, source, id, w); err != nil {
					errs = append(errs, &lineError{w.File, w.Line, err})
				}
			}
		}
	}
	return out, errors.Join(errs...)
}

func place(out map[string]Why, f *Figures, source, id string, w Why) error {
	i := slices.IndexFunc(f.Claims, func(c Claim) bool { return c.ID == id && c.Source == source })
	if i < 0 {
		for _, c := range f.Claims {
			if c.ID == id {
				return fmt.Errorf("claim %s is of %s: its paragraph belongs into %s.md", id,
					c.Source, c.Source)
			}
		}
		return fmt.Errorf("there is no claim %q in the experiments on %s", id, source)
	}
	key := source + " " + id
	if first, twice := out[key]; twice {
		return fmt.Errorf("claim %s has a paragraph already, at line %d", id, first.Line)
	}
	out[key] = w
	return nil
}

// machineOf names the machine of a run as paragraphs do.
func (f *Figures) machineOf() string { return NameOf(f.Machine) }

// NameOf names a machine as paragraphs do.
func NameOf(m record.Machine) string {
	noun := "cores"
	if m.Cores == 1 {
		noun = "core"
	}
	return fmt.Sprintf("%d %s of %s", m.Cores, noun, m.CPU)
}

// stale says why a paragraph may no longer be true of a claim; empty if nothing speaks against it.
// A paragraph is held against the verdict of the machine on which it was written, and against one
// that another machine alone has given.
func (s *Set) stale(w Why, c Claim) string {
	var parts []string
	o := s.outcome(c)
	var there []stats.Word // verdicts of the machines that bear the paragraph's name
	if w.Machine == s.machineOf() {
		there = append(there, c.Word)
	}
	for _, v := range o.voices {
		if v.machineOf() == w.Machine {
			there = append(there, v.claim.Word)
		}
	}
	known := len(there) > 0
	if !known {
		there = append(there, c.Word)
	}
	wrong := func(word stats.Word) bool { // a silent one contradicts nothing
		return !slices.Contains(w.Words, word) && word != "" && !silent(word)
	}
	switch {
	case !slices.ContainsFunc(there, func(word stats.Word) bool { return !wrong(word) }):
		parts = append(parts, fmt.Sprintf("it was written for: %s; the verdict is now: %s",
			joined(w.Words), there[0]))
	case o.by != nil && o.by.machineOf() != w.Machine && wrong(o.claim.Word):
		parts = append(parts, fmt.Sprintf("it was written for: %s; the verdict of %s is: %s",
			joined(w.Words), s.label(o.by.Other), o.claim.Word))
	}
	if !known {
		parts = append(parts, fmt.Sprintf("it was written on %s; %s", w.Machine, s.runsOf()))
	}
	return strings.Join(parts, "; ")
}

// runsOf names the machines of the runs.
func (s *Set) runsOf() string {
	if len(s.Others) == 0 {
		return "this run is of " + s.machineOf()
	}
	return "these runs are of " + list(texts(s.All(), Other.machineOf))
}
