package run

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"interleave/internal/manifest"
)

// TestPointsOverTwoHosts holds that a machine that cannot make two hosts leaves out the points that
// need them, says so, and measures all others.
func TestPointsOverTwoHosts(t *testing.T) {
	real := able
	defer func() { able = real }()
	for _, c := range []struct {
		lack error
		want []string
	}{
		{nil, []string{"here", "two hosts"}},
		{errors.New("network namespaces need root"), []string{"here"}},
	} {
		asked := 0
		able = func(manifest.Hosts) error { asked++; return c.lack }
		e := &manifest.Experiment{Name: "e", Service: "echo", Models: []string{"a"}, Baseline: "a",
			Quick: manifest.Depth{Rounds: 6, Conditions: []manifest.Condition{manifest.Own}},
			Points: []manifest.Point{
				{Name: "here", Service: "echo"},
				{Name: "two hosts", Service: "echo", Hosts: manifest.NetNS},
				{Name: "two hosts", Service: "echo", Hosts: manifest.NetNS},
			}}
		tree := &manifest.Tree{Services: []*manifest.Service{{Name: "echo", Hosts: manifest.Local,
			Models: []*manifest.Model{{Name: "a", Service: "echo"}}}}}
		var told watched
		s := &Session{Tree: tree, Experiments: []*manifest.Experiment{e}, Watch: &told,
			Choice: Choice{Depth: "quick"}}
		s.skipPoints()
		plan, err := Lay(tree, s.Experiments, s.Choice)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range plan.Blocks {
			got = append(got, b.Point.Name)
		}
		if got = slices.Compact(got); !slices.Equal(got, c.want) || asked != 1 {
			t.Errorf("%v: points %q, asked %d times, want %q and once", c.lack, got, asked, c.want)
		}
		if said := len(told) > 0; said != (c.lack != nil) ||
			said && !strings.Contains(told[0].Text, `e, point "two hosts": network namespaces`) {
			t.Errorf("%v: told %v", c.lack, told)
		}
	}
}
