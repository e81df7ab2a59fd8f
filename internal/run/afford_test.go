package run

import (
	"context"
	"errors"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/record"
)

// TestTheEndOfAnInterruptedBudget: a run that was killed after its last turn, or with too little
// time left for another, is finished when it goes on, without more time and without a cell.
func TestTheEndOfAnInterruptedBudget(t *testing.T) {
	for _, more := range []time.Duration{0, time.Second} {
		tree := madeTree()
		tree.Experiments[1].Claims = []manifest.Claim{less("D3")}
		w := aWorld{rates: map[string]float64{"b": 500}, noise: .02}
		r := spending(t, tree, w, time.Minute)
		dir, cells := r.Record.Dir, len(r.Cells)
		s := &Session{Tree: tree, Experiments: tree.Experiments, Resume: dir, Seed: 42,
			Choice: Choice{Depth: "normal", Budget: true}}
		if err := s.afford(r.Plan); !errors.Is(err, ErrBudget) {
			t.Errorf("a finished run: got %v, want that its budget is spent", err)
		}
		killed, _, err := record.Resume(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(killed.Update(func(h *record.Header) {
			h.Finished, h.Budgets[0].For = nil, r.used+more
		}), killed.Close()); err != nil {
			t.Fatal(err)
		}
		if err := s.afford(r.Plan); err != nil {
			t.Errorf("%v left of a killed run: %v", more, err)
		}
		r, _ = aBudget(t, tree, dir, w.bench(nil), 0)
		err = r.Run(context.Background())
		if h := r.Record.Header(); err != nil || h.Finished == nil || len(r.Cells) != cells {
			t.Errorf("%v left: %v, finished %v, %d cells, before there were %d", more, err,
				h.Finished, len(r.Cells), cells)
		}
		r.Record.Close()
	}
}
