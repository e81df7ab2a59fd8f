package record

import (
	"math"
	"slices"
	"testing"
	"time"

	"interleave/internal/hist"
	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/sample"
)

// TestMetricsOfHosts holds the figures of pings, transfers and bulk to what a person
// would work out.
func TestMetricsOfHosts(t *testing.T) {
	took := &hist.Histogram{}
	for range 4 {
		took.Record(int64(100 * time.Millisecond))
	}
	server := &sample.Series{Samples: []sample.Sample{
		{Mark: sample.MarkOpen, PSS: 8 << 20},
		{Mark: sample.MarkClosed, At: 2 * time.Second, User: time.Second, System: time.Second,
			PSS: 10 << 20},
	}}
	pings := manifest.Load{Shape: manifest.Pings, Connections: 2, SizeBytes: 56,
		Interval: time.Second}
	transfers := manifest.Load{Shape: manifest.Transfers, Connections: 2, SizeBytes: 4096}
	in := manifest.Load{Shape: manifest.Bulk, Connections: 2, Direction: "in"}
	out := manifest.Load{Shape: manifest.Bulk, Connections: 2, Direction: "out"}
	solve := manifest.Load{Shape: manifest.Solve, Kernel: manifest.KernelTransfer, Workers: 1,
		Problem: 4096}
	fib := manifest.Load{Shape: manifest.Solve, Kernel: "fib", Workers: 1, Problem: 30}
	counted := formerResult{Requests: 30, Lost: 10, BytesOut: 5e8, BytesIn: 25e7, Service: took}
	none := math.NaN()
	tests := []struct {
		name   string
		load   manifest.Load
		metric manifest.Metric
		want   float64
	}{
		{"lost", pings, manifest.Loss, 25},
		{"loss of what is no ping", transfers, manifest.Loss, none},
		{"answered", pings, manifest.Answered, 75},
		{"answers to what is no ping", transfers, manifest.Answered, none},
		{"bits of pings", pings, manifest.BitRate, none},
		{"bits of transfers", transfers, manifest.BitRate, 8 * 30 * 4096 / 2.},
		{"bits in", in, manifest.BitRate, 8 * 5e8 / 2},
		{"bits out", out, manifest.BitRate, 8 * 25e7 / 2},
		{"bits of a program, by its own clock", solve, manifest.BitRate, 8 * 25e7 / (30 * .1)},
		{"bits of another program", fib, manifest.BitRate, none},
		{"CPU of what came in", in, manifest.CPUPerGB, 4},
		{"CPU of what went out", out, manifest.CPUPerGB, 8},
		{"CPU of nothing", pings, manifest.CPUPerGB, none},
		{"requests of bulk", in, manifest.Throughput, none},
		{"requests of transfers", transfers, manifest.Throughput, 15},
		{"growth", pings, manifest.MemoryGrowth, 1.25},
	}
	for _, test := range tests {
		c := Cell{Status: Measured, Load: test.load, Server: server,
			Result: &load.Result{Window: 2 * time.Second, Part: counted.part(test.load)}}
		got, ok := c.Metric(test.metric)
		if ok == math.IsNaN(test.want) || ok && math.Abs(got/test.want-1) > .01 {
			t.Errorf("%s: got %v (%v), want %v", test.name, got, ok, test.want)
		}
	}
	nobody := Cell{Status: Measured, Load: pings, Server: server,
		Result: &load.Result{Window: time.Second, Part: &load.Pings{}}}
	if _, ok := nobody.Metric(manifest.Loss); ok {
		t.Error("there is a share of no pings")
	}
	all := Cell{Status: Measured, Load: pings, Result: &load.Result{Window: time.Second,
		Part: &load.Pings{Answered: 5}}, Server: server}
	if v, ok := all.Metric(manifest.Loss); !ok || v != 0 {
		t.Errorf("got a loss of %v, %v; want none, which is a figure", v, ok)
	}
}

