package run

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"interleave/internal/hist"
	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/record"
)

// aBlock is one of two models under a load.
func aBlock(protocol string, l manifest.Load, window time.Duration) *Block {
	b := &Block{Experiment: &manifest.Experiment{Name: "made"},
		Point: manifest.Point{Name: "p", X: math.NaN(), Load: l}}
	for _, name := range []string{"a", "b"} {
		b.Specs = append(b.Specs, &Spec{Point: b.Point, Protocol: protocol, Window: window,
			Model: &manifest.Model{Name: name}})
	}
	return b
}

func TestWhichBlocksAreDuets(t *testing.T) {
	const window = 400 * time.Millisecond
	tests := []struct {
		name     string
		protocol string
		load     manifest.Load
		window   time.Duration
		why      string // what the reason begins with; "" = a duet
	}{
		{"closed", "echo", manifest.Load{Shape: manifest.Closed, Connections: 150}, window, ""},
		{"open", "echo", manifest.Load{Shape: manifest.Open, Connections: 150, Rate: 5000}, window,
			""},
		{"counter", manifest.Counter, manifest.Load{Shape: manifest.Closed, Connections: 150},
			window, ""},
		{"connect", "echo", manifest.Load{Shape: manifest.Connect, Connections: 8}, window, ""},
		{"transfers", manifest.Transfer, manifest.Load{Shape: manifest.Transfers, Connections: 100},
			window, ""},
		{"sink", manifest.Sink, manifest.Load{Shape: manifest.Paced, Connections: 64, Bits: 1e6},
			window, ""},
		{"one client of images", manifest.Images, manifest.Load{Shape: manifest.Closed,
			Connections: 1, Ask: manifest.AskImage}, window, ""},
		{"pings", manifest.Ping, manifest.Load{Shape: manifest.Pings, Connections: 100,
			Interval: 50 * time.Millisecond}, window, ""},
		{"program", manifest.Program, manifest.Load{Shape: manifest.Solve}, window, "programs"},
		{"cold", manifest.Images, manifest.Load{Shape: manifest.Cold, Connections: 1,
			Requests: 100}, 0, "cold"},
		{"a number", "echo", manifest.Load{Shape: manifest.Closed, Connections: 1, Requests: 100},
			0, "a number"},
		{"streams", "stream", manifest.Load{Shape: manifest.Stream, Connections: 1000, Rate: 5000},
			window, "streams"},
		{"bulk", manifest.Transfer, manifest.Load{Shape: manifest.Bulk, Connections: 1,
			Direction: "in"}, window, "bulk"},
		{"chat", manifest.Chat, manifest.Load{Shape: manifest.Fanout, Connections: 64, Members: 64},
			window, "chats"},
		{"chain", manifest.Images, manifest.Load{Shape: manifest.Closed, Connections: 1, Chain: 2,
			Ask: manifest.AskImage}, window, "chains"},
		{"many clients of images", manifest.Images, manifest.Load{Shape: manifest.Closed,
			Connections: 64, Ask: manifest.AskImage}, window, "images of more than 8"},
		{"a sink's file", manifest.Sink, manifest.Load{Shape: manifest.Paced, Connections: 4,
			Bits: 1e6, Output: manifest.OutputFile}, window, "sinks"},
		{"many pings", manifest.Ping, manifest.Load{Shape: manifest.Pings, Connections: 1000,
			Interval: 50 * time.Millisecond}, window, "pings"},
		{"pings that follow each other", manifest.Ping, manifest.Load{Shape: manifest.Pings,
			Connections: 1}, window, "pings"},
		{"a short window", "echo", manifest.Load{Shape: manifest.Closed, Connections: 1},
			99 * time.Millisecond, "windows"},
	}
	for _, test := range tests {
		can, why := Duets(aBlock(test.protocol, test.load, test.window))
		if can != (test.why == "") || !strings.HasPrefix(why, test.why) {
			t.Errorf("%s: got %v, %q; want %q", test.name, can, why, test.why)
		}
	}
	lonely := aBlock("echo", manifest.Load{Shape: manifest.Closed, Connections: 1}, window)
	lonely.Specs = lonely.Specs[:1]
	if can, why := Duets(lonely); can || why == "" {
		t.Errorf("a model alone: got %v, %q", can, why)
	}
	asked := aBlock("echo", manifest.Load{Shape: manifest.Closed, Connections: 1}, window)
	asked.Experiment.Cells = true
	if can, why := Duets(asked); can || !strings.Contains(why, "cells = true") {
		t.Errorf("an experiment that asks for cells: got %v, %q", can, why)
	}
}

