package run

import (
	"strings"
	"testing"

	"interleave/internal/manifest"
	"interleave/internal/record"
)

// TestASharedCoreIsNobodysOwn holds that a machine of one core, or a choice of cores that overlap,
// never shows up as the condition own.
func TestASharedCoreIsNobodysOwn(t *testing.T) {
	tests := []struct {
		name         string
		server, load []int
		asked, want  manifest.Condition
		fails        string
	}{
		{"two cores", []int{0}, []int{1}, "", "", ""},
		{"two cores, own", []int{0}, []int{1}, manifest.Own, manifest.Own, ""},
		{"two cores, shared", []int{0}, []int{1}, manifest.Shared, manifest.Shared, ""},
		{"one core", []int{0}, []int{0}, "", manifest.Shared, ""},
		{"one core, shared", []int{0}, []int{0}, manifest.Shared, manifest.Shared, ""},
		{"one core, own", []int{0}, []int{0}, manifest.Own, "", "each needs its own"},
		{"three that overlap", []int{0, 1}, []int{1, 2}, "", manifest.Shared, ""},
	}
	for _, tt := range tests {
		var told watched
		s := &Session{CPUs: map[string][]int{"server": tt.server, "load": tt.load},
			Choice: Choice{Condition: tt.asked}, Watch: &told}
		err := s.apart()
		if tt.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s: got %v, want %q", tt.name, err, tt.fails)
			}
			continue
		}
		if err != nil || s.Choice.Condition != tt.want {
			t.Errorf("%s: condition %q, %v, want %q", tt.name, s.Choice.Condition, err, tt.want)
		}
		if changed := tt.want != tt.asked; changed != (len(told) == 1) {
			t.Errorf("%s: told %v", tt.name, told)
		}
	}
}

func TestDefaultCPUs(t *testing.T) {
	tests := []struct {
		usable, server, load string
	}{
		{"0", "0", "0"}, {"3 5", "3", "5"}, {"0 1 2 3", "0 1 2", "3"},
	}
	for _, tt := range tests {
		got := defaultCPUs(numbers(tt.usable))
		if spaced(got["server"]) != tt.server || spaced(got["load"]) != tt.load {
			t.Errorf("of %s: %v, want server %s, load %s", tt.usable, got, tt.server, tt.load)
		}
	}
}

func numbers(text string) (out []int) {
	for _, f := range strings.Fields(text) {
		out = append(out, int(f[0]-'0'))
	}
	return out
}

func spaced(list []int) string {
	var b strings.Builder
	for i, n := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte(byte('0' + n))
	}
	return b.String()
}

// TestLacks: a budget that leaves an experiment out says nothing of its baseline.
func TestLacks(t *testing.T) {
	e := &manifest.Experiment{Name: "e", Service: "echo", Baseline: "base"}
	of := func(service, model string) *Plan {
		return &Plan{Blocks: []*Block{{Specs: []*Spec{{
			Model: &manifest.Model{Service: service, Name: model}}}}}}
	}
	skipped := []record.Skip{{Service: "echo", Model: "base"}}
	for _, tt := range []struct {
		what    string
		plan    *Plan
		budget  bool
		skipped []record.Skip
		want    bool
	}{
		{"it is there", of("echo", "base"), false, nil, false},
		{"that of another service is there", of("sink", "base"), false, nil, true},
		{"a budget without it", of("sink", "base"), true, nil, false},
		{"a budget that cannot measure it", of("echo", "other"), true, skipped, true},
	} {
		s := &Session{skipped: tt.skipped, Choice: Choice{Budget: tt.budget}}
		if got := s.lacks(tt.plan, e); got != tt.want {
			t.Errorf("%s: got %v", tt.what, got)
		}
	}
}
