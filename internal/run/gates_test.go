package run

import (
	"slices"
	"strings"
	"testing"
	"time"

	"interleave/internal/hist"
	"interleave/internal/load"
	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/sample"
)

// at is a histogram of 1,000 equal values.
func at(d time.Duration) *hist.Histogram {
	h := &hist.Histogram{}
	h.RecordN(int64(d), 1000)
	return h
}

// sound is a cell of a closed loop that passes every gate: 100 connections, 100,000 requests of 1
// ms in a second, on two cores.
func sound() *record.Cell {
	return &record.Cell{
		Load: manifest.Load{Shape: manifest.Closed, Connections: 100, SizeBytes: 16, Pipeline: 1},
		Result: &load.Result{
			Window: time.Second,
			Part:   &load.Requests{Answered: 100_000, Service: at(time.Millisecond)},
			User:   300 * time.Millisecond, System: 300 * time.Millisecond,
			Slices: slices.Repeat([]int64{5000}, 20),
		},
		Server: &sample.Series{Samples: []sample.Sample{
			{Mark: sample.MarkOpen},
			{At: time.Second, Mark: sample.MarkClosed, User: 400 * time.Millisecond,
				System: 400 * time.Millisecond, Self: 10 * time.Millisecond,
				Busy: 1410 * time.Millisecond},
		}},
	}
}

// scheduled is the same at a rate: 100 connections, each with a request due every 10 ms.
func scheduled() *record.Cell {
	c := sound()
	c.Load.Shape, c.Load.Rate = manifest.Open, 10_000
	r := requests(c)
	r.Answered, r.Offered = 10_000, 10_000
	r.Late, r.Latency = at(20*time.Microsecond), at(100*time.Microsecond)
	return c
}

// requests returns the counts of a cell of requests and replies.
func requests(c *record.Cell) *load.Requests { return c.Result.Part.(*load.Requests) }

// paced is the same in bytes: 1,250 bytes a message at 1 Mbit/s, so one every 10 ms.
func paced() *record.Cell {
	c := scheduled()
	c.Load = manifest.Load{Shape: manifest.Paced, Connections: 100, SizeBytes: 1250, Pipeline: 1,
		Bits: 1e6}
	c.Result.Part = &load.Messages{Sent: 10_000, Offered: 10_000, Late: at(20 * time.Microsecond)}
	return c
}

// pinged is the same by pingers: each sends every 10 ms.
func pinged() *record.Cell {
	c := scheduled()
	c.Load = manifest.Load{Shape: manifest.Pings, Connections: 100, SizeBytes: 56, Pipeline: 1,
		Interval: 10 * time.Millisecond}
	c.Result.Part = &load.Pings{Answered: 10_000, Offered: 10_000, Trip: at(time.Millisecond),
		Latency: at(100 * time.Microsecond), Late: at(20 * time.Microsecond)}
	return c
}

// streamed listens: 10,000 streams, of which one text in a hundred is 2 ms late.
func streamed() *record.Cell {
	c := sound()
	c.Load = manifest.Load{Shape: manifest.Streams, Connections: 10_000, Rate: 5000}
	c.Result.Part = &load.Streams{Texts: 1000, Offered: 1000, Greeting: at(time.Millisecond),
		Delay: at(2 * time.Millisecond), Waited: at(20 * time.Microsecond)}
	return c
}

// messages returns the counts of a cell of a sink.
func messages(c *record.Cell) *load.Messages { return c.Result.Part.(*load.Messages) }

// pings returns the counts of a cell of pingers.
func pings(c *record.Cell) *load.Pings { return c.Result.Part.(*load.Pings) }

// streams returns the counts of a cell of streams.
func streams(c *record.Cell) *load.Streams { return c.Result.Part.(*load.Streams) }

var twoCores = Facts{Cores: 2, LoadCores: 1, Pinned: true, WakeCost: 3 * time.Microsecond}

// closed is a cell's last sample.
func closed(c *record.Cell) *sample.Sample { return &c.Server.Samples[1] }

func ms(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }

