// Package diag holds what the compiler says about a program: what is wrong, where, why, and the
// edit that mends it. Passes fill a List; only the renderers know about terminals and JSON.
package diag

import (
	"fmt"
	"slices"
	"strings"

	"interleave/eve/source"
)

// A Code names a kind of diagnostic, "E0402" or "W0402"; `eve explain CODE` describes it.
type Code string

// IsError says whether the program is rejected because of it.
func (c Code) IsError() bool { return len(c) > 0 && c[0] == 'E' }

// IsText says whether the code is one of text and layout: what has it could not be read.
func (c Code) IsText() bool { return strings.HasPrefix(string(c), "E01") }

// A Label points at a second place and says what it has to do with the first.
type Label struct {
	Span source.Span
	Text string // "you asked to read counter here"
}

// A Fix is one edit that mends the program: Span is replaced by New.
type Fix struct {
	Text string // "write [+counter, +client]"
	Note string // "tasks that only read counter still run in parallel"; may be empty
	Span source.Span
	New  string
}

// A Diagnostic is one thing to say about a program.
type Diagnostic struct {
	Code Code
	Span source.Span // of the use that is wrong
	// one sentence without a full stop: "cannot change 'counter' with read permission"
	Message string
	Label   string  // beside the carets: "this changes it"; may be empty
	Also    []Label // of the list, the declaration, the first use
	Fix     *Fix    // nil when there is no one edit
}

// A List collects diagnostics of one compilation. The zero List is ready to use.
type List struct {
	all []Diagnostic
}

// Add records d and returns a pointer to it, so that the caller can hang labels on it. The pointer
// is good until the next Add.
func (l *List) Add(d Diagnostic) *Diagnostic {
	l.all = append(l.all, d)
	return &l.all[len(l.all)-1]
}

// Errorf records a diagnostic that has only a place and a sentence.
func (l *List) Errorf(code Code, span source.Span, format string, args ...any) *Diagnostic {
	return l.Add(Diagnostic{Code: code, Span: span, Message: fmt.Sprintf(format, args...)})
}

// Len counts what was recorded so far, doubles included.
func (l *List) Len() int { return len(l.all) }

// Since gives what was recorded when there were n, good until the next Add; nil when nothing
// was since then.
func (l *List) Since(n int) *Diagnostic {
	if n >= len(l.all) {
		return nil
	}
	return &l.all[n]
}

// HasErrors says whether the program is rejected.
func (l *List) HasErrors() bool {
	return slices.ContainsFunc(l.all, func(d Diagnostic) bool { return d.Code.IsError() })
}

// Sorted gives the diagnostics by place, without doubles (same code and span: generic bodies are
// checked once for each instance).
func (l *List) Sorted() []Diagnostic {
	all := slices.Clone(l.all)
	slices.SortStableFunc(all, func(a, b Diagnostic) int {
		switch {
		case a.Span.Less(b.Span):
			return -1
		case b.Span.Less(a.Span):
			return 1
		}
		return 0
	})
	all = slices.CompactFunc(all,
		func(a, b Diagnostic) bool { return a.Code == b.Code && a.Span == b.Span })
	return readable(all)
}

// readable drops what is said about the meaning of lines that could not be read: mostly
// it comes of that.
func readable(all []Diagnostic) []Diagnostic {
	type line struct {
		file *source.File
		n    int
	}
	torn := map[line]bool{}
	for _, d := range all {
		if d.Code.IsText() {
			torn[line{d.Span.File, d.Span.Line()}] = true
		}
	}
	if len(torn) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(d Diagnostic) bool {
		return !d.Code.IsText() && torn[line{d.Span.File, d.Span.Line()}]
	})
}
