package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/record"
)

func TestARunMeasuresEverythingOnceARound(t *testing.T) {
	b := &fakeBench{answer: func(_ *Spec, c *record.Cell, _ int) error {
		c.Status = record.Measured
		return nil
	}}
	r, events := aRunner(t, madeTree(), "", b)
	if err := r.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.Record.Close()
	cells, finished := recorded(t, r.Record.Dir)
	if want := 6 * 3 * 4; len(cells) != want || !finished { // rounds, points, cells with the twin
		t.Errorf("%d cells, finished %v; want %d, true", len(cells), finished, want)
	}
	count := map[string]int{}
	for _, c := range cells {
		count[c]++
	}
	for c, n := range count {
		if n != 1 {
			t.Errorf("%s is there %d times", c, n)
		}
	}
	checkEvents(t, *events, len(cells))
}

// checkEvents holds what a watcher relies on: windows in pairs within cells, a count that rises, a
// time left that ends with nothing.
func checkEvents(t *testing.T, events []Event, cells int) {
	t.Helper()
	var kinds []Kind
	done := 0
	for _, e := range events {
		kinds = append(kinds, e.Kind)
		if e.Kind == CellEnds {
			done++
			if e.Done != done || e.Total != cells || e.Cell == nil || e.Spec == nil ||
				e.Cell.Took != e.Spec.Estimate() {
				t.Fatalf("event of cell %d: %+v", done, e)
			}
			want := time.Duration(cells-done) * e.Spec.Estimate()
			if (e.Left - want).Abs() > time.Millisecond {
				t.Fatalf("after cell %d of %d %v are left, want %v", done, cells, e.Left, want)
			}
		}
	}
	var want []Kind
	for range 6 {
		for range cells / 6 {
			want = append(want, CellStarts, WindowOpens, WindowCloses, CellEnds)
		}
		want = append(want, RoundEnds)
	}
	if want = append(want, Ends); !slices.Equal(kinds, want) {
		t.Errorf("events %v,\nwant %v", kinds, want)
	}
}

func TestTheCellsOfAPointRunBackToBack(t *testing.T) {
	b := &fakeBench{}
	r, _ := aRunner(t, madeTree(), "", b)
	if err := r.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	orders := map[string]bool{}
	for i := 0; i < len(b.asked); i += 4 {
		var models []string
		for _, name := range b.asked[i : i+4] {
			if filepath.Dir(name) != filepath.Dir(b.asked[i]) {
				t.Fatalf("a block holds %q: two points", b.asked[i:i+4])
			}
			models = append(models, filepath.Base(name))
		}
		orders[strings.Join(models, " ")] = true
		slices.Sort(models)
		if !slices.Equal(models, []string{"a", "a'", "b", "c"}) {
			t.Errorf("a block measures %q", models)
		}
	}
	if len(orders) < 6 { // of 24; 18 blocks show fewer than 6 once in 10^9
		t.Errorf("only %d orders in %d blocks: they are not shuffled", len(orders), len(b.asked)/4)
	}
}

func TestSecondAttempts(t *testing.T) {
	tests := []struct {
		name     string
		spoil    []string // gates that a cell of model b in round 2 fails, always
		once     bool     // only the first time
		attempts int
	}{
		{"the machine, once", []string{"steal"}, true, 2},
		{"the machine, always", []string{"foreign-cpu", "late"}, false, 2},
		{"the server", []string{"wrong-reply"}, false, 1},
		{"both", []string{"steal", "died"}, false, 1},
		{"the instrument", []string{"littles-law"}, false, 1},
		{"the instrument because of the machine", []string{"littles-law", "achieved",
			"foreign-cpu"}, false, 2},
		{"nothing", nil, false, 1},
	}
	for _, tt := range tests {
		seen, rounds := 0, 0
		b := &fakeBench{}
		b.answer = func(s *Spec, c *record.Cell, _ int) error {
			c.Status = record.Measured
			if spelt(s) != "second/connections = 4/b" {
				return nil
			}
			rounds++
			if rounds == 2 || rounds == 3 && seen == 1 {
				seen++
				if tt.once && seen == 2 {
					return nil
				}
				for _, gate := range tt.spoil {
					spoil(c, gate)
				}
			}
			return nil
		}
		tree := madeTree()
		tree.Experiments = tree.Experiments[1:]
		r, _ := aRunner(t, tree, "", b)
		if err := r.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		var attempts []int
		var at []int
		for i, c := range r.Cells {
			if c.Model == "b" && c.Round == 2 {
				attempts, at = append(attempts, c.Attempt), append(at, i)
			}
		}
		if len(attempts) != tt.attempts || len(attempts) == 2 && (attempts[1] != 2 ||
			at[1] != at[0]+1) {
			t.Errorf("%s: attempts %v at %v, want %d, one after the other", tt.name, attempts, at,
				tt.attempts)
		}
		if want := 6*4 + tt.attempts - 1; len(r.Cells) != want {
			t.Errorf("%s: %d cells, want %d", tt.name, len(r.Cells), want)
		}
	}
}