func TestGates(t *testing.T) {
	tests := []struct {
		name string
		cell func() *record.Cell
		set  func(c *record.Cell, f *Facts)
		want string // the gate and its sentence; nothing if the cell passes
	}{
		{"sound", sound, nil, ""},
		{"sound at a rate", scheduled, nil, ""},
		{"sound in bytes", paced, nil, ""},

		{"died", sound, func(_ *record.Cell, f *Facts) {
			f.Died = "ended with signal: segmentation fault before it was asked to"
		},
			"died: the server ended with signal: segmentation fault before it was asked to"},
		{"port of another", sound,
			func(_ *record.Cell, f *Facts) { f.Stranger = "shares port 4000 with 4711 (nc)" },
			"port-owner: the server shares port 4000 with 4711 (nc)"},
		{"unclean end", sound, func(_ *record.Cell, f *Facts) {
			f.Dirty = "did not end within 2s of SIGTERM and was killed"
		},
			"unclean-end: the server did not end within 2s of SIGTERM and was killed"},
		{"wrong reply", sound, func(c *record.Cell, _ *Facts) {
			c.Result.Errors, c.Result.FirstFail = map[string]int64{load.WrongReply: 1},
				"want 16 bytes of a, got b"
		}, "wrong-reply: 1 wrong replies: want 16 bytes of a, got b"},
		{"errors", sound, func(c *record.Cell, _ *Facts) {
			c.Result.Errors, c.Result.FirstFail = map[string]int64{"reset": 2, "connect": 3,
				"timeout": 0}, "connection reset by peer"
		}, "errors: 2 reset, 3 connect; the first: connection reset by peer"},
		{"errors of no number", sound, func(c *record.Cell, _ *Facts) {
			c.Result.Errors = map[string]int64{"reset": 0, load.WrongReply: 0}
		}, ""},
		{"nothing answered", scheduled,
			func(c *record.Cell, _ *Facts) { requests(c).Answered, requests(c).Offered = 0, 0 },
			"window: no request was answered in the measuring window"},
		{"no mark", sound, func(c *record.Cell, _ *Facts) { closed(c).Mark = "" },
			"window: the server's resources were not read at both ends of the window"},
		{"no samples", sound, func(c *record.Cell, _ *Facts) { c.Server = nil },
			"window: the server's resources were not read at both ends of the window"},

		{"a window cut short", sound,
			func(c *record.Cell, f *Facts) { f.Window, requests(c).Service = ms(1120), nil },
			"cut-short: the window was open for 1s of 1.12s: the load was not let run when it " +
				"should have opened"},
		{"a window cut, just not", sound, func(_ *record.Cell, f *Facts) { f.Window = ms(1100) },
			""},
		{"late, just not", scheduled,
			func(c *record.Cell, _ *Facts) { requests(c).Late = at(ms(.98)) }, ""},
		{"late", scheduled, func(c *record.Cell, _ *Facts) { requests(c).Late = at(ms(1.02)) },
			"late: 1 % of the messages left more than 1.02ms late, 1ms is allowed (a tenth of a " +
				"connection's interval)"},
		{"late in bytes, just not", paced,
			func(c *record.Cell, _ *Facts) { messages(c).Late = at(ms(.98)) }, ""},
		{"late in bytes", paced, func(c *record.Cell, _ *Facts) { messages(c).Late = at(ms(1.02)) },
			"late: 1 % of the messages left more than 1.02ms late, 1ms is allowed (a tenth of a " +
				"connection's interval)"},
		{"late pings", pinged, func(c *record.Cell, _ *Facts) { pings(c).Late = at(ms(1.02)) },
			"late: 1 % of the messages left more than 1.02ms late, 1ms is allowed (a tenth of a " +
				"connection's interval)"},
		{"lost pings are a figure", pinged,
			func(c *record.Cell, _ *Facts) {
				pings(c).Answered, pings(c).Lost = 5000, 5000
			}, ""},
		{"streams", streamed, nil, ""},
		{"streams read late, just not", streamed,
			func(c *record.Cell, _ *Facts) { streams(c).Waited = at(ms(.198)) }, ""},
		{"streams read late", streamed,
			func(c *record.Cell, _ *Facts) { streams(c).Waited = at(ms(.204)) },
			"late: 1 % of the texts had waited for the load for more than 204µs, 200µs is " +
				"allowed (a tenth of the lateness that it reports)"},
		{"less than anybody's timer", streamed, func(c *record.Cell, _ *Facts) {
			streams(c).Delay, streams(c).Waited = at(ms(.3)), at(ms(.099))
		}, ""},
		{"streams of nobody knows when", streamed,
			func(c *record.Cell, _ *Facts) { streams(c).Waited = &hist.Histogram{} },
			"late: the kernel did not say when texts had come, so nothing tells whether the " +
				"load was late"},
		{"a load of streams that waited was late only if its texts waited", streamed,
			func(c *record.Cell, _ *Facts) { c.Result.RunWait = ms(300) }, ""},
		{"achieved, just", scheduled,
			func(c *record.Cell, _ *Facts) { requests(c).Answered = 9900 }, ""},
		{"achieved, just not", scheduled,
			func(c *record.Cell, _ *Facts) { requests(c).Answered = 9890 },
			"achieved: 98.9 % of the messages due were sent and answered in the window, at " +
				"least 99 % must be"},
		{"busy load, just not", scheduled, func(c *record.Cell, _ *Facts) {
			c.Result.User, c.Result.System = ms(800), ms(100)
		}, ""},
		{"busy load", scheduled,
			func(c *record.Cell, _ *Facts) { c.Result.User, c.Result.System = ms(811), ms(100) },
			"load-saturated: the load used 91 % of its cores, at most 90 % leaves its " +
				"schedule true"},
		{"busy load of two cores", scheduled, func(c *record.Cell, f *Facts) {
			f.LoadCores, c.Result.User, c.Result.System = 2, ms(900), ms(800)
			closed(c).Busy = ms(2000)
		}, ""},
		{"a closed loop may be busy", sound,
			func(c *record.Cell, _ *Facts) { c.Result.User = ms(700) }, ""},
		{"load waited, just not", scheduled,
			func(c *record.Cell, _ *Facts) { c.Result.RunWait = ms(30) }, ""},
		{"load waited", scheduled, func(c *record.Cell, _ *Facts) { c.Result.RunWait = ms(36) },
			"load-waited: the load waited for its own core for 6 % of its CPU time, at most 5 % " +
				"is allowed"},
		{"load waited as it woke", scheduled,
			func(c *record.Cell, _ *Facts) { c.Result.RunWait, c.Result.Runs = ms(36), 3000 }, ""},
		{"on shared cores it may wait", scheduled,
			func(c *record.Cell, f *Facts) { c.Result.RunWait, f.Pinned = ms(300), false }, ""},
		{"in a closed loop it may wait", sound,
			func(c *record.Cell, _ *Facts) { c.Result.RunWait = ms(300) }, ""},

		{"little's law, just", sound,
			func(c *record.Cell, _ *Facts) { requests(c).Answered = 104_900 }, ""},
		{"little's law, too much", sound,
			func(c *record.Cell, _ *Facts) { requests(c).Answered = 106_000 },
			"littles-law: 100 in flight, but rate times service time is 106.0: the figures " +
				"contradict each other"},
		{"little's law, too little", sound,
			func(c *record.Cell, _ *Facts) { requests(c).Answered = 94_000 },
			"littles-law: 100 in flight, but rate times service time is 94.0: the figures " +
				"contradict each other"},
		{"little's law of a pipeline", sound,
			func(c *record.Cell, _ *Facts) { c.Load.Connections, c.Load.Pipeline = 10, 10 }, ""},
		{"little's law at the window's ends, just", sound, func(c *record.Cell, _ *Facts) {
			requests(c).Service, requests(c).Answered = at(ms(100)), 1140
		}, ""},
		{"little's law at the window's ends", sound, func(c *record.Cell, _ *Facts) {
			requests(c).Service, requests(c).Answered = at(ms(100)), 1160
		},
			"littles-law: 100 in flight, but rate times service time is 116.0: the figures " +
				"contradict each other"},
		{"no such law for a number of requests", sound, func(c *record.Cell, _ *Facts) {
			c.Load.Requests, requests(c).Answered = 1000, 50_000
		}, ""},

		// 2 cores x 1 s x .5 % is 10 ms, and one tick of /proc/stat may be of before.
		{"steal, just not", sound, func(c *record.Cell, _ *Facts) { closed(c).Steal = ms(20) }, ""},
		{"steal", sound, func(c *record.Cell, _ *Facts) { closed(c).Steal = ms(30) },
			"steal: the hypervisor took 1.0 % of the machine's time or more, at most 0.5 % is " +
				"allowed"},
		// Of 2 s, 1,410 ms are the server's, the load's and ours; 5 % more are allowed.
		{"foreign CPU, just not", sound,
			func(c *record.Cell, _ *Facts) { closed(c).Busy = ms(1509) }, ""},
		{"foreign CPU", sound, func(c *record.Cell, _ *Facts) { closed(c).Busy = ms(2430) },
			"foreign-cpu: other processes used 51.0 % of the cores, at most 50 % is allowed"},
		{"clock, just not", sound, func(_ *record.Cell, f *Facts) { f.ClockStep = -ms(50) }, ""},
		{"clock set back", sound, func(_ *record.Cell, f *Facts) { f.ClockStep = -ms(51) },
			"clock: the wall clock was set by -51ms during the cell"},
	}
	for _, tt := range tests {
		c, f := tt.cell(), twoCores
		if tt.set != nil {
			tt.set(c, &f)
		}
		Judge(c, f)
		var got []string
		for _, r := range c.Reasons {
			got = append(got, r.Gate+": "+r.Text)
		}
		if text := strings.Join(got, "\n"); text != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, text, tt.want)
		}
		want := record.Measured
		if tt.want != "" {
			want = record.Void
		}
		if c.Status != want {
			t.Errorf("%s: status %q, want %q", tt.name, c.Status, want)
		}
	}
}

