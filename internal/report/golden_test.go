package report

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
)

// runs are the made-up runs that every form of report has to stand.
func runs(t *testing.T) map[string]Run {
	t.Helper()
	tree := sources(t, syntheticTree(t.TempDir()))
	return map[string]Run{
		"normal": synthesize(tree, recipe{seed: 3, rounds: 12, depth: "normal", losses: .01}),
		"one":    synthesize(tree, recipe{seed: 4, rounds: 1, depth: "quick"}),
		"empty":  synthesize(tree, recipe{depth: "quick", aborted: true}),
		"aborted": synthesize(tree, recipe{seed: 5, rounds: 6, depth: "quick", losses: .2,
			aborted: true, absent: []string{"c-process", "java-thread"}}),
		"few": synthesize(tree, recipe{seed: 6, rounds: 6, depth: "quick", points: 1,
			absent: []string{"c-thread", "c-uring", "java-virtual"}}),
		"tiny": synthesize(tree, recipe{seed: 9, rounds: 6, depth: "quick", points: 1,
			absent: []string{
				"c-thread", "c-uring", "java-virtual", "java-thread", "c-epoll-percore",
				"rust-async",
				"node-prefork", "c-libev", "node-loop",
			}}),
		"no tree": {Header: synthesize(tree, recipe{seed: 7, rounds: 1, depth: "quick"}).Header},
	}
}

func TestGolden(t *testing.T) {
	all := runs(t)
	forms := map[string]func(io.Writer) error{
		"normal.md": func(w io.Writer) error { return Markdown(w, all["normal"]) },
		"normal.txt": func(w io.Writer) error {
			return Terminal(w, all["normal"], 100, false)
		},
		"few-color.txt": func(w io.Writer) error { return Terminal(w, all["few"], 80, true) },
		"one.txt":       func(w io.Writer) error { return Terminal(w, all["one"], 60, false) },
		"empty.txt": func(w io.Writer) error {
			return Terminal(w, all["empty"], 80, false)
		},
		"aborted.md": func(w io.Writer) error { return Markdown(w, all["aborted"]) },
		"tiny.bench": func(w io.Writer) error { return Benchstat(w, all["tiny"]) },
		"tiny.json":  func(w io.Writer) error { return JSON(w, all["tiny"]) },
		"compare.txt": func(w io.Writer) error {
			return Compare(w, all["few"], slower(all["few"]), 100, false)
		},
		"compare-itself.txt": func(w io.Writer) error {
			return Compare(w, all["few"], all["few"], 100, false)
		},
	}
	for name, write := range forms {
		var got bytes.Buffer
		if err := write(&got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: %s\nlook at it, then: go test ./internal/report -update", file,
				firstDifference(got.String(), string(want)))
		}
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "line " + strconv.Itoa(i+1) + ":\n got " + g[i] + "\nwant " + w[i]
		}
	}
	return "one ends earlier"
}

// slower is a run of the same tree on another machine, half as fast.
func slower(run Run) Run {
	other := synthesize(run.Tree, recipe{seed: 8, rounds: 6, depth: "quick", points: 1, slower: 2,
		absent: []string{"c-thread", "c-uring", "java-virtual", "node-loop"}})
	other.Header.ID = "20261122T080000Z"
	other.Header.Machine.Cores = 8
	other.Header.Machine.ToolChains = map[string]string{"cc": "gcc 14.2.0", "go": "1.26.8"}
	return other
}

func TestTextFormsStandEveryRun(t *testing.T) {
	for name, run := range runs(t) {
		for form, write := range map[string]func(io.Writer) error{
			"markdown": func(w io.Writer) error { return Markdown(w, run) },
			"terminal": func(w io.Writer) error { return Terminal(w, run, 20, true) },
			"json":     func(w io.Writer) error { return JSON(w, run) },
			"bench":    func(w io.Writer) error { return Benchstat(w, run) },
			"compare":  func(w io.Writer) error { return CompareJSON(w, run, run) },
		} {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Errorf("%s of the %s run: %v", form, name, err)
			}
			if bytes.Contains(b.Bytes(), []byte("NaN")) || bytes.Contains(b.Bytes(), []byte("%!")) {
				t.Errorf("%s of the %s run holds a number or a format that went wrong", form, name)
			}
			if (form == "json" || form == "compare") && !json.Valid(b.Bytes()) {
				t.Errorf("%s of the %s run is no JSON", form, name)
			}
		}
	}
}

func TestBenchstatIsReadByItsOwnPackage(t *testing.T) {
	run := runs(t)["few"]
	var b bytes.Buffer
	if err := Benchstat(&b, run); err != nil {
		t.Fatal(err)
	}
	r := benchfmt.NewReader(&b, "few")
	results, values := 0, 0
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			results++
			values += len(rec.Values)
			if rec.GetConfig("cpu") != "AMD EPYC" || rec.GetConfig("experiment") == "" {
				t.Errorf("%s: cpu %q, experiment %q", rec.Name, rec.GetConfig("cpu"),
					rec.GetConfig("experiment"))
			}
			if base, parts := rec.Name.Parts(); len(base) == 0 || len(parts) < 3 {
				t.Errorf("name %q has %d parts, want at least 3", rec.Name, len(parts))
			}
		case *benchfmt.SyntaxError:
			t.Error(rec)
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if results != len(run.Cells) || values < 3*results {
		t.Errorf("read %d results and %d values of %d cells", results, values, len(run.Cells))
	}
}

// failing is a disk that is full after n bytes.
type failing struct{ n int }

func (f *failing) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, os.ErrClosed
	}
	return len(p), nil
}

func TestAFullDiskIsAnError(t *testing.T) {
	run := runs(t)["few"]
	for form, write := range map[string]func(io.Writer) error{
		"html":     func(w io.Writer) error { return HTML(w, run) },
		"markdown": func(w io.Writer) error { return Markdown(w, run) },
		"terminal": func(w io.Writer) error { return Terminal(w, run, 80, false) },
		"json":     func(w io.Writer) error { return JSON(w, run) },
		"bench":    func(w io.Writer) error { return Benchstat(w, run) },
		"compare":  func(w io.Writer) error { return Compare(w, run, run, 80, false) },
	} {
		if err := write(&failing{n: 100}); err == nil {
			t.Errorf("%s: no error from a writer that failed", form)
		}
	}
}

func TestCompareTellsWhatChanged(t *testing.T) {
	few := runs(t)["few"]
	same := compare(few, few)
	if len(same.Verdicts) > 0 || len(same.Gaps) > 0 || same.OnlyA+same.OnlyB > 0 {
		t.Errorf("a run against itself: verdicts %v, set-up %v, only in one %d and %d",
			same.Verdicts, same.Gaps, same.OnlyA, same.OnlyB)
	}
	for _, c := range same.Changes {
		if c.Differs || c.Ratio == nil || *c.Ratio < .9999 || *c.Ratio > 1.0001 {
			t.Errorf("a run against itself: %s %s %s differs", c.Point, c.Model, c.Metric)
		}
	}
	other := compare(few, slower(few))
	if len(other.Gaps) == 0 || other.OnlyA == 0 {
		t.Errorf("another machine: set-up %v, only in the first %d", other.Gaps, other.OnlyA)
	}
	for _, c := range other.Changes {
		if c.Metric == "cpu-per-request" && (!c.Differs || *c.Ratio < 1.8 || *c.Ratio > 2.2) {
			t.Errorf("twice the cost: %s %s: ratio %v, differs %v", c.Point, c.Model, *c.Ratio,
				c.Differs)
		}
	}
}
