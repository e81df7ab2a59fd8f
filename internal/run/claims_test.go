package run

import (
	"context"
	"testing"
	"time"

	"interleave/internal/manifest"
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
	for _, u := range r.Record.Header().Undecided {
		if u.Claim == "D2" || u.Reason != "it is not among the claims of this run" {
			t.Errorf("undecided: %+v", u)
		}
	}
	r.Record.Close()
}