// TestMetricsOfChats likewise, of deliveries, acknowledgements and memory.
func TestMetricsOfChats(t *testing.T) {
	took, acks := &hist.Histogram{}, &hist.Histogram{}
	took.Record(int64(time.Millisecond))
	acks.Record(int64(3 * time.Millisecond))
	server := &sample.Series{Samples: []sample.Sample{
		{Mark: sample.MarkIdle, PSS: 2 << 20},
		{Mark: sample.MarkOpen, PSS: 8 << 20},
		{Mark: sample.MarkClosed, At: 2 * time.Second, User: time.Second, System: time.Second,
			PSS: 12 << 20},
	}}
	open := manifest.Load{Shape: manifest.Open, Connections: 64, Members: 64, SizeBytes: 64,
		Rate: 100}
	fanout := manifest.Load{Shape: manifest.Fanout, Connections: 64, Members: manifest.AllMembers,
		SizeBytes: 64}
	alone := manifest.Load{Shape: manifest.Paced, Connections: 64, Members: 1, SizeBytes: 64,
		Bits: 1e6}
	echo := manifest.Load{Shape: manifest.Open, Connections: 64, SizeBytes: 64, Rate: 100}
	counted := formerResult{Requests: 100, Deliveries: 6300, Latency: took, Acks: acks}
	none := math.NaN()
	for _, test := range []struct {
		name   string
		load   manifest.Load
		metric manifest.Metric
		want   float64
	}{
		{"deliveries", fanout, manifest.Deliveries, 3150},
		{"deliveries of an echo", echo, manifest.Deliveries, none},
		{"deliveries to nobody", alone, manifest.Deliveries, none},
		{"CPU of a delivery", fanout, manifest.CPUPerDelivery, 2e6 / 6300.},
		{"messages", fanout, manifest.Throughput, 50},
		{"delay of deliveries", open, manifest.LatencyP50, 1000},
		{"delay in a saturated room", fanout, manifest.LatencyP50, none},
		{"acknowledgements", open, manifest.AckP99, 3000},
		{"acknowledgements of an echo", echo, manifest.AckP50, none},
		{"memory", alone, manifest.ClientMemory, 10 << 20 / 64.},
		{"memory of an echo's clients", echo, manifest.ClientMemory, none},
	} {
		c := Cell{Status: Measured, Load: test.load, Server: server,
			Result: &load.Result{Window: 2 * time.Second, Part: counted.part(test.load)}}
		got, ok := c.Metric(test.metric)
		if ok == math.IsNaN(test.want) || ok && math.Abs(got/test.want-1) > .01 {
			t.Errorf("%s: got %v (%v), want %v", test.name, got, ok, test.want)
		}
	}
}

// TestDisturbed: a cell of a duet whose machine was not quiet has its figures, but for those about
// tails; one that was measured alone has memory and threads.
func TestDisturbed(t *testing.T) {
	h := &hist.Histogram{}
	h.RecordN(int64(time.Millisecond), 980)
	h.RecordN(int64(9*time.Millisecond), 20)
	c := Cell{Status: Measured, Load: manifest.Load{Shape: manifest.Open, Rate: 1000},
		Result: &load.Result{Window: time.Second, Part: &load.Requests{Answered: 1000, Latency: h}},
		Server: &sample.Series{Samples: []sample.Sample{{Mark: sample.MarkIdle, PSS: 1 << 20},
			{Mark: sample.MarkOpen, PSS: 1 << 20, Threads: 3},
			{At: time.Second, Mark: sample.MarkClosed, PSS: 2 << 20, Threads: 3}}}}
	for _, tt := range []struct {
		labels []string
		duet   bool
		has    []manifest.Metric
	}{
		{nil, false, []manifest.Metric{manifest.LatencyP50, manifest.LatencyP99, manifest.Jitter,
			manifest.PSS, manifest.Threads}},
		{[]string{Disturbed}, true, []manifest.Metric{manifest.LatencyP50, manifest.PSS,
			manifest.Threads}},
		{[]string{Disturbed}, false, []manifest.Metric{manifest.PSS, manifest.Threads}},
	} {
		c.Labels, c.Duet = tt.labels, tt.duet
		for _, m := range []manifest.Metric{manifest.LatencyP50, manifest.LatencyP99,
			manifest.Jitter, manifest.PSS, manifest.Threads} {
			if _, ok := c.Metric(m); ok != slices.Contains(tt.has, m) {
				t.Errorf("%v, duet %v, %s: got %v", tt.labels, tt.duet, m, ok)
			}
			if _, ok := c.Raw(m); !ok {
				t.Errorf("%s has no raw figure", m)
			}
		}
	}
}

