// Package diag holds the compiler's diagnostics: the error, its place, the reason, and a fix.
// Passes fill a List; only the renderers know about terminals and JSON.
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

// IsText says whether the code is about text and layout: such text could not be parsed.
func (c Code) IsText() bool { return strings.HasPrefix(string(c), "E01") }

// A Label points at a second place and says how it relates to the first.
type Label struct {
	Span source.Span
	Text string // "this asks to read counter here"
}

// A Fix is one edit that corrects the program: New replaces Span.
type Fix struct {
	Text string // "write [+counter, +client]"
	Note string // "tasks that only read counter still run in parallel"; may be empty
	Span source.Span
	New  string
}

// A Diagnostic is one error or warning.
type Diagnostic struct {
	Code Code
	Span source.Span // of the wrong use
	// one sentence without a full stop: "cannot change 'counter' with read permission"
	Message string
	Label   string  // beside the carets: "this changes it"; may be empty
	Also    []Label // of the list, the declaration, the first use
	Fix     *Fix    // nil when there is no single edit
}

// A List collects diagnostics of one compilation. The zero List is ready to use.
type List struct {
	all []Diagnostic
}

// Add records d and returns a pointer to it, so that the caller can add labels. The pointer is
// valid until the next Add.
func (l *List) Add(d Diagnostic) *Diagnostic {
	l.all = append(l.all, d)
	return &l.all[len(l.all)-1]
}

// Errorf records a diagnostic that has only a place and a message.
func (l *List) Errorf(code Code, span source.Span, format string, args ...any) *Diagnostic {
	return l.Add(Diagnostic{Code: code, Span: span, Message: fmt.Sprintf(format, args...)})
}

// Len counts the recorded diagnostics, with duplicates.
func (l *List) Len() int { return len(l.all) }

// Since returns the diagnostic recorded after the first n, valid until the next Add; nil when
// there is none.
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

// Sorted returns the diagnostics by place, without duplicates (same code and span: generic bodies
// are checked once for each instance).
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

// readable drops diagnostics about the meaning of lines that could not be parsed, since most of
// them are consequences.
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
