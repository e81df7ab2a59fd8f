package record

import (
	"math"
	"testing"
	"time"

	"interleave/internal/hist"
	"interleave/internal/load"
	"interleave/internal/manifest"
)

// TestMetricsOfImages holds the figures of image services to what a person would work out.
func TestMetricsOfImages(t *testing.T) {
	of := func(micros ...int64) *hist.Histogram {
		h := &hist.Histogram{}
		for _, v := range micros {
			h.Record(v * 1000)
		}
		return h
	}
	times := load.ImageTimes{
		Response: of(1000, 3000),
		Post: load.Split{Total: of(600, 2000), ToServer: of(100, 100), InServer: of(400, 1800),
			FromServer: of(100, 100), Database: of(300, 300), Next: of(60, 60)},
		Get: load.Split{Total: of(200, 200, 500, 500), ToServer: of(10, 10, 10, 10),
			InServer: of(100, 100, 400, 400), FromServer: of(90, 90, 90, 90),
			Database: of(50, 50, 50, 50), Next: of(15, 15, 15, 15)},
	}
	for i := range int64(100) {
		times.FirstPost, times.FirstGet = append(times.FirstPost, (1000-10*i)*1000),
			append(times.FirstGet, 500_000)
	}
	closed := manifest.Load{Shape: manifest.Closed, Connections: 1, Ask: manifest.AskImage,
		Reads: 2}
	chain := closed
	chain.Chain = 4
	cold := manifest.Load{Shape: manifest.Cold, Connections: 1, Ask: manifest.AskImage}
	echo := manifest.Load{Shape: manifest.Closed, Connections: 1}
	none := math.NaN()
	for _, test := range []struct {
		name   string
		load   manifest.Load
		metric manifest.Metric
		want   float64
	}{
		{"median", closed, manifest.ResponseP50, 1000},
		{"slowest", closed, manifest.ResponseP99, 3000},
		{"mean", closed, manifest.ResponseMean, 2000},
		{"an upload", closed, manifest.PostP50, 600},
		{"a fetch", closed, manifest.GetP50, 200},
		{"to the server, an upload and two fetches", closed, manifest.ToServer, 120},
		{"in the server", closed, manifest.InServer, 1100 + 2*250},
		{"in the server, an upload and a fetch", cold, manifest.InServer, 1100 + 250},
		{"from the server", closed, manifest.FromServer, 100 + 2*90},
		{"in the database", closed, manifest.Database, 300 + 2*50},
		{"in the services behind", chain, manifest.Next, 60 + 2*15},
		{"for each of three behind", chain, manifest.Hop, 30},
		{"behind the only one", closed, manifest.Next, none},
		{"for each of none behind", closed, manifest.Hop, none},
		{"the first", cold, manifest.First1, 1500},
		{"the first ten", cold, manifest.First10, 1455},
		{"the first hundred", cold, manifest.First100, 1005},
		{"more than there were", cold, manifest.First1000, none},
		{"the first of a warm one", closed, manifest.First10, none},
		{"of an echo", echo, manifest.ResponseP50, none},
		{"start", closed, manifest.StartUp, 2500},
	} {
		c := Cell{Status: Measured, Load: test.load, Result: &load.Result{Window: time.Second,
			Part: &load.Images{Operations: 2, ImageTimes: times}}, StartUp: 2500 * time.Millisecond}
		got, ok := c.Metric(test.metric)
		if ok == math.IsNaN(test.want) || ok && math.Abs(got/test.want-1) > .01 {
			t.Errorf("%s: got %v (%v), want %v", test.name, got, ok, test.want)
		}
	}
	silent := Cell{Status: Measured, Load: closed, Result: &load.Result{Window: time.Second,
		Part: &load.Images{Operations: 2}}}
	if v, ok := silent.Metric(manifest.Database); ok {
		t.Errorf("got %v µs of a database that nobody told of", v)
	}
	without := Cell{Status: Measured, Load: closed, Result: &load.Result{Window: time.Second,
		Part: &load.Requests{Answered: 2}}}
	if v, ok := without.Metric(manifest.ResponseP50); ok {
		t.Errorf("got %v µs without times", v)
	}
}