// TestClaimsOfServersAlone: a claim about memory has the points that it is about measured in cells.
func TestClaimsOfServersAlone(t *testing.T) {
	memory := func(at ...string) manifest.Claim {
		return manifest.Claim{Metric: manifest.PSS, At: at, Of: manifest.Term{Model: "a"}}
	}
	tests := []struct {
		name  string
		claim manifest.Claim
		swept bool
		duet  bool
	}{
		{"of a rate", manifest.Claim{Metric: manifest.Throughput}, true, true},
		{"of the sweep, at a swept point", memory(), true, false},
		{"of the sweep, at another", memory("every"), false, true},
		{"of this point", memory("p"), false, false},
		{"of another point", memory("q"), true, true},
		{"with a term of this point", manifest.Claim{Metric: manifest.StartUp, At: []string{"q"},
			Against: manifest.Term{Model: "b", Point: "p"}}, false, false},
	}
	for _, test := range tests {
		b := aBlock("echo", manifest.Load{Shape: manifest.Closed, Connections: 1}, time.Second)
		if test.swept {
			b.Point.X = 1
		}
		b.Experiment.Claims = []manifest.Claim{test.claim}
		if can, why := Duets(b); can != test.duet {
			t.Errorf("%s: got %v, %q", test.name, can, why)
		}
	}
}

// TestMethodNamesWhatIsWhole holds the page against the list.
func TestMethodNamesWhatIsWhole(t *testing.T) {
	page, err := os.ReadFile("../../docs/method.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wholes {
		if row := "| " + w.load + " | " + w.why + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/method.md lacks the row\n%s", row)
		}
	}
}

func TestTurns(t *testing.T) {
	for models := 2; models < 20; models++ {
		orders := map[int]bool{}
		for cycle := range 50 {
			order := turns(42, cycle, models)
			if !slices.Equal(order, turns(42, cycle, models)) {
				t.Fatal("the same seed gave another order")
			}
			orders[order[0]] = true
			slices.Sort(order)
			for i, v := range order {
				if v != i {
					t.Fatalf("%d models: a cycle has the turns %v", models, order)
				}
			}
		}
		if len(orders) < min(models, 5) {
			t.Errorf("%d models: only %d of them ever begin", models, len(orders))
		}
	}
	if slices.Equal(turns(1, 0, 18), turns(2, 0, 18)) {
		t.Error("another seed gave the same order")
	}
}

func TestDivide(t *testing.T) {
	for window := leastStints * stintTime / 2; window < 10*time.Second; window += 7_777_777 {
		n, each := divide(window)
		whole := time.Duration(n) * each
		if n < leastStints || whole > window || window-whole >= time.Duration(n) ||
			each > stintTime*6/5 || each < stintTime/2 {
			t.Fatalf("%v is divided into %d stints of %v", window, n, each)
		}
	}
}

func TestWarmUpsInTurn(t *testing.T) {
	w := warmUp{time.Second, 5 * time.Second, 0, 100 * time.Millisecond}
	ran := make([]time.Duration, len(w))
	cycles := 0
	for ; !w.over(); cycles++ {
		for i := range w {
			d := w.next(i)
			if d < leadTime || d > warmTime {
				t.Fatalf("a model warms up for %v at a time", d)
			}
			ran[i] += d
		}
	}
	if cycles != 20 || ran[0] != time.Second+16*leadTime || ran[1] != 5*time.Second ||
		ran[2] != 20*leadTime || ran[3] != 100*time.Millisecond+19*leadTime {
		t.Errorf("in %d cycles the models ran for %v", cycles, ran)
	}
}

