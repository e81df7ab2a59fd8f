package run

import (
	"context"
	"errors"
	"slices"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/profile"
	"interleave/internal/record"
)

// A lookingBench also takes profiles, of which one fails.
type lookingBench struct {
	*fakeBench
	looked []string
	cells  int // that were measured before the first look
	stop   context.CancelFunc
}

func (b *lookingBench) Profile(_ context.Context, s *Spec, _ uint64) (*record.Profile, error) {
	if len(b.looked) == 0 {
		b.cells = len(b.asked)
	}
	b.looked = append(b.looked, spelt(s))
	if b.stop != nil {
		b.stop()
		return nil, errors.New("killed")
	}
	if s.Model.Name == "b" {
		return &record.Profile{Why: "it left none"}, nil
	}
	return &record.Profile{By: "a test", Samples: &profile.Node{N: 1}}, nil
}

// TestProfilesComeLast: once for each model that can be profiled, at the points that ask for it,
// when all is measured, and no more when a run goes on.
func TestProfilesComeLast(t *testing.T) {
	tree := madeTree()
	for _, m := range tree.Services[0].Models[:2] {
		m.Language = "go"
	}
	tree.Experiments[0].Profiles = []string{"connections = 8"}
	ctx, stop := context.WithCancel(t.Context())
	interrupted := &lookingBench{fakeBench: &fakeBench{}, stop: stop}
	r, _ := aRunner(t, tree, "", interrupted.fakeBench)
	r.Bench = interrupted
	if err := r.Run(ctx); !errors.Is(err, ErrStopped) {
		t.Fatalf("stopped in a profile: got %v", err)
	}
	dir := r.Record.Dir
	r.Record.Close()
	for range 2 { // the second time all is there
		b := &lookingBench{fakeBench: &fakeBench{}}
		r, _ := aRunner(t, tree, dir, b.fakeBench)
		r.Bench = b
		before := len(r.Record.Header().Profiles)
		if err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		slices.Sort(b.looked)
		want := []string{"first/connections = 8/a", "first/connections = 8/b"}
		if before > 0 {
			want = nil
		}
		if !slices.Equal(b.looked, want) || len(b.asked) > 0 {
			t.Errorf("looked into %q, want %q; measured %d cells once more", b.looked, want,
				len(b.asked))
		}
		got := r.Record.Header().Profiles
		if len(got) != 2 || got[0].Experiment != "first" || got[0].Point != "connections = 8" ||
			got[0].Condition != manifest.Own || (got[0].Samples == nil) != (got[0].Model == "b") {
			t.Errorf("recorded: %+v", got)
		}
		r.Record.Close()
	}
	if want := 6 * 3 * 4; interrupted.cells != want {
		t.Errorf("the first profile came after %d cells, want all %d", interrupted.cells, want)
	}
}
