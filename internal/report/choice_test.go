package report

import (
	"strings"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

// TestWidest: a table of models is of the point that most models have, each program once, and of
// warm servers where fresh ones were measured with as many.
func TestWidest(t *testing.T) {
	s := &study{Run: Run{Tree: &manifest.Tree{Services: []*manifest.Service{{Name: "images",
		Models: []*manifest.Model{{Name: "go", Source: []string{"main.go"}},
			{Name: "go-postgresql", Source: []string{"../go/main.go"}},
			{Name: "java", Source: []string{"Main.java"}}}}}}}}
	e := &experiment{
		Experiment: &manifest.Experiment{Baseline: "go", Points: []manifest.Point{
			{Name: "cold 1", Load: manifest.Load{Shape: manifest.Cold}}, {Name: "small"},
			{Name: "large"}, {Name: "databases"},
			{Name: "cold 2", Load: manifest.Load{Shape: manifest.Cold}}}},
		conditions: []manifest.Condition{manifest.Shared}, rowsOf: map[rowKey][]verdict.Row{}}
	for _, tt := range []struct{ measured, want string }{
		{"cold 1: go java; small: go java; large: go java; cold 2: go java", "large: go java"},
		{"cold 1: go java; databases: go go-postgresql", "cold 1: go java"},
		{"cold 1: go java; small: go; cold 2: go java", "cold 2: go java"},
		{"databases: go go-postgresql java; small: go java", "small: go java"},
	} {
		var rows []verdict.Row
		for at := range strings.SplitSeq(tt.measured, "; ") {
			point, models, _ := strings.Cut(at, ": ")
			for m := range strings.FieldsSeq(models) {
				rows = append(rows, verdict.Row{Point: point, Condition: manifest.Shared,
					Service: "images", Model: m, Ratio: stats.Interval{Estimate: 1}})
			}
		}
		e.rowsOf[rowKey{manifest.Shared, manifest.PSS}] = rows
		best, what := s.widest(e, "images", manifest.PSS)
		var got []string
		for _, r := range best {
			got = append(got, r.Model)
		}
		point, _, _ := strings.Cut(tt.want, ":")
		if best[0].Point+": "+strings.Join(got, " ") != tt.want ||
			!strings.Contains(what, " at "+point+",") {
			t.Errorf("%s: got %s: %q, told as %q, want %s", tt.measured, best[0].Point, got, what,
				tt.want)
		}
	}
}

// TestTheAxisOfAClaim: the ticks of some units name them, and then the axis does not.
func TestTheAxisOfAClaim(t *testing.T) {
	e := &experiment{Experiment: &manifest.Experiment{}}
	for m, want := range map[manifest.Metric]string{
		manifest.ClientMemory: manifest.Metrics[manifest.ClientMemory].Name,
		manifest.Threads:      manifest.Metrics[manifest.Threads].Name,
		manifest.Throughput:   manifest.Metrics[manifest.Throughput].Name + " (requests/s)",
	} {
		unit := manifest.Metrics[m].Unit
		got, _ := axis(e, manifest.Claim{Metric: m}, []verdict.Part{{Unit: unit}})
		if got != want {
			t.Errorf("%s in %q: got %q, want %q", m, unit, got, want)
		}
	}
}