// TestABrokenServerIsNotTriedAgain keeps a server that dies from doubling the time of a run.
func TestABrokenServerIsNotTriedAgain(t *testing.T) {
	b := &fakeBench{answer: func(s *Spec, c *record.Cell, _ int) error {
		if s.Model.Name == "b" {
			*c = record.Cell{Status: record.Broken,
				Reasons: []record.Reason{{Gate: "died", Text: "died"}}}
		}
		return nil
	}}
	r, _ := aRunner(t, madeTree(), "", b)
	if err := r.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if want := 6 * 3 * 4; len(b.asked) != want {
		t.Errorf("%d cells were measured, want %d", len(b.asked), want)
	}
}

// TestStopAndGoOn stops a run in every cell, and goes on: the cells must be those of a run that was
// never stopped, in the same order, none twice.
func TestStopAndGoOn(t *testing.T) {
	noisy := func(_ *Spec, c *record.Cell, nth int) error {
		c.Status = record.Measured
		return nil
	}
	whole := &fakeBench{answer: noisy}
	r, _ := aRunner(t, madeTree(), "", whole)
	if err := r.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	want, _ := recorded(t, r.Record.Dir)
	for stop := 1; stop <= len(want); stop += 5 {
		for _, torn := range []bool{false, true} {
			ctx, cancel := context.WithCancel(context.Background())
			b := &fakeBench{answer: func(_ *Spec, c *record.Cell, nth int) error {
				c.Status = record.Measured
				if nth == stop {
					cancel()
				}
				return nil
			}}
			r, events := aRunner(t, madeTree(), "", b)
			err := r.Run(ctx)
			if !errors.Is(err, ErrStopped) {
				t.Fatalf("stopped in cell %d: got %v, want ErrStopped", stop, err)
			}
			if slices.ContainsFunc(*events, func(e Event) bool { return e.Kind == Ends }) {
				t.Fatal("a stopped run tells that it ended")
			}
			r.Record.Close()
			if torn {
				tear(t, r.Record.Dir)
			}
			got, finished := recorded(t, r.Record.Dir)
			if len(got) != stop-1 || finished {
				t.Fatalf("stopped in cell %d: %d are recorded, finished %v", stop, len(got),
					finished)
			}
			again := &fakeBench{answer: noisy}
			r, _ = aRunner(t, madeTree(), r.Record.Dir, again)
			if err := r.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			if got, _ = recorded(t, r.Record.Dir); !slices.Equal(got, want) {
				t.Fatalf("stopped in cell %d and resumed, the record differs from one that was "+
					"never stopped:\n%s\nwant\n%s",
					stop, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			cancel()
		}
	}
}

// tear leaves half of a line at the record's end, as a kill in the middle of a write does.
func tear(t *testing.T, dir string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "cells.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(`{"experiment":"first","point":"connections = 1","mod`)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestStoppedBetweenTwoAttempts goes on with the second attempt, not with a third.
func TestStoppedBetweenTwoAttempts(t *testing.T) {
	tree := madeTree()
	tree.Experiments = tree.Experiments[1:]
	stolen := func(_ *Spec, c *record.Cell, _ int) error { spoil(c, "steal"); return nil }
	ctx, cancel := context.WithCancel(context.Background())
	r, _ := aRunner(t, tree, "", &fakeBench{answer: func(s *Spec, c *record.Cell, nth int) error {
		if nth == 4 {
			cancel()
		}
		return stolen(s, c, nth)
	}})
	if err := r.Run(ctx); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	r.Record.Close()
	r, _ = aRunner(t, tree, r.Record.Dir, &fakeBench{answer: stolen})
	if err := r.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	attempts := map[string]int{}
	got, _ := recorded(t, r.Record.Dir)
	for i, line := range got {
		f := strings.SplitN(line, " ", 3)
		attempts[f[0]+" "+f[2]]++
		if want := fmt.Sprint(i%2 + 1); f[1] != want {
			t.Errorf("cell %d is attempt %s, want %s", i, f[1], want)
		}
	}
	for name, n := range attempts {
		if n != 2 {
			t.Errorf("%s has %d attempts, want 2", name, n)
		}
	}
}

// TestAFullDiskStopsTheRun bounds the size of files: the record fails as it does on a full disk.
func TestAFullDiskStopsTheRun(t *testing.T) {
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	restore := func() {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
			t.Fatal(err)
		}
	}
	defer restore()
	r, _ := aRunner(t, madeTree(), "", answering(func(_ *Spec, _ *record.Cell, nth int) error {
		if nth == 5 {
			return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1, Max: old.Max})
		}
		return nil
	}))
	err := r.Run(context.Background())
	restore()
	if err == nil || !strings.Contains(err.Error(), "record a cell") || errors.Is(err, ErrStopped) {
		t.Errorf("got %v, want that the cell could not be recorded", err)
	}
	r.Record.Close()
	got, finished := recorded(t, r.Record.Dir)
	if len(got) != 4 || finished {
		t.Errorf("%d cells are recorded, finished %v; want the 4 before the disk was full",
			len(got), finished)
	}
}

// answering is a bench with this answer.
func answering(answer func(*Spec, *record.Cell, int) error) *fakeBench {
	return &fakeBench{answer: answer}
}

func TestABenchThatFailsEndsTheRun(t *testing.T) {
	broken := errors.New("no more processes")
	r, _ := aRunner(t, madeTree(), "", &fakeBench{answer: func(_ *Spec, _ *record.Cell,
		nth int) error {
		if nth == 3 {
			return broken
		}
		return nil
	}})
	if err := r.Run(context.Background()); !errors.Is(err, broken) || errors.Is(err, ErrStopped) {
		t.Errorf("got %v, want %v", err, broken)
	}
	if got, _ := recorded(t, r.Record.Dir); len(got) != 2 {
		t.Errorf("%d cells are recorded, want 2", len(got))
	}
}

// TestPrecisionAddsRounds has one model noisy at one point of two: rounds are added for it and the
// baseline there, for nobody else, and not beyond the most.
func TestPrecisionAddsRounds(t *testing.T) {
	tests := []struct {
		name   string
		noise  func(round int) float64 // of the logarithm of b at connections = 8
		rounds int
	}{
		{"never wide", func(int) float64 { return 0 }, 6},
		{"wide for ever", func(round int) float64 { return .5 * float64(round%3-1) }, 12},
		{"wide at first", func(round int) float64 {
			// of ten rounds the interval leaves out the two that are widest
			return map[int]float64{1: .03, 2: -.03}[round]
		}, 10},
	}
	for _, tt := range tests {
		tree := madeTree()
		tree.Experiments = tree.Experiments[:1]
		e := tree.Experiments[0]
		e.Normal.MaxRounds = 12
		e.Claims = []manifest.Claim{{
			ID: "D1", Kind: "direction", Metric: manifest.Throughput, Sense: "less", Margin: 1.05,
			Of: manifest.Term{Model: "b"}, Against: manifest.Term{Model: "a"},
		}}
		round := 0
		b := &fakeBench{answer: func(s *Spec, c *record.Cell, _ int) error {
			rate := 1000.0
			if s.Model.Name == "b" && s.Point.X == 8 {
				round++
				rate *= math.Exp(tt.noise(round))
			}
			answered(c, rate)
			return nil
		}}
		r, _ := aRunner(t, tree, "", b)
		if err := r.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if round != tt.rounds {
			t.Errorf("%s: %d rounds, want %d", tt.name, round, tt.rounds)
		}
		for _, c := range r.Cells {
			if c.Round > 6 && (c.Point != "connections = 8" || c.Model == "c") {
				t.Errorf("%s: round %d measures %s at %s, whose intervals are narrow", tt.name,
					c.Round, c.Model, c.Point)
			}
		}
		if want := 6*8 + 3*(tt.rounds-6); len(r.Cells) != want { // b and the baseline twice
			t.Errorf("%s: %d cells, want %d", tt.name, len(r.Cells), want)
		}
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestLeanCellsTellTheSame holds that no metric needs what is left out.
func TestLeanCellsTellTheSame(t *testing.T) {
	solved := sound()
	solved.Load = manifest.Load{Shape: manifest.Solve, Kernel: manifest.KernelTransfer, Workers: 1,
		Problem: 4096}
	solved.Result.Part = &load.Solved{Solutions: 100, Bytes: 1 << 20, Took: at(time.Millisecond)}
	for _, full := range []*record.Cell{sound(), scheduled(), paced(), pinged(), solved} {
		full.Status, full.Tail = record.Measured, "a stack trace"
		slim := lean(*full)
		if slim.Tail != "" || slim.Result.Slices != nil || full.Result.Slices == nil {
			t.Fatal("nothing was left out, or the full cell changed")
		}
		if text := marshal(t, slim.Result); strings.Contains(text, `"late"`) ||
			strings.Contains(text, `"service"`) || strings.Contains(text, `"trip"`) ||
			strings.Contains(text, `"took"`) != (full == solved) {
			t.Errorf("of shape %s there are left: %s", full.Load.Shape, text)
		}
		for m := range manifest.Metrics {
			was, had := full.Metric(m)
			is, has := slim.Metric(m)
			if was != is || had != has {
				t.Errorf("%s at a load of shape %s: %v, %v became %v, %v", m, full.Load.Shape, was,
					had, is, has)
			}
		}
	}
	if broken := lean(record.Cell{Status: record.Broken}); broken.Result != nil ||
		broken.Server != nil {
		t.Errorf("a cell without a result became %+v", broken)
	}
}
