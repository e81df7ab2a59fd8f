package record

import (
	"testing"
	"time"

	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/sample"
)

func TestSettled(t *testing.T) {
	var at []time.Duration
	for i := range 16 {
		at = append(at, time.Duration(i+1)*time.Second)
	}
	for _, test := range []struct {
		name   string
		values []float64
		want   time.Duration
		ok     bool
	}{
		{"at once", []float64{9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9}, time.Second, true},
		{"in the middle", []float64{1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8, 8, 8, 8, 8},
			8 * time.Second, true},
		{"rough", []float64{1, 2, 10, 9.5, 10.5, 10, 9.2, 10.8, 10, 10, 10, 10, 10, 10, 10, 10},
			3 * time.Second, true},
		{"back again", []float64{10, 10, 10, 10, 20, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10},
			6 * time.Second, true},
		{"nothing", make([]float64, 16), 0, false},
		{"too few", []float64{1, 2, 3}, 0, false},
	} {
		got, ok := settled(at[:len(test.values)], test.values)
		if got != test.want || ok != test.ok {
			t.Errorf("%s: got %v, %v, want %v, %v", test.name, got, ok, test.want, test.ok)
		}
	}
}

// A server whose CPU rests after two seconds and whose memory grows for eight, of ten; its
// connections take 8 KB of the kernel each.
func TestStreamMetrics(t *testing.T) {
	c := &Cell{Status: Measured, Load: manifest.Load{Shape: manifest.Streams, Connections: 1000,
		Rate: 500}, Result: aResult()}
	series := &sample.Series{Every: 100 * time.Millisecond}
	var cpu time.Duration
	for i := range 101 {
		at := time.Duration(i) * 100 * time.Millisecond
		rss := int64(5<<20) + int64(min(i, 80))<<18
		series.Samples = append(series.Samples, sample.Sample{At: at, User: cpu, RSS: rss, PSS: rss,
			Kernel: 100_000_000 + int64(i)*80_000})
		cpu += time.Duration(min(i, 20)) * time.Millisecond
	}
	mark := func(i int, name string) { series.Samples[i].Mark = name }
	mark(0, sample.MarkIdle)
	mark(20, sample.MarkRamp)
	mark(30, sample.MarkOpen)
	mark(100, sample.MarkClosed)
	c.Server = series
	for _, test := range []struct {
		metric      manifest.Metric
		least, most float64
	}{
		{manifest.Settling, 2.2, 4}, // 7.3 s, by 2.8: CPU is a mean over a second
		{manifest.KernelMemory, 8000, 8000},
		{manifest.ClientMemory, 20971.52, 20971.52},
	} {
		got, ok := c.Metric(test.metric)
		if !ok || got < test.least || got > test.most {
			t.Errorf("%s: got %v, %v, want %v..%v", test.metric, got, ok, test.least, test.most)
		}
	}
	c.Load.Shape = manifest.Closed
	for _, m := range []manifest.Metric{manifest.Settling, manifest.KernelMemory,
		manifest.ClientMemory} {
		if got, ok := c.Metric(m); ok {
			t.Errorf("%s of a closed load: got %v, want none", m, got)
		}
	}
}

func aResult() *load.Result {
	return &load.Result{Part: &load.Streams{Texts: 1000}, Window: 7 * time.Second}
}
