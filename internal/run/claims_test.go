package run

import (
	"context"
	"strings"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/record"
)

// TestNamedClaims gives time to one claim, although another is the headline, and to no figure.
func TestNamedClaims(t *testing.T) {
	tree := madeTree()
	headline := less("D1", "connections = 1")
	headline.Headline = true
	tree.Experiments[0].Claims = []manifest.Claim{headline, less("D2", "connections = 8")}
	tree.Experiments[1].Claims = []manifest.Claim{less("D3")}
	bench := aWorld{rates: map[string]float64{"b": 500}, noise: .02}.bench(nil)
	r, _ := aBudget(t, tree, "", bench, time.Hour, "D2")
	if err := r.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(r.Cells) == 0 {
		t.Error("nothing was measured")
	}
	for _, c := range r.Cells {
		if c.Point != "connections = 8" || c.Model == "c" {
			t.Errorf("%s was measured at %s", c.Model, c.Point)
		}
	}
	if open := r.Record.Header().Undecided; len(open) > 0 {
		t.Errorf("undecided: %+v, want nothing of what was not asked for", open)
	}
	r.Record.Close()
}

// TestNamedClaimsWithoutTheirModels: a run that could judge none of the named claims says why
// before it calibrates, and a run that can judge one of them begins.
func TestNamedClaimsWithoutTheirModels(t *testing.T) {
	tree := madeTree()
	gone := less("D2", "connections = 8")
	gone.Of.Model = "gone"
	tree.Experiments[0].Models = append(tree.Experiments[0].Models, "gone")
	tree.Experiments[0].Claims = []manifest.Claim{less("D1", "connections = 1"), gone}
	for _, tt := range []struct {
		claims []string
		budget time.Duration
		want   string
	}{
		{[]string{"D2"}, time.Hour, "D2: gone cannot be measured here: needs erl"},
		{[]string{"D1", "D2"}, time.Second, "D1 takes about "},
		{[]string{"D1", "D2"}, time.Hour, ""},
		{nil, time.Hour, ""},
	} {
		s := &Session{Tree: tree, Experiments: tree.Experiments, For: tt.budget,
			Choice:  Choice{Depth: "normal", Budget: true, Claims: tt.claims},
			skipped: []record.Skip{{Service: "echo", Model: "gone", Reason: "needs erl"}}}
		plan, err := Lay(tree, tree.Experiments, s.Choice)
		if err != nil {
			t.Fatal(err)
		}
		got := s.whyNoClaim(plan)
		if !strings.HasPrefix(got, tt.want) || got != "" && tt.want == "" {
			t.Errorf("%q in %v: got %q, want %q", tt.claims, tt.budget, got, tt.want)
		}
	}
}
