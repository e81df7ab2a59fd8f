package findings

import (
	"math"
	"slices"
	"strings"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/stats"
)

// TestSourcesAreRetold: what is said of a source comes from the checkout, and what was measured
// from the run.
func TestSourcesAreRetold(t *testing.T) {
	old := &manifest.Experiment{Name: "e", Title: "Old", Setup: []string{"for 1.5 h"},
		Points: []manifest.Point{{Name: "p"}}, Claims: []manifest.Claim{{ID: "E1"}}}
	now := &manifest.Experiment{Name: "e", Title: "New", Setup: []string{"it is not told how long"},
		Claims: []manifest.Claim{{ID: "E1", Where: "section 1"}, {ID: "E3"}}}
	tree := func(e *manifest.Experiment) *manifest.Tree {
		return &manifest.Tree{Experiments: []*manifest.Experiment{e}}
	}
	list := experiments(tree(old), tree(now))
	if len(list) != 1 {
		t.Fatalf("got %d experiments", len(list))
	}
	got := list[0]
	if got.Title != "Old" || len(got.Points) != 1 || !slices.Equal(got.Setup, now.Setup) ||
		len(got.Claims) != 2 || got.Claims[0].Where != "section 1" {
		t.Errorf("got %+v", got)
	}
	if old.Setup[0] != "for 1.5 h" || len(old.Claims) != 1 {
		t.Error("the run's own experiment has changed")
	}
}

// TestClaimsAfterTheRun judges a run by the claims of a checkout that has others by now.
func TestClaimsAfterTheRun(t *testing.T) {
	run := smallRun(t, 1)
	now := smallTree(t, t.TempDir())
	echo, counter := now.Experiments[0], now.Experiments[1]
	node := &echo.Claims[0]
	node.Sentence, node.Transfer = "Node answers fewer.", "Another version of Node."
	size := &echo.Claims[1]
	size.Published = 2.2
	added := echo.Claims[0]
	added.ID, added.Of.Model = "E2c", "go-goroutine"
	moved := added
	moved.ID, moved.At = "E2d", []string{"two hosts"}
	echo.Points = append(echo.Points, manifest.Point{Name: "two hosts", X: math.NaN(),
		Service: "echo", Load: closed(150), Hosts: manifest.NetNS})
	echo.Claims = append(echo.Claims, added, moved)
	loaded := counter.Claims[0]
	loaded.ID, loaded.Margin = "E8b", 1.2
	counter.Points[1].Load.SizeBytes = 17
	counter.Claims = append(counter.Claims, loaded)

	f := Of(run, now)
	for _, want := range []struct {
		id      string
		word    stats.Word
		younger bool
		says    string
	}{
		{"E2a", stats.Reproduced, false, "less"},    // only told in other words
		{"E2b", stats.Reproduced, true, "says 2.2"}, // another figure of the source
		{"E2c", stats.Reproduced, true, "go-goroutine"},
		{"E2d", stats.NotMeasured, false, `not measure the point "two hosts"`},
		{"E8a", stats.Reproduced, false, "go-goroutine"}, // as the run has it
		{"E8b", stats.NotMeasured, false, `"connections = 64" under another load`},
	} {
		i := slices.IndexFunc(f.Claims, func(c Claim) bool { return c.ID == want.id })
		if i < 0 {
			t.Errorf("there is no %s", want.id)
			continue
		}
		c := f.Claims[i]
		if c.Word != want.word || !strings.Contains(c.Sentence, want.says) ||
			slices.Contains(c.Cautions, afterwards) != want.younger {
			t.Errorf("%s is %s: %s %q", c.ID, c.Word, c.Sentence, c.Cautions)
		}
	}
	if f.Claims[0].Says != "Node answers fewer." {
		t.Errorf("the page says %q", f.Claims[0].Says)
	}
}
