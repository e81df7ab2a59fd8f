package run

import (
	"context"
	"slices"
	"strings"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/record"
)

// stackTree has a model that runs on both stacks, a, and two that do not.
func stackTree() *manifest.Tree {
	tree := madeTree()
	tree.Services[0].Hosts = manifest.Local
	for _, m := range tree.Services[0].Models {
		m.Stack, m.Hosts, m.Stacks = manifest.Kernel, manifest.Local,
			[]manifest.Stack{manifest.Kernel}
	}
	tree.Services[0].Models[0].Stacks = []manifest.Stack{manifest.Kernel, manifest.GoNet}
	tree.Experiments = tree.Experiments[:1]
	return tree
}

func TestOnStacks(t *testing.T) {
	kernel, both, gonet := []manifest.Stack{manifest.Kernel}, []manifest.Stack{manifest.Kernel,
		manifest.GoNet}, []manifest.Stack{manifest.GoNet}
	const missing = "b-gonet: b opens its sockets at the kernel, and cannot run on gonet; " +
		"c-gonet: c opens its sockets at the kernel, and cannot run on gonet"
	tests := []struct {
		name   string
		stacks []manifest.Stack
		models []string // the user's
		set    func(*manifest.Tree)
		want   string
		lacks  string
	}{
		{"as ever", nil, nil, nil, "first 1 own: a a' b c\nfirst 8 own: a a' b c", ""},
		{"the kernel", kernel, nil, nil, "first 1 own: a a' b c\nfirst 8 own: a a' b c", ""},
		{"both", both, nil, nil, "first 1 own: a a' a-gonet b c\nfirst 8 own: a a' a-gonet b c",
			missing},
		{"GoNet alone", gonet, nil, nil,
			"first 1 own: a-gonet a-gonet'\nfirst 8 own: a-gonet a-gonet'", missing},
		{"the user's models", both, []string{"a"}, nil,
			"first 1 own: a a' a-gonet\nfirst 8 own: a a' a-gonet", ""},
		{"one of them on one stack", both, []string{"a-gonet"}, nil,
			"first 1 own: a a' a-gonet\nfirst 8 own: a a' a-gonet", ""},
		{"a point's models, and a depth's", both, nil, func(tree *manifest.Tree) {
			tree.Experiments[0].Normal.Models = []string{"a"}
			tree.Experiments[0].Points[1].Models = []string{"a", "b"}
		}, "first 1 own: a a' a-gonet\nfirst 8 own: a a' a-gonet b",
			"b-gonet: b opens its sockets at the kernel, and cannot run on gonet"},
		{"servers that bring their own", both, nil,
			func(tree *manifest.Tree) { tree.Services[0].Hosts = manifest.Tap },
			"first 1 own: a a' b c\nfirst 8 own: a a' b c", ""},
		{"programs", gonet, nil,
			func(tree *manifest.Tree) { tree.Services[0].Protocol = manifest.Program },
			"first 1 own: a a' b c\nfirst 8 own: a a' b c", ""},
		{"a model that nobody has", gonet, nil,
			func(tree *manifest.Tree) { tree.Experiments[0].Models = []string{"d", "a"} },
			"first 1 own: a-gonet a-gonet'\nfirst 8 own: a-gonet a-gonet'",
			"d-gonet: the laboratory has no model of that name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree := stackTree()
			if tt.set != nil {
				tt.set(tree)
			}
			choice := Choice{Depth: "normal", Models: tt.models}
			for range 2 { // a run that goes on asks again
				OnStacks(tree, tree.Experiments, tt.stacks)
				choice.Models = NamesOn(choice.Models, tt.stacks)
			}
			p, err := Lay(tree, tree.Experiments, choice)
			if err != nil {
				t.Fatal(err)
			}
			if got := told(p); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			var lacks []string
			for _, m := range p.Missing {
				lacks = append(lacks, m.Model+": "+m.Why)
			}
			if got := strings.Join(lacks, "; "); got != tt.lacks {
				t.Errorf("missing: got %s, want %s", got, tt.lacks)
			}
		})
	}
}

// TestCellsSayTheirStack records both stacks side by side, and goes on with a run of both.
func TestCellsSayTheirStack(t *testing.T) {
	tree := stackTree()
	stacks := []manifest.Stack{manifest.Kernel, manifest.GoNet}
	OnStacks(tree, tree.Experiments, stacks)
	b := &fakeBench{answer: func(s *Spec, c *record.Cell, nth int) error {
		c.Status = record.Measured
		if nth == 7 {
			return context.Canceled
		}
		return nil
	}}
	r, _ := aRunner(t, tree, "", b)
	if err := r.Run(t.Context()); err == nil {
		t.Fatal("the run was not stopped")
	}
	r.Record.Close()
	b.answer = func(_ *Spec, c *record.Cell, _ int) error { c.Status = record.Measured; return nil }
	r, _ = aRunner(t, tree, r.Record.Dir, b)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Record.Close()
	run, err := record.Read(r.Record.Dir)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, c := range run.Cells {
		count[c.Model+" "+string(c.Stack)]++
	}
	// 6 rounds of 2 points, a with its twin
	for name, want := range map[string]int{"a ": 24, "a-gonet gonet": 12, "b ": 12, "c ": 12} {
		if count[name] != want {
			t.Errorf("%d cells of %q, want %d of %v", count[name], name, want, count)
		}
	}
}

func TestHostsOfACell(t *testing.T) {
	for _, c := range []struct{ asked, point, model, want manifest.Hosts }{
		{"", "", "", manifest.Local}, {"", "", manifest.Local, manifest.Local},
		{manifest.NetNS, "", manifest.Local, manifest.NetNS},
		{manifest.NetNS, "", "", manifest.NetNS},
		{manifest.Local, "", manifest.Tap, manifest.Tap},
		{manifest.NetNS, "", manifest.Tap, manifest.Tap},
		{manifest.Local, "", manifest.NetNS, manifest.NetNS},
		{manifest.Local, manifest.NetNS, manifest.Local, manifest.NetNS},
		{manifest.Local, manifest.NetNS, manifest.Tap, manifest.Tap},
	} {
		spec := &Spec{Point: manifest.Point{Hosts: c.point}, Model: &manifest.Model{Hosts: c.model}}
		if got := (&Local{Hosts: c.asked}).hosts(spec); got != c.want {
			t.Errorf("asked for %q, a point over %q, a model of %q: got %q, want %q", c.asked,
				c.point, c.model, got, c.want)
		}
	}
	if got := NamesOn([]string{"a", "b-gonet"}, nil); !slices.Equal(got, []string{"a", "b-gonet"}) {
		t.Errorf("on no stacks: %q", got)
	}
}
