package run

import (
	"context"
	"fmt"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/record"
)

// A laboratory of two experiments over one service, without a file on disk.
func madeTree() *manifest.Tree {
	service := &manifest.Service{Name: "echo", Protocol: "echo"}
	for _, name := range []string{"a", "b", "c"} {
		service.Models = append(service.Models, &manifest.Model{Name: name, Service: "echo",
			Language: "c", WarmUp: time.Second})
	}
	return &manifest.Tree{Services: []*manifest.Service{service},
		Experiments: []*manifest.Experiment{made("first", 1, 8), made("second", 4)}}
}

// made is an experiment of the models a, b and c over connections, and no claim.
func made(name string, values ...float64) *manifest.Experiment {
	depth := manifest.Depth{Rounds: 6, MaxRounds: 6, Window: time.Second,
		Sample: 100 * time.Millisecond, Conditions: []manifest.Condition{manifest.Own}}
	e := &manifest.Experiment{
		Name: name, Service: "echo", Models: []string{"a", "b", "c"}, Baseline: "a", Quick: depth,
		Normal: depth, Full: depth,
		Axis: manifest.Axis{Over: "connections", Label: "connections"},
	}
	for _, x := range values {
		e.Points = append(e.Points, manifest.Point{
			Name: fmt.Sprintf("connections = %g", x), X: x, Service: "echo",
			Load: manifest.Load{Shape: manifest.Closed, Connections: int(x), SizeBytes: 16,
				Pipeline: 1},
		})
	}
	return e
}

// A fakeBench measures nothing: it moves a clock, notes what it was asked for, and answers as it is
// told.
type fakeBench struct {
	now    time.Time
	asked  []string
	duets  int
	answer func(s *Spec, c *record.Cell, nth int) error // nth from 1, over all cells
}

func (b *fakeBench) Measure(ctx context.Context, s *Spec, _ uint64,
	window func(bool)) (*record.Cell, error) {
	b.asked = append(b.asked, spelt(s))
	b.now = b.now.Add(s.Estimate())
	c := sound()
	window(true)
	window(false)
	if b.answer != nil {
		if err := b.answer(s, c, len(b.asked)); err != nil {
			return nil, err
		}
	}
	return c, ctx.Err()
}

// Round answers for the cells of a block, one after the other.
func (b *fakeBench) Round(ctx context.Context, specs []*Spec, seed uint64,
	window func(bool)) (cells []*record.Cell, err error) {
	b.duets++
	for _, s := range specs {
		c, err := b.Measure(ctx, s, seed, func(bool) {})
		if err != nil {
			return nil, err
		}
		c.Duet = true
		cells = append(cells, c)
	}
	window(true)
	window(false)
	return cells, nil
}

// spelt names a spec: "first/connections = 1/a'", the twin with a dash.
func spelt(s *Spec) string {
	name := s.Experiment.Name + "/" + s.Point.Name + "/" + s.Model.Name
	if s.Twin {
		name += "'"
	}
	return name
}

// spoil makes a cell void by a gate.
func spoil(c *record.Cell, gate string) {
	c.Status, c.Reasons = record.Void, append(c.Reasons, record.Reason{Gate: gate, Text: gate})
}

// answered makes a cell show so many requests a second.
func answered(c *record.Cell, rate float64) {
	c.Status = record.Measured
	c.Result.Window = time.Duration(float64(c.Result.Served()) / rate * float64(time.Second))
}

// watched keeps all events.
type watched []Event

func (w *watched) Watch(e Event) { *w = append(*w, e) }

// aRunner is of a new record, or of one to go on with.
func aRunner(t *testing.T, tree *manifest.Tree, dir string, b *fakeBench) (*Runner, *watched) {
	t.Helper()
	plan, err := Lay(tree, tree.Experiments, Choice{Depth: "normal"})
	if err != nil {
		t.Fatal(err)
	}
	if b.now.IsZero() {
		b.now = time.Unix(1_000_000, 0)
	}
	events := &watched{}
	r := &Runner{Tree: tree, Plan: plan, Bench: b, Watch: events, Experiments: tree.Experiments,
		Now: func() time.Time { return b.now }}
	if dir == "" {
		r.Record, err = record.Create(t.TempDir(), record.Header{ID: "made", Seed: 42}, nil)
	} else {
		var old *record.Run
		if r.Record, old, err = record.Resume(dir); err == nil {
			r.Cells = old.Cells
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return r, events
}

// recorded are the cells of a record as "round attempt name".
func recorded(t *testing.T, dir string) (out []string, finished bool) {
	t.Helper()
	run, err := record.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range run.Cells {
		twin := ""
		if c.Twin {
			twin = "'"
		}
		out = append(out, fmt.Sprintf("%d %d %s/%s/%s%s", c.Round, c.Attempt, c.Experiment, c.Point,
			c.Model, twin))
	}
	return out, run.Header.Finished != nil
}
