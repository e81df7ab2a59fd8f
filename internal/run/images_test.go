package run

import (
	"testing"
	"time"

	"interleave/internal/hist"
	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/record"
)

// TestColdSpecs: nothing is asked of a cold server before its first request, and its requests end
// it at every depth.
func TestColdSpecs(t *testing.T) {
	e := &manifest.Experiment{Baseline: "go-goroutine"}
	point := manifest.Point{Name: "cold", Load: manifest.Load{Shape: manifest.Cold, Connections: 1,
		Requests: 1000, SizeBytes: 17_000, Ask: manifest.AskImage}}
	model := &manifest.Model{Name: "java-thread", WarmUp: 5 * time.Second}
	for _, test := range []struct {
		requests, want int64
	}{{0, 1000}, {100, 100}, {manifest.AllInWindow, 1000}} {
		d := manifest.Depth{WarmUp: time.Second, Window: 2 * time.Second, Requests: test.requests}
		s := specs(e, d, 5*time.Second, point, &manifest.Service{Protocol: manifest.Images}, model,
			manifest.Shared)[0]
		if s.WarmUp != 0 || s.Window != 0 || s.Point.Load.Requests != test.want {
			t.Errorf("requests = %d: got %v of warm-up, a window of %v, %d requests", test.requests,
				s.WarmUp, s.Window, s.Point.Load.Requests)
		}
		if got, want := s.Estimate(), time.Duration(test.want)*time.Millisecond; got < want ||
			got > want+time.Second {
			t.Errorf("%d requests are taken to take %v", test.want, got)
		}
	}
}

// TestAchievedImages: what was due at the window's end is answered after it, and counts; what was
// not sent does not.
func TestAchievedImages(t *testing.T) {
	p := &load.Images{Operations: 90, Offered: 100, Latency: &hist.Histogram{}}
	c := &record.Cell{Load: manifest.Load{Shape: manifest.Open, Connections: 4, Rate: 100,
		Ask: manifest.AskImage}, Result: &load.Result{Window: time.Second, Part: p}}
	p.Latency.RecordN(int64(time.Millisecond), 100)
	if r := achieved(c, Facts{}); r != nil {
		t.Errorf("all that was due was answered: %s", r.Text)
	}
	p.Offered = 120
	if achieved(c, Facts{}) == nil {
		t.Error("100 of 120 is not void")
	}
}