// A run of duets.
func TestARunOfDuets(t *testing.T) {
	b := &fakeBench{answer: func(_ *Spec, c *record.Cell, _ int) error {
		c.Status = record.Measured
		return nil
	}}
	r, events := aRunner(t, madeTree(), "", b)
	r.Duets = true
	if err := r.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.Record.Close()
	cells, finished := recorded(t, r.Record.Dir)
	if len(cells) != 6*3*4 || !finished || b.duets != 6*3 {
		t.Errorf("%d cells in %d duets, finished %v; want 72 in 18", len(cells), b.duets, finished)
	}
	orders := map[int]int{}
	for _, c := range r.Cells {
		if !c.Duet || c.Attempt != 1 || c.Took <= 0 {
			t.Fatalf("got a cell %+v", c)
		}
		orders[c.Order]++
	}
	for order := 1; order <= 12; order++ {
		if orders[order] != 6 {
			t.Errorf("place %d of a round was taken %d times, want 6", order, orders[order])
		}
	}
	open := 0
	for _, e := range *events {
		switch e.Kind {
		case WindowOpens:
			open++
		case WindowCloses:
			open--
		case CellEnds:
			if open != 0 {
				t.Fatal("a cell ends while the windows are open")
			}
		}
	}
}

// TestSecondAttemptsOfDuets: the whole duet is repeated if the machine has left nothing of it.
func TestSecondAttemptsOfDuets(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(s *Spec) []string // gates, in the first attempt of round 2
		cells int                    // of round 2
	}{
		{"nothing", func(*Spec) []string { return nil }, 4},
		{"all by the machine", func(*Spec) []string { return []string{"steal"} }, 8},
		{"one by the machine", func(s *Spec) []string {
			return map[string][]string{"b": {"late"}}[s.Model.Name]
		}, 4},
		{"one by its server, the others by the machine", func(s *Spec) []string {
			if s.Model.Name == "b" {
				return []string{"wrong-reply"}
			}
			return []string{"foreign-cpu"}
		}, 7},
	}
	for _, test := range tests {
		tree := madeTree()
		tree.Experiments = tree.Experiments[1:]
		b := &fakeBench{}
		b.answer = func(s *Spec, c *record.Cell, _ int) error {
			c.Status = record.Measured
			if b.duets == 2 {
				for _, gate := range test.spoil(s) {
					spoil(c, gate)
				}
			}
			return nil
		}
		r, _ := aRunner(t, tree, "", b)
		r.Duets = true
		if err := r.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, c := range r.Cells {
			if c.Round == 2 {
				n++
			}
		}
		if n != test.cells {
			t.Errorf("%s: %d cells in the round, want %d", test.name, n, test.cells)
		}
	}
}

// TestDuetGates: what disturbs a duet is a label up to a far limit, and servers that do not rest,
// or do not keep up, void it.
func TestDuetGates(t *testing.T) {
	quiet := DuetFacts{Wall: 10 * time.Second, Stints: time.Second}
	schedule := func(c *record.Cell) { *c = *scheduled(); c.Duet = true }
	busy := func(share float64) func(c *record.Cell) { // of two cores for a second
		return func(c *record.Cell) {
			c.Server.Samples[1].Busy += time.Duration(share * float64(2*time.Second))
		}
	}
	tests := []struct {
		name  string
		facts func(f *DuetFacts)
		cell  func(c *record.Cell)
		gate  string // "" = measured
		label bool
	}{
		{"quiet", nil, nil, "", false},
		{"some steal", func(f *DuetFacts) { f.Steal = 150 * time.Millisecond }, nil, "", true},
		{"steal that is none", func(f *DuetFacts) { f.Steal = 50 * time.Millisecond }, nil, "",
			false},
		{"much steal", func(f *DuetFacts) { f.Steal = 5 * time.Second }, nil, "steal", true},
		{"a busy loop", func(f *DuetFacts) { f.Foreign = 3 * time.Second }, busy(.4), "", true},
		{"many of them between the stints", func(f *DuetFacts) { f.Foreign = 17 * time.Second },
			busy(.1), "", true},
		{"many of them", func(f *DuetFacts) { f.Foreign = 17 * time.Second }, busy(.6),
			"foreign-cpu", true},
		{"many of them beside a small load", func(f *DuetFacts) { f.Foreign = 17 * time.Second },
			func(c *record.Cell) { schedule(c); busy(.6)(c) }, "", true},
		{"one message in fifty is late", nil, func(c *record.Cell) {
			schedule(c)
			requests(c).Late.RecordN(int64(20*time.Millisecond), 20)
		}, "", true},
		{"one message in five is late", nil, func(c *record.Cell) {
			schedule(c)
			requests(c).Late.RecordN(int64(20*time.Millisecond), 200)
		}, "late", true},
		{"one in five, of a load without latencies", nil, func(c *record.Cell) {
			schedule(c)
			requests(c).Latency = nil
			requests(c).Late.RecordN(int64(20*time.Millisecond), 200)
			c.Result.RunWait = 70 * time.Millisecond
		}, "", true},
		{"the load waits a little", nil, func(c *record.Cell) {
			schedule(c)
			c.Result.RunWait = 35 * time.Millisecond
		}, "", true},
		{"the load waits", nil, func(c *record.Cell) {
			schedule(c)
			c.Result.RunWait = 70 * time.Millisecond
		}, "load-waited", true},
		{"restless servers", func(f *DuetFacts) { f.Resting = 500 * time.Millisecond }, nil,
			"rest-cpu", false},
		{"an overloaded server", nil, func(c *record.Cell) {
			schedule(c)
			c.Result.Lull = 200 * time.Millisecond
		}, "overloaded", false},
		{"a closed loop that drains", nil, func(c *record.Cell) {
			c.Result.Lull = 200 * time.Millisecond
		}, "", false},
	}
	for _, test := range tests {
		c := sound()
		c.Duet = true
		f := Facts{Cores: 2, LoadCores: 1, Pinned: true, Duet: &DuetFacts{}}
		*f.Duet = quiet
		if test.facts != nil {
			test.facts(f.Duet)
		}
		if test.cell != nil {
			test.cell(c)
		}
		Judge(c, f)
		var gates []string
		for _, r := range c.Reasons {
			gates = append(gates, r.Gate)
		}
		if got := strings.Join(gates, " "); got != test.gate ||
			slices.Contains(c.Labels, record.Disturbed) != test.label {
			t.Errorf("%s: got gates %q and labels %v, want %q and disturbed %v", test.name, got,
				c.Labels, test.gate, test.label)
		}
	}
}

