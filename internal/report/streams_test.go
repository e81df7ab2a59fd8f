package report

import (
	"math"
	"strings"
	"testing"
	"time"

	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/sample"
)

// aStream is a cell of ten seconds, sampled every 100 ms: two traced threads of 20 and 10 % of a
// core, and 5 % that others use; memory grows by a MiB in each second.
func aStream() record.Cell {
	series := &sample.Series{Every: 100 * time.Millisecond,
		Traced: []sample.Thread{{TID: 7, Name: "main"}, {TID: 8, Name: "poll"}}}
	for i := range 101 {
		d := time.Duration(i) * time.Millisecond
		m := sample.Sample{At: time.Duration(i) * 100 * time.Millisecond, User: 35 * d,
			RSS: int64(i)*(1<<20)/10 + 1<<20}
		if i%2 == 0 { // they are not looked at in each
			m.Ran = []time.Duration{20 * d, 10 * d}
		}
		series.Samples = append(series.Samples, m)
	}
	for i, mark := range map[int]string{0: sample.MarkIdle, 20: sample.MarkRamp,
		40: sample.MarkOpen, 100: sample.MarkClosed} {
		series.Samples[i].Mark = mark
	}
	return record.Cell{
		Model: "go-goroutine", Point: "connections = 1000", Condition: manifest.Own, Round: 1,
		Status: record.Measured, Server: series,
		Result: &load.Result{Part: &load.Streams{Texts: 1}},
		Load:   manifest.Load{Shape: manifest.Streams, Connections: 1000, Rate: 500},
	}
}

func TestThreadsOf(t *testing.T) {
	cell := aStream()
	f, ok := threadsOf(&cell)
	if !ok || len(f.X) < 10 || len(f.Bands) != 3 || f.Ramp != 2 || f.Span != [2]float64{4, 10} {
		t.Fatalf("got %d intervals of %d bands, a ramp of %v and a window %v, %v", len(f.X),
			len(f.Bands), f.Ramp, f.Span, ok)
	}
	for n, want := range []float64{20, 10, 5} {
		for i, got := range f.Bands[n] {
			if math.Abs(got-want) > .01 {
				t.Errorf("%s in interval %d: got %v %% of a core, want %v", f.Names[n], i, got,
					want)
			}
		}
	}
	for i := 1; i < len(f.X); i++ {
		if f.X[i] <= f.X[i-1] || f.First >= f.X[0] {
			t.Errorf("interval %d ends at %v, after %v", i, f.X[i], f.X[i-1])
		}
	}
	const want = "it uses 35 % of a core, main (7) of it 20 %; at the end memory is 11.0 MiB, " +
		"and it was 3.0"
	if got := strings.ReplaceAll(said(f), "\u202f", " "); !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := len(threadTable(f).Rows); got < 5 || got > 20 {
		t.Errorf("got a table of %d lines", got)
	}
	cell.Server.Traced = nil
	if _, ok := threadsOf(&cell); ok {
		t.Error("without traced threads: got a figure")
	}
}

func TestCourses(t *testing.T) {
	void, small, other, again := aStream(), aStream(), aStream(), aStream()
	void.Status = record.Void
	small.Load.Connections = 10
	other.Model = "c-epoll"
	again.Round = 2
	e := &experiment{Experiment: &manifest.Experiment{Name: "x", Models: []string{"go-goroutine",
		"c-epoll"}, Baseline: "go-goroutine"},
		cells: []record.Cell{void, small, other, again}}
	got := e.courses(manifest.Own)
	if len(got) != 1 || got[0].cell.Round != 2 {
		t.Errorf("got %d courses, want that of the baseline's measured cell at most connections",
			len(got))
	}
	for _, d := range (&study{}).ofStreams(e, manifest.Own) {
		svg := string(d.Paper) + string(d.Phone)
		if n := strings.Count(svg, `<path class="part"`); n != 6 ||
			!strings.Contains(svg, "main (7)") || !strings.Contains(svg, `stroke-dasharray="6 4"`) {
			t.Errorf("got %d bands in two drawings, want 6, with names and the ramp:\n%.300s", n,
				svg)
		}
	}
	if got := e.courses(manifest.Shared); len(got) != 0 {
		t.Errorf("in another condition: got %d courses", len(got))
	}
}