// TestReasonsAreAllGiven breaks several things at once: the most basic stands first.
func TestReasonsAreAllGiven(t *testing.T) {
	c, f := sound(), twoCores
	c.Result.Errors = map[string]int64{load.WrongReply: 5, "reset": 1}
	c.Server.Samples[1].Steal = time.Second
	f.Died = "ended with exit status 1 before it was asked to"
	Judge(c, f)
	var got []string
	for _, r := range c.Reasons {
		got = append(got, r.Gate)
	}
	if want := []string{"died", "wrong-reply", "errors", "steal"}; !slices.Equal(got, want) {
		t.Errorf("gates %v, want %v", got, want)
	}
}

func TestABrokenCellStaysBroken(t *testing.T) {
	c := &record.Cell{Status: record.Broken,
		Reasons: []record.Reason{{Gate: "never-ready", Text: "x"}}}
	Judge(c, twoCores)
	if c.Status != record.Broken || len(c.Reasons) != 1 {
		t.Errorf("got %q with %d reasons", c.Status, len(c.Reasons))
	}
}

// TestNeighboursAreSeen: a thousand pingers wake two cores 24,000 times a second, and the machine
// does 2 % besides. A program that uses 5 % of the cores is seen beside them with every figure that
// a calibration may say, though a figure that is too large excuses a part of it.
func TestNeighboursAreSeen(t *testing.T) {
	const truth = 5400 * time.Nanosecond // of each waking
	for _, test := range []struct {
		cost      time.Duration
		neighbour float64 // of two cores
		disturbed bool
	}{
		{truth, 0, false},
		{truth, .02, false},
		{truth, .05, true},
		{7 * time.Microsecond, 0, false},
		{7 * time.Microsecond, .05, true},
		{3 * time.Microsecond, .05, true},
		{time.Microsecond, .05, true},
	} {
		c := sound()
		closed(c).Voluntary, c.Result.Runs = 8_000, 16_000
		closed(c).Busy += 24_000*truth + ms(40) + ms(2000*test.neighbour)
		f := twoCores
		f.WakeCost = test.cost
		Judge(c, f)
		if got := slices.Contains(c.Labels, record.Disturbed); got != test.disturbed {
			t.Errorf("%v a waking, beside %.0f %% of the cores: disturbed is %v, want %v",
				test.cost, 100*test.neighbour, got, test.disturbed)
		}
	}
}

