package run

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"

	"interleave/internal/manifest"
	"interleave/internal/record"
)

func TestReadRows(t *testing.T) {
	got, err := readRows(strings.NewReader("a\tyes\t3\t3\t\nb\tskip\t0\t0\tinstall "+
		"<b>\x1b[1mit\nc\tno\t0\t0\terror: x\n"), "e")
	want := []record.Build{
		{Experiment: "e", Target: "a", Built: record.BuiltYes, Passed: 3, Played: 3},
		{Experiment: "e", Target: "b", Built: record.NotTried, Note: "install <b> [1mit"},
		{Experiment: "e", Target: "c", Built: record.BuiltNo, Note: "error: x"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	for _, test := range []struct{ text, want string }{
		{"a\tyes\t3\t3", "got 4 fields"},
		{"\tyes\t3\t3\t", "expected the name of a target"},
		{"a\tperhaps\t3\t3\t", `expected yes, no or skip after the target, got "perhaps"`},
		{"a\tyes\t4\t3\t", `got "4" and "3"`},
		{"a\tyes\t-1\t3\t", `got "-1" and "3"`},
		{"a\tno\t1\t1\t", "played to what was not built"},
		{"a\tyes\t1\t1\t\na\tyes\t1\t1\t", "two rows for a"},
	} {
		if _, err := readRows(strings.NewReader(test.text), "e"); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v, want %s", test.text, err, test.want)
		}
	}
}

func FuzzRow(f *testing.F) {
	for _, seed := range []string{"a\tyes\t3\t3\t", "b\tskip\t0\t0\tinstall it",
		"c\tno\t0\t0\terror: x", "\t\t\t\t", "a\tyes\t1\t1\t\xff\x00\u202e"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		row, err := readRow(line)
		if err != nil {
			return
		}
		if row.Passed > row.Played || row.Target == "" || len([]rune(row.Target)) > maxTargetName ||
			len([]rune(row.Note)) > maxNote {
			t.Errorf("%q is read as %+v", line, row)
		}
		if strings.ContainsFunc(row.Target+row.Note,
			func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q leaves controls in %+v", line, row)
		}
	})
}

// A command's rows, what it says when it fails, and what an interrupted run has done already.
func TestTryBuilds(t *testing.T) {
	say := func(name, script string) *manifest.Experiment {
		return &manifest.Experiment{Name: name, Service: "chat", Models: []string{"c-process"},
			Builds: []string{"sh", "-c", script, "sh", "{depth}"}}
	}
	s := &Session{
		Tree: &manifest.Tree{Root: t.TempDir()}, Choice: Choice{Depth: "quick"}, Watch: silent{},
		Experiments: []*manifest.Experiment{
			say("good", `printf '%s\tyes\t1\t1\t\n' $1`),
			say("dies", `printf 'a\tskip\t0\t0\tx\n'; echo no compiler >&2; exit 3`),
			say("mute", "true"),
			say("done", "exit 9"), {Name: "measures"},
		},
	}
	before := []record.Build{{Experiment: "done", Target: "b", Built: record.BuiltYes}}
	if err := s.tryBuilds(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	want := append(before, record.Build{Experiment: "good", Target: "quick", Built: record.BuiltYes,
		Passed: 1, Played: 1},
		record.Build{Experiment: "dies", Target: "a", Built: record.NotTried, Note: "x"})
	if !slices.Equal(s.builds, want) {
		t.Errorf("got %+v\nwant %+v", s.builds, want)
	}
	if len(s.skipped) != 2 ||
		!strings.Contains(s.skipped[0].Reason, "exit status 3: no compiler") ||
		!strings.Contains(s.skipped[1].Reason, "printed no row") {
		t.Errorf("got %+v", s.skipped)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.tryBuilds(ctx, nil); !errors.Is(err, ErrStopped) {
		t.Errorf("stopped: got %v", err)
	}
}

// silent is a watcher of nothing.
type silent struct{}

func (silent) Watch(Event) {}
