package report

import (
	"testing"

	"interleave/internal/manifest"
)

func TestNames(t *testing.T) {
	of := func(name, source string, claims ...manifest.Claim) *manifest.Experiment {
		return &manifest.Experiment{Name: name, Source: source, Claims: claims}
	}
	published := func(id string) manifest.Claim { return manifest.Claim{ID: id} }
	ours := func(id string) manifest.Claim { return manifest.Claim{ID: id, Ours: true} }
	got := names([]*manifest.Experiment{
		of("streams", "go-c10k.txt, all of it", published("G1"), ours("H1")),
		of("images", "threads-fibers.txt, section 5", ours("H1"), published("T1a")),
		of("chains", "threads-fibers.txt, section 6", ours("H9")),
		of("bulk", "a question of our own", ours("B1")),
		of("more", "another question of our own", ours("B2")),
	})
	for at, want := range map[claimKey]string{
		{"streams", "G1"}: "G1", {"streams", "H1"}: "G-H1",
		{"images", "H1"}: "T-H1", {"images", "T1a"}: "T1a", {"chains", "H9"}: "T-H9",
		{"bulk", "B1"}: "B1", {"more", "B2"}: "B2", // neither has a letter of its own
	} {
		if got[at] != want {
			t.Errorf("%v: got %q, want %q", at, got[at], want)
		}
	}
}

// TestNamesDiffer: no two claims of this tree that are told apart by their experiments alone have
// one name in a report.
func TestNamesDiffer(t *testing.T) {
	tree, err := manifest.LoadTree("../..")
	if err != nil {
		t.Fatal(err)
	}
	taken := map[string]claimKey{}
	for at, name := range names(tree.Experiments) {
		if other, found := taken[name]; found {
			t.Errorf("%v and %v are both named %s", at, other, name)
		}
		taken[name] = at
	}
	if len(taken) < 100 {
		t.Errorf("the tree has %d claims, of which it has more", len(taken))
	}
}
