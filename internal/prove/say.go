package prove

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
)

// A speaker writes a run's messages for people.
type speaker struct{ w io.Writer }

func (s *speaker) line(form string, words ...any) {
	_, _ = fmt.Fprintf(s.w, form+"\n", words...) // a reader that has gone does not need the rest
}

// result writes the line of one package's tests.
func (s *speaker) result(r *Result) {
	if r.Remembered {
		return // the end prints their number
	}
	word := "ok  "
	if r.Failed > 0 {
		word = "FAIL"
	}
	name := strings.TrimSpace(r.Package + " " + strings.Join(r.Args, " "))
	s.line("%s %-5s %-34s %6.1f s %7.1f s of CPU  %4d tests", word, r.Ring, name, r.Wall.Seconds(),
		(r.User + r.System).Seconds(), r.Passed+r.Failed+len(r.Skips))
	if len(r.Unlisted) > 0 {
		s.line("     not remembered: it read %s, which rings.toml does not list for it",
			some(r.Unlisted))
	}
	if len(r.Changed) > 0 {
		s.line("     not remembered: somebody has changed %s since the run began", some(r.Changed))
	}
	for _, f := range r.Failures {
		s.failure("FAIL", r, f)
	}
	for _, f := range r.Unsteady {
		s.failure("UNSTEADY", r, f)
	}
}

// some lists the first few names.
func some(names []string) string { return strings.Join(names[:min(len(names), 3)], ", ") }

// failure writes everything that a person needs to act on a failure.
func (s *speaker) failure(word string, r *Result, f Failure) {
	s.line("\n--- %s: %s %s (%.1f s)", word, r.Package, cmp.Or(f.Test, "(the test program)"),
		f.Took.Seconds())
	for line := range strings.Lines(f.Output) {
		s.line("    %s", strings.TrimRight(line, "\n"))
	}
	s.line("    meanwhile: %v", f.Meanwhile)
	s.line("    again:     %s\n", f.Again)
}

// Help writes the contents of each ring, and the tests that the first leaves to the others.
func (r *Rings) Help(w io.Writer) {
	for _, ring := range r.Ring {
		fmt.Fprintf(w, "%-12s  %s\n", ring.Name, ring.About)
	}
}

// Show writes the table as a person reads it: each ring with its parts.
func (r *Rings) Show(w io.Writer) {
	for _, ring := range r.Ring {
		fmt.Fprintf(w, "%s: %s\n", ring.Name, ring.About)
		for _, p := range r.Part {
			if p.Ring != ring.Name {
				continue
			}
			tests := "all tests"
			if len(p.Tests) > 0 {
				tests = strings.Join(p.Tests, " ")
			}
			fmt.Fprintf(w, "    %s: %s\n        %s\n", strings.Join(p.Packages, " "), tests, p.Why)
		}
	}
}

// age is a duration for people.
func age(d time.Duration) string { return d.Round(time.Second).String() }