// TestCountersOfAnotherTime: CPU and switches that were read at other times than those between
// which the load has counted its requests are not divided by these. A share of a core stays.
func TestCountersOfAnotherTime(t *testing.T) {
	for _, tt := range []struct {
		open, closed time.Duration
		duet, want   bool
	}{
		{0, time.Second, false, true},
		{90 * time.Millisecond, time.Second, false, true},
		{200 * time.Millisecond, time.Second, false, false},
		{0, 1200 * time.Millisecond, false, false},
		{200 * time.Millisecond, time.Second, true, true},
	} {
		c := Cell{Status: Measured, Duet: tt.duet, Load: manifest.Load{Shape: manifest.Closed},
			Result: &load.Result{Window: time.Second, Part: &load.Requests{Answered: 1000}},
			Server: &sample.Series{Samples: []sample.Sample{{At: tt.open, Mark: sample.MarkOpen},
				{At: tt.closed, Mark: sample.MarkClosed, User: time.Second / 2, Voluntary: 5}}}}
		for m, want := range map[manifest.Metric]bool{manifest.CPUPerRequest: tt.want,
			manifest.Switches: tt.want, manifest.CPU: true, manifest.Throughput: true} {
			if _, ok := c.Metric(m); ok != want {
				t.Errorf("read from %v to %v, duet %v: %s counts: %v", tt.open, tt.closed, tt.duet,
					m, ok)
			}
		}
	}
}

// TestLateCells: a cell that is void because somebody was late has memory and threads if it was
// measured alone; one that is void for another reason has nothing.
func TestLateCells(t *testing.T) {
	c := Cell{Status: Void, Load: manifest.Load{Shape: manifest.Open, Rate: 1000},
		Result: &load.Result{Window: time.Second, Part: &load.Requests{Answered: 1000}},
		Server: &sample.Series{Samples: []sample.Sample{{Mark: sample.MarkIdle, PSS: 1 << 20},
			{Mark: sample.MarkOpen, PSS: 1 << 20, Threads: 3},
			{At: time.Second, User: time.Second / 2, Mark: sample.MarkClosed, PSS: 2 << 20,
				Threads: 3}}}}
	for _, tt := range []struct {
		gates []string
		duet  bool
		still bool
	}{
		{[]string{"late"}, false, true},
		{[]string{"late", "load-waited", "steal", "foreign-cpu"}, false, true},
		{[]string{"late"}, true, false},
		{[]string{"late", "achieved"}, false, false},
		{[]string{"died"}, false, false},
	} {
		c.Reasons, c.Duet = nil, tt.duet
		for _, gate := range tt.gates {
			c.Reasons = append(c.Reasons, Reason{Gate: gate})
		}
		for _, m := range []manifest.Metric{manifest.PSS, manifest.Threads} {
			if _, ok := c.Metric(m); ok != tt.still {
				t.Errorf("void for %v, duet %v: %s counts: %v", tt.gates, tt.duet, m, ok)
			}
		}
		if _, ok := c.Metric(manifest.CPU); ok {
			t.Errorf("void for %v: its CPU counts", tt.gates)
		}
	}
}

// TestGrowthInADuet: servers that start beside others share pages with them.
func TestGrowthInADuet(t *testing.T) {
	c := Cell{Status: Measured, Load: manifest.Load{Connections: 10},
		Result: &load.Result{Window: time.Second, Part: &load.Requests{Answered: 1000}},
		Server: &sample.Series{Samples: []sample.Sample{{Mark: sample.MarkIdle, PSS: 1 << 20},
			{Mark: sample.MarkOpen, PSS: 2 << 20},
			{Mark: sample.MarkClosed, At: time.Second, PSS: 3 << 20}}}}
	for _, duet := range []bool{false, true} {
		c.Duet = duet
		for _, m := range []manifest.Metric{manifest.ClientMemory, manifest.MemoryGrowth} {
			if _, ok := c.Raw(m); ok == duet {
				t.Errorf("duet %v, %s: got %v", duet, m, ok)
			}
		}
		if v, ok := c.Raw(manifest.PSS); !ok || v != 3<<20 {
			t.Errorf("duet %v: a PSS of %v, %v", duet, v, ok)
		}
	}
}
