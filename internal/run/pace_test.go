package run

import (
	"math"
	"strings"
	"testing"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/record"
)

// TestAWindowThatIsTooShort names what it cannot show.
func TestAWindowThatIsTooShort(t *testing.T) {
	s := &Spec{Window: 400 * time.Millisecond, Sample: 100 * time.Millisecond}
	if got := s.tooShort(manifest.CPUVariation); !strings.Contains(got, "shows in windows of 4s") {
		t.Errorf("variation of CPU: got %q", got)
	}
	if got := s.tooShort(manifest.Settling); !strings.Contains(got, "5s to settle") {
		t.Errorf("settling: got %q", got)
	}
	if got := s.tooShort(manifest.MemoryGrowth); !strings.Contains(got, "windows of 20s") {
		t.Errorf("growth of memory: got %q", got)
	}
	if got := (&Spec{Window: leastGrowth}).tooShort(manifest.MemoryGrowth); got != "" {
		t.Errorf("growth of memory in a long window: got %q", got)
	}
	if got := s.tooShort(manifest.Throughput); got != "" {
		t.Errorf("throughput: got %q", got)
	}
	s.Experiment = &manifest.Experiment{Normal: manifest.Depth{Window: leastSettling},
		Full: manifest.Depth{Window: time.Minute}}
	for m, want := range map[manifest.Metric]string{
		manifest.Settling: "memory needs windows of 5s to settle, and these have 400ms; those of " +
			"budgets from two hours on are long enough",
		manifest.MemoryGrowth: "memory that is lost shows in windows of 20s, and these have " +
			"400ms: see --full",
	} {
		if got := s.tooShort(m); got != want {
			t.Errorf("%s: got %q, want %q", m, got, want)
		}
	}
}

// TestSteadinessHasLongWindows: a point that is there for the variation of CPU is measured for as
// long as that takes, and one that other claims need too is not.
func TestSteadinessHasLongWindows(t *testing.T) {
	at := func(m manifest.Metric, points ...string) manifest.Claim {
		return manifest.Claim{Metric: m, At: points}
	}
	e := &manifest.Experiment{
		Quick:  manifest.Depth{Window: time.Second},
		Normal: manifest.Depth{Window: record.LeastVariation},
		Claims: []manifest.Claim{at(manifest.CPUVariation, "steady", "both"),
			at(manifest.CPU, "both")},
	}
	for name, want := range map[string]time.Duration{"steady": record.LeastVariation,
		"both": time.Second, "no claim": time.Second} {
		p := manifest.Point{Name: name, X: math.NaN(), Load: manifest.Load{Shape: manifest.Paced}}
		e.Points = append(e.Points, p)
		if d, ok := paceAt(e, "quick", p); !ok || d.Window != want {
			t.Errorf("%s: a window of %v, %v, want %v", name, d.Window, ok, want)
		}
	}
}
