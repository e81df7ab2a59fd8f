package load

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"interleave/internal/manifest"
)

// TestProtocolsOfManifests: a service can be loaded whatever protocol its service.toml names.
func TestProtocolsOfManifests(t *testing.T) {
	for _, p := range manifest.Protocols {
		if _, ok := protocols[p.Name]; ok != (p.Name != manifest.Program) {
			t.Errorf("the engine has a driver for %s: %v", p.Name, ok)
		}
	}
	if len(protocols) != len(manifest.Protocols)-1 {
		t.Errorf("the engine has %d drivers, want %d", len(protocols), len(manifest.Protocols)-1)
	}
}

// TestFamiliesOfManifests: each family is declared in both packages, and a protocol is of the same
// in both; an experiment can ask for the shapes that the engine has.
func TestFamiliesOfManifests(t *testing.T) {
	for _, p := range manifest.Protocols {
		name := manifest.FamilyOf(p.Name).Name
		if families[name] == nil || families[name].words == nil || families[name].metrics == nil {
			t.Errorf("the family %s of %s is not declared here, or lacks words or metrics", name,
				p.Name)
			continue
		}
		known, ok := protocols[p.Name]
		if ok && known.family.name != name {
			t.Errorf("%s is of family %s here and of %s in manifests", p.Name, known.family.name,
				name)
		}
		for _, s := range known.shapes {
			if !slices.Contains(manifest.ShapesOf(p.Name), s) {
				t.Errorf("no experiment can load %s by shape %s", p.Name, s)
			}
		}
	}
}

// TestParts: the parts of all kinds can be read when they are empty, and none has a figure then.
func TestParts(t *testing.T) {
	for kind, empty := range parts {
		r := Result{Part: empty(), Window: time.Second}
		text, err := json.Marshal(&r)
		if err != nil {
			t.Fatal(err)
		}
		var back Result
		if err := json.Unmarshal(text, &back); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := back.Part.kind(); got != kind || !reflect.DeepEqual(back.Part, r.Part) {
			t.Errorf("got %s %+v, want %s %+v", got, back.Part, kind, r.Part)
		}
		p := back.Part
		p.add(empty())
		served, due := p.Kept()
		if p.Served() != 0 || served != 0 || due != 0 || p.Latencies() != nil ||
			p.Lateness() != nil {
			t.Errorf("%s has counted something: %+v", kind, p)
		}
		for m := range manifest.Metrics {
			l := manifest.Load{Shape: manifest.Closed, Chain: 2}
			if v, ok := p.Figure(m, l, r.Window); ok {
				t.Errorf("%s: got %v for %s of nothing", kind, v, m)
			}
			if v, ok := p.Cost(m, l, time.Second); ok {
				t.Errorf("%s: got a cost of %v for %s of nothing", kind, v, m)
			}
			if v, ok := p.Lean().Figure(m, l, r.Window); ok {
				t.Errorf("%s: got %v for %s of nothing that is lean", kind, v, m)
			}
		}
	}
}
