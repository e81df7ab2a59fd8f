package run

import (
	"fmt"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/record"
)

// OnStacks prepares a tree and its experiments for a run on these stacks: each model of theirs is
// to be measured on each of them, side by side in the same rounds. A model on another stack than
// the kernel's has a name that says so, as go-goroutine-gonet. Servers that bring their own stack,
// and programs, stay as they are; no stacks mean the same.
func OnStacks(tree *manifest.Tree, experiments []*manifest.Experiment, stacks []manifest.Stack) {
	if len(stacks) == 0 {
		return
	}
	for _, s := range tree.Services {
		if !stackable(s) {
			continue
		}
		for _, m := range slices.Clone(s.Models) {
			for _, stack := range stacks {
				if v := m.OnStack(stack); v != nil && s.Model(v.Name) == nil {
					s.Models = append(s.Models, v)
				}
			}
		}
	}
	for _, e := range experiments {
		on := func(service string, names []string) []string {
			if !stackable(tree.Service(service)) {
				return names
			}
			return NamesOn(names, stacks)
		}
		e.Models = on(e.Service, e.Models)
		for _, d := range []*manifest.Depth{&e.Quick, &e.Normal, &e.Full} {
			d.Models = on(e.Service, d.Models)
		}
		for i := range e.Points {
			e.Points[i].Models = on(e.Points[i].Service, e.Points[i].Models)
		}
		if stackable(tree.Service(e.Service)) && !slices.Contains(stacks, manifest.Kernel) {
			e.Baseline = NamesOn([]string{e.Baseline}, stacks)[0]
		}
	}
}

// stackable tells whether the servers of a service run on a stack that is not their own.
func stackable(s *manifest.Service) bool {
	return s != nil && s.Hosts == manifest.Local && s.Protocol != manifest.Program
}

// NamesOn are the names of models on stacks. Names that say their stack already stay, so that a
// run that goes on can ask again.
func NamesOn(models []string, stacks []manifest.Stack) []string {
	var names []string
	for _, m := range models {
		on := stacks
		if saysStack(m) || len(stacks) == 0 {
			on = []manifest.Stack{manifest.Kernel} // the name as it is
		}
		for _, stack := range on {
			if n := manifest.NameOn(m, stack); !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

// gonetSuffix ends the names of models on GoNet.
var gonetSuffix = manifest.NameOn("", manifest.GoNet)

func saysStack(model string) bool { return strings.HasSuffix(model, gonetSuffix) }

// whyMissing says why a service has no model that an experiment names.
func whyMissing(tree *manifest.Tree, s *manifest.Service, name string) string {
	base, onGoNet := strings.CutSuffix(name, gonetSuffix)
	if m := s.Model(base); onGoNet && m != nil {
		return fmt.Sprintf("%s opens its sockets at the kernel, and cannot run on %s", base,
			manifest.GoNet)
	}
	for _, other := range tree.Services {
		if other.Model(base) != nil {
			return record.NoModel
		}
	}
	return "the laboratory has no model of that name"
}