// TestDuetExcuses: what the wakings of all stints explain is nobody's, in the facts of each player.
func TestDuetExcuses(t *testing.T) {
	one := func(runs int64, facts *DuetFacts) *player {
		c := sound()
		c.Result.Runs = runs
		return &player{cell: c, facts: Facts{Cores: 2, WakeCost: 5 * time.Microsecond, Duet: facts}}
	}
	for _, test := range []struct {
		foreign, want time.Duration
		runs          int64
	}{
		{ms(500), ms(400), 10_000},  // 20,000 wakings of both
		{ms(90), 0, 10_000},         // not less than nothing
		{ms(500), ms(100), 100_000}, // a tenth of the cores' 4 s at most
	} {
		wall := 2 * time.Second
		d := &duet{players: []*player{
			one(test.runs, &DuetFacts{Wall: wall, Foreign: test.foreign}),
			one(test.runs, &DuetFacts{Wall: wall, Foreign: test.foreign}),
			{cell: &record.Cell{}}, // it has not begun
			one(0, &DuetFacts{Wall: wall, Foreign: test.foreign, Seen: true}),
		}}
		d.excuse()
		if got := d.players[3].facts.Duet.Foreign; got != test.foreign {
			t.Errorf("of %v that were seen, %v is left", test.foreign, got)
		}
		for i := range 2 {
			if got := d.players[i].facts.Duet.Foreign; got != test.want {
				t.Errorf("%v beside %d wakings: got %v, want %v", test.foreign, test.runs, got,
					test.want)
			}
		}
	}
}

// TestLittlesLawInStints: each connection waits, at a stint's end, for the last of all.
func TestLittlesLawInStints(t *testing.T) {
	took := &hist.Histogram{}
	took.RecordN(int64(time.Millisecond), 7500) // 8 connections for .94 of a second
	c := &record.Cell{Duet: true, Load: manifest.Load{Shape: manifest.Closed, Connections: 8},
		Result: &load.Result{Window: time.Second, Lull: 30 * time.Millisecond,
			Part: &load.Requests{Answered: 7500, Service: took}}}
	if r := littlesLaw(c, Facts{}); r != nil {
		t.Errorf("a lull of 3 %%: %s", r.Text)
	}
	c.Result.Lull = 0
	if littlesLaw(c, Facts{}) == nil {
		t.Error("6 % of the requests in flight are missing, and nothing explains it")
	}
}