// TestForeignAsSeen: where other programs are seen themselves, what nobody is charged with is not
// theirs, and what they are charged with counts as it is.
func TestForeignAsSeen(t *testing.T) {
	for _, test := range []struct {
		busy, foreign float64 // of two cores
		seen          bool
		disturbed     bool
		void          bool
	}{
		{busy: .09, seen: true},
		{busy: .09, disturbed: true},
		{busy: .09, foreign: .06, seen: true, disturbed: true},
		{foreign: .06, seen: true, disturbed: true},
		{foreign: .06},
		{foreign: .04, seen: true},
		{foreign: .55, seen: true, disturbed: true, void: true},
	} {
		c := sound()
		closed(c).Busy += ms(2000 * test.busy)
		closed(c).Foreign, closed(c).ForeignSeen = ms(2000*test.foreign), test.seen
		Judge(c, twoCores)
		disturbed := slices.Contains(c.Labels, record.Disturbed)
		if disturbed != test.disturbed || (c.Status == record.Void) != test.void {
			t.Errorf("%+v: disturbed is %v, and the cell is %v", test, disturbed, c.Status)
		}
	}
}

// TestWakeCostOfARun: the gates get the figure of the run's record, and a run that goes on measures
// one only if it has none.
func TestWakeCostOfARun(t *testing.T) {
	l := &Local{WakeCost: 4600}
	if f := l.facts(&Spec{Condition: manifest.Own}); f.WakeCost != 4600 {
		t.Errorf("the gates get %v, want 4.6µs", f.WakeCost)
	}
	old := func(wakings ...record.Waking) string {
		h := record.Header{ID: record.NewID(time.Now()), Wakings: wakings}
		w, err := record.Create(t.TempDir(), h, func(string) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return w.Dir
	}
	measured := record.Waking{Cost: 4600, Measured: true}
	s := &Session{Resume: old(record.UnknownWaking("busy"), measured), Exe: "/nonexistent"}
	if err := s.wake(t.Context()); err != nil || s.wakings != nil {
		t.Errorf("a run that goes on has measured %+v, %v", s.wakings, err)
	}
	for _, resume := range []string{"", old(record.UnknownWaking("busy")), old()} {
		var told watched
		s = &Session{Resume: resume, Exe: "/nonexistent", Watch: &told}
		if err := s.wake(t.Context()); err != nil || len(s.wakings) != 1 ||
			s.wakings[0].Measured || len(told) != 1 ||
			!strings.Contains(told[0].Text, "not measured, 3µs is taken") {
			t.Errorf("got %+v, %v, and was told %+v", s.wakings, err, told)
		}
	}
	s = &Session{Resume: "no run", Exe: "/nonexistent"}
	if err := s.wake(t.Context()); err == nil {
		t.Error("a run that cannot be read goes on")
	}
}

func TestLabels(t *testing.T) {
	slices20 := func(first, last int64) []int64 {
		s := slices.Repeat([]int64{1000}, 20)
		for i := range 5 {
			s[i], s[19-i] = first, last
		}
		return s
	}
	tests := []struct {
		name string
		set  func(c *record.Cell, f *Facts)
		want []string
	}{
		{"none", nil, nil},
		{"other programs, just not",
			func(c *record.Cell, _ *Facts) { closed(c).Busy = ms(1509) }, nil},
		{"other programs", func(c *record.Cell, _ *Facts) { closed(c).Busy = ms(1511) },
			[]string{record.Disturbed}},
		{"cores that wake", func(c *record.Cell, _ *Facts) { // 30 ms
			closed(c).Voluntary, c.Result.Runs, closed(c).Busy = 4_000, 6_000, ms(1535)
		}, nil},
		{"cores that wake, and other programs", func(c *record.Cell, _ *Facts) {
			closed(c).Voluntary, c.Result.Runs, closed(c).Busy = 4_000, 6_000, ms(1545)
		}, []string{record.Disturbed}},
		{"cores that wake, as calibrated", func(c *record.Cell, f *Facts) { // 45 ms
			f.WakeCost = 4500 * time.Nanosecond
			closed(c).Voluntary, c.Result.Runs, closed(c).Busy = 4_000, 6_000, ms(1545)
		}, nil},
		{"cores that wake all the time, just not", func(c *record.Cell, f *Facts) {
			f.WakeCost = 7 * time.Microsecond // 700 ms, of which 200 are excused
			closed(c).Voluntary, c.Result.Runs, closed(c).Busy = 40_000, 60_000, ms(1709)
		}, nil},
		{"cores that wake all the time", func(c *record.Cell, f *Facts) {
			f.WakeCost = 7 * time.Microsecond
			closed(c).Voluntary, c.Result.Runs, closed(c).Busy = 40_000, 60_000, ms(1711)
		}, []string{record.Disturbed}},
		{"the load's core was full", func(c *record.Cell, _ *Facts) {
			c.Result.User = 610 * time.Millisecond
		}, []string{record.GeneratorBound}},
		{"the load's core was nearly full",
			func(c *record.Cell, _ *Facts) { c.Result.User = 590 * time.Millisecond }, nil},
		{"one of its two cores", func(c *record.Cell, f *Facts) {
			c.Result.User, f.LoadCores = 700*time.Millisecond, 2
		}, nil},
		{"a full core that is shared", func(c *record.Cell, f *Facts) {
			c.Result.User, f.Pinned = 700*time.Millisecond, false
		}, nil},
		{"a full core that connects", func(c *record.Cell, _ *Facts) {
			c.Load.Shape, c.Result.User = manifest.Connect, 700*time.Millisecond
		}, []string{record.GeneratorBound}},
		{"steady, just", func(c *record.Cell, _ *Facts) { c.Result.Slices = slices20(1000, 1099) },
			nil},
		{"faster at the end", func(c *record.Cell, _ *Facts) {
			c.Result.Slices = slices20(1000, 1110)
		}, []string{record.NotSteady}},
		{"slower at the end", func(c *record.Cell, _ *Facts) {
			c.Result.Slices = slices20(1000, 890)
		}, []string{record.NotSteady}},
		{"nothing at first", func(c *record.Cell, _ *Facts) { c.Result.Slices = slices20(0, 1000) },
			[]string{record.NotSteady}},
		{"a window too short to tell", func(c *record.Cell, _ *Facts) {
			c.Result.Slices, c.Result.Window = slices20(1000, 2000), 900*time.Millisecond
		}, nil},
		{"too few slices to tell",
			func(c *record.Cell, _ *Facts) { c.Result.Slices = []int64{1, 2, 3} }, nil},
	}
	for _, tt := range tests {
		c, f := sound(), twoCores
		if tt.set != nil {
			tt.set(c, &f)
		}
		Judge(c, f)
		if !slices.Equal(c.Labels, tt.want) {
			t.Errorf("%s: labels %q, want %q", tt.name, c.Labels, tt.want)
		}
	}
}

// TestGatesOfChats: the schedule of a chat is that of those who speak, and what is due at the end
// counts when it is acknowledged.
func TestGatesOfChats(t *testing.T) {
	open := manifest.Load{Shape: manifest.Open, Connections: 64, Members: manifest.AllMembers,
		Senders: 8, SizeBytes: 64, Rate: 100}
	if got := interval(&record.Cell{Load: open}); got != 80*time.Millisecond {
		t.Errorf("got %v between two messages of a sender, want 80ms", got)
	}
	paced := manifest.Load{Shape: manifest.Paced, Connections: 64, Members: 1, SizeBytes: 106,
		Pipeline: 10, Bits: 1e6}
	if got := interval(&record.Cell{Load: paced}); got != 10*time.Millisecond {
		t.Errorf("got %v between two bursts, want 10ms", got)
	}
	acks := &hist.Histogram{}
	for range 40 {
		acks.Record(1)
	}
	p := &load.Chat{Offered: 40, Acknowledged: 38, Acks: acks}
	c := &record.Cell{Load: open, Result: &load.Result{Part: p}}
	if r := achieved(c, Facts{}); r != nil {
		t.Errorf("got %+v of a chat that acknowledged all", r)
	}
	p.Offered = 41
	if r := achieved(c, Facts{}); r == nil {
		t.Error("one message in 41 was not acknowledged, and nothing said so")
	}
}
