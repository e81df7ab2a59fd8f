package run

import (
	"testing"
	"time"
)

// TestFiguresShowModels: where there is time for one point, it is the one with a model that no
// other point has, though others cost less; afterwards points that show nothing new have theirs.
func TestFiguresShowModels(t *testing.T) {
	tree := madeTree()
	d := *tree.Services[0].Models[2]
	d.Name = "d"
	tree.Services[0].Models = append(tree.Services[0].Models, &d)
	tree.Experiments[1].Models = append(tree.Experiments[1].Models, "d")
	for _, tt := range []struct {
		budget time.Duration
		want   [2]int // rounds of d at the one point that has it, and of c at the two others
	}{{65 * time.Second, [2]int{6, 0}}, {164 * time.Second, [2]int{6, 12}}} {
		r := spending(t, tree, aWorld{noise: .02}, tt.budget)
		got := [2]int{rounds(r, "second", "= 4", "d"), rounds(r, "first", "", "c")}
		if got != tt.want {
			t.Errorf("%v: %v rounds, want %v", tt.budget, got, tt.want)
		}
	}
}
