package load

// Loads that rest and run in turn.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"interleave/internal/manifest"
)

// A stinted load is an engine in this process that is asked for stints.
type stinted struct {
	t      testing.TB
	e      *engine
	rested chan Event
	result chan *Result
	err    error // once result has been received
}

// beginStints starts a load that rests.
func beginStints(t testing.TB, p Plan) *stinted {
	t.Helper()
	p.Stints, p.WarmUp = true, 0
	if p.Limit == 0 {
		p.Limit = patience
	}
	s := &stinted{t: t, rested: make(chan Event, 1), result: make(chan *Result, 1)}
	var err error
	s.e, err = newEngine(p, func(ev Event) {
		if ev.At == Rested {
			s.rested <- ev
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	start := make(chan struct{})
	close(start)
	go func() {
		var r *Result
		r, s.err = s.e.run(start)
		s.result <- r
	}()
	return s
}

// run has one stint.
func (s *stinted) run(d time.Duration, counted bool) Event {
	s.t.Helper()
	if err := s.e.stint(Stint{d, counted}); err != nil {
		s.t.Fatal(err)
	}
	select {
	case ev := <-s.rested:
		return ev
	case <-time.After(patience):
		s.t.Fatal("a stint does not end")
	}
	return Event{}
}

// end ends the load.
func (s *stinted) end() *Result {
	s.t.Helper()
	s.e.finish()
	select {
	case r := <-s.result:
		s.e.close()
		if s.err != nil {
			s.t.Fatal(s.err)
		}
		return r
	case <-time.After(patience):
		s.t.Fatal("a load of stints does not end")
	}
	return nil
}

// TestStintShapes has three stints that count among others, of each shape that can rest, on one
// thread and on two. All that is due or sent in a stint is answered in it.
func TestStintShapes(t *testing.T) {
	var value atomic.Uint64
	counter := func(t testing.TB) netip.AddrPort {
		value.Store(0)
		return listen(t, serveCounter(&value, countRight))
	}
	serving := func(serve func(*net.TCPConn)) func(testing.TB) netip.AddrPort {
		return func(t testing.TB) netip.AddrPort { return listen(t, serve) }
	}
	chat := func(t testing.TB) netip.AddrPort { return startChat(t, &chatServer{ping: 5}) }
	images := func(t testing.TB) netip.AddrPort { return listen(t, newImageServer().serve) }
	tests := []struct {
		protocol string
		load     manifest.Load
		server   func(testing.TB) netip.AddrPort
	}{
		{"echo", manifest.Load{Shape: manifest.Closed, Connections: 8, SizeBytes: 16, Pipeline: 3},
			serving(serveEcho)},
		{"echo", manifest.Load{Shape: manifest.Open, Connections: 8, SizeBytes: 16, Rate: 2000},
			serving(serveEcho)},
		{"echo", manifest.Load{Shape: manifest.Connect, Connections: 4, SizeBytes: 16},
			serving(serveEcho)},
		{"counter", manifest.Load{Shape: manifest.Closed, Connections: 8, ReadShare: .5}, counter},
		{"sink", manifest.Load{Shape: manifest.Paced, Connections: 4, SizeBytes: 125, Bits: 1e5},
			serving(serveDiscard)},
		{manifest.Transfer, manifest.Load{Shape: manifest.Transfers, Connections: 4,
			SizeBytes: 4096}, serving(serveDiscard)},
		{manifest.Images, manifest.Load{Shape: manifest.Closed, Connections: 2, SizeBytes: anImage,
			Ask: manifest.AskImage}, images},
		{manifest.Images, manifest.Load{Shape: manifest.Open, Connections: 4, SizeBytes: anImage,
			Ask: manifest.AskImage, Rate: 200}, images},
		{manifest.Chat, manifest.Load{Shape: manifest.Fanout, Connections: 12, SizeBytes: 80,
			Members: 4, Senders: 2, Pipeline: 8}, chat},
		{manifest.Chat, manifest.Load{Shape: manifest.Open, Connections: 12, SizeBytes: 80,
			Members: 4, Rate: 500}, chat},
		{manifest.Chat, manifest.Load{Shape: manifest.Paced, Connections: 6, SizeBytes: 106,
			Members: 1, Bits: 1e5, Pipeline: 10}, chat},
	}
	for _, test := range tests {
		for _, cpus := range [][]int{nil, {0, 0}} {
			t.Run(fmt.Sprintf("%s/%s/%d", test.protocol, test.load.Shape, len(cpus)),
				func(t *testing.T) {
					p := plan(test.protocol, test.server(t), test.load)
					p.CPUs = cpus
					p.Sources = LoopbackSources(test.load.Connections)
					checkStints(t, p)
				})
		}
	}
}

// checkStints runs a load in stints and holds its counts against each other.
func checkStints(t *testing.T, p Plan) {
	t.Helper()
	const each = 30 * time.Millisecond
	s := beginStints(t, p)
	s.run(each, false)
	var last Event
	for range 3 {
		s.run(each/3, false)
		last = s.run(each, true)
	}
	if errors := s.run(each, false).Errors; errors != last.Errors || errors != 0 {
		t.Errorf("the load has met %d errors, then %d", last.Errors, errors)
	}
	r := s.end()
	noErrors(t, r)
	c := of(r)
	if r.Window != last.Window || r.Window < 3*each {
		t.Errorf("a window of %v, and %v when it was over; want 3 stints of %v at least", r.Window,
			last.Window, each)
	}
	if c.Requests == 0 || c.Total <= c.Requests {
		t.Errorf("%d requests count of %d", c.Requests, c.Total)
	}
	if c.Offered > 0 && c.Requests != c.Offered {
		t.Errorf("%d requests were due, and %d were answered", c.Offered, c.Requests)
	}
	if c.Offered > 0 && r.Window != 3*each {
		t.Errorf("a load with a schedule has a window of %v, want %v", r.Window, 3*each)
	}
	for name, n := range map[string]int64{"services": counted(c.Service),
		"latenesses": counted(c.Late)} {
		if n > 0 && p.Protocol != manifest.Chat && n != c.Requests {
			t.Errorf("%d %s of %d requests", n, name, c.Requests)
		}
	}
	var sum int64
	for _, n := range r.Slices {
		sum += n
	}
	if sum != c.Requests {
		t.Errorf("the parts of the window hold %d requests, want %d", sum, c.Requests)
	}
}

// TestNothingIsSentAtRest compares what a server has served with what the engine has counted.
func TestNothingIsSentAtRest(t *testing.T) {
	for _, l := range []manifest.Load{
		{Shape: manifest.Closed, Connections: 8, SizeBytes: 16, Pipeline: 2},
		{Shape: manifest.Open, Connections: 8, SizeBytes: 16, Rate: 20000},
	} {
		var served atomic.Int64
		addr := listen(t, func(c *net.TCPConn) {
			buf := make([]byte, 4096)
			for {
				n, err := c.Read(buf)
				if err != nil {
					return
				}
				served.Add(int64(n))
				if _, err := c.Write(buf[:n]); err != nil {
					return
				}
			}
		})
		s := beginStints(t, plan("echo", addr, l))
		var counts int64
		for i := range 8 {
			before := served.Load()
			s.run(10*time.Millisecond, i%2 == 1)
			after := served.Load()
			if i%2 == 1 {
				counts += after - before
			}
			time.Sleep(5 * time.Millisecond)
			if now := served.Load(); now != after {
				t.Errorf("%s: the load rests, and the server was sent %d bytes", l.Shape, now-after)
			}
		}
		r := s.end()
		noErrors(t, r)
		if got := 16 * of(r).Requests; got != counts || of(r).BytesIn != counts ||
			of(r).BytesOut != counts {
			t.Errorf("%s: %d bytes in requests that count, %d in, %d out; the server has served %d",
				l.Shape, got, of(r).BytesIn, of(r).BytesOut, counts)
		}
	}
}

// TestStintTruth measures a server with a known truth: it takes two milliseconds for each request,
// so one connection has 500 answers a second, and an open loop sees two milliseconds.
func TestStintTruth(t *testing.T) {
	const takes = 2 * time.Millisecond
	addr := listen(t, func(c *net.TCPConn) {
		buf := make([]byte, 16)
		for {
			if _, err := c.Read(buf); err != nil {
				return
			}
			for began := time.Now(); time.Since(began) < takes; {
			}
			if _, err := c.Write(buf); err != nil {
				return
			}
		}
	})
	measure := func(l manifest.Load) *Result {
		l.Connections, l.SizeBytes = 1, 16
		s := beginStints(t, plan("echo", addr, l))
		for range 10 {
			s.run(4*time.Millisecond, false)
			s.run(20*time.Millisecond, true)
		}
		r := s.end()
		noErrors(t, r)
		return r
	}
	quietly(t, "a closed loop had 500 answers a second", func() bool {
		r := measure(manifest.Load{Shape: manifest.Closed})
		rate := float64(of(r).Requests) / r.Window.Seconds()
		inFlight := rate * of(r).Service.Mean() / 1e9
		return rate > 450 && rate <= 500 && inFlight > .95 && inFlight < 1.01
	})
	quietly(t, "an open loop saw two milliseconds", func() bool {
		r := measure(manifest.Load{Shape: manifest.Open, Rate: 200})
		p50 := time.Duration(of(r).Latency.Quantile(.5))
		// 200 a second for 10 stints of 20 ms
		return of(r).Requests >= 39 && of(r).Requests <= 41 && p50 >= takes && p50 < takes*11/10
	})
}

// TestStintStall: a server that stops at the end of a stint owes answers. They count, with all of
// their time: the time for which a load rests hides nothing.
func TestStintStall(t *testing.T) {
	const stop = 50 * time.Millisecond // that the server sleeps
	var once sync.Once
	begun := make(chan struct{})
	addr := listen(t, func(c *net.TCPConn) {
		buf := make([]byte, 4096)
		for {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			select {
			case <-begun:
				once.Do(func() { time.Sleep(50 * time.Millisecond) })
			default:
			}
			if _, err := c.Write(buf[:n]); err != nil {
				return
			}
		}
	})
	s := beginStints(t, plan("echo", addr, manifest.Load{Shape: manifest.Open, Connections: 1,
		SizeBytes: 16, Rate: 1000}))
	s.run(10*time.Millisecond, false)
	close(begun)
	s.run(10*time.Millisecond, true)
	s.run(10*time.Millisecond, true)
	r := s.end()
	noErrors(t, r)
	c := of(r)
	if c.Requests != c.Offered || c.Requests < 19 || c.Requests > 21 ||
		r.Window != 20*time.Millisecond {
		t.Errorf("%d of %d requests in %v, want all 20 of two stints", c.Requests, c.Offered,
			r.Window)
	}
	if longest := time.Duration(c.Latency.Max()); longest < stop {
		t.Errorf("the longest latency is %v: the server stopped for %v", longest, stop)
	}
}

// TestDeathAtRest: a server that ends its connections while the load rests is noticed at the next
// stint, which is empty, and so are all that follow.
func TestDeathAtRest(t *testing.T) {
	die := make(chan struct{})
	addr := listen(t, func(c *net.TCPConn) {
		go func() { <-die; c.Close() }()
		serveEcho(c)
	})
	s := beginStints(t, plan("echo", addr, manifest.Load{Shape: manifest.Closed, Connections: 3,
		SizeBytes: 16}))
	if ev := s.run(10*time.Millisecond, true); ev.Errors != 0 {
		t.Fatalf("%d errors before the server's death", ev.Errors)
	}
	close(die)
	time.Sleep(20 * time.Millisecond)
	for range 2 {
		if ev := s.run(10*time.Millisecond, true); ev.Errors < 3 {
			t.Errorf("%d errors of 3 connections that have ended", ev.Errors)
		}
	}
	if r := s.end(); r.Errors[Ended]+r.Errors[Reset] != 3 || of(r).Requests == 0 {
		t.Errorf("got %v and %d requests: want three ends, and what was answered before", r.Errors,
			of(r).Requests)
	}
}

// TestStintBacklog: a server that answers nothing ends the load's part, not the engine.
func TestStintBacklog(t *testing.T) {
	p := wrongPlan("echo", listen(t, readAndHold), manifest.Load{Shape: manifest.Open,
		Connections: 1, SizeBytes: 16, Rate: 1e6})
	p.Drain = 20 * time.Millisecond
	s := beginStints(t, p)
	s.run(100*time.Millisecond, true)
	if ev := s.run(time.Millisecond, true); ev.Errors == 0 {
		t.Error("a server that answers nothing is no error")
	}
	if r := s.end(); r.Errors[Backlog] != 1 && r.Errors[Timeout] == 0 {
		t.Errorf("got %v, want a backlog or a timeout", r.Errors)
	}
}

// TestStintLimit: the engine gives up at its limit, at rest too.
func TestStintLimit(t *testing.T) {
	p := plan("echo", listen(t, serveEcho), manifest.Load{Shape: manifest.Closed, Connections: 1,
		SizeBytes: 16})
	p.Limit = 100 * time.Millisecond
	s := beginStints(t, p)
	select {
	case r := <-s.result:
		s.e.close()
		if r.Errors[PastLimit] != 1 {
			t.Errorf("got %v, want the limit", r.Errors)
		}
	case <-time.After(patience):
		t.Fatal("an engine that rests lives beyond its limit")
	}
}

// TestRoll follows the window of several threads through random stints.
func TestRoll(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		parts := 1 + rng.IntN(4)
		r := newRoll(parts)
		scheduled := rng.IntN(2) == 0
		var want, wantLull, faults, at int64
		for range 1 + rng.IntN(10) {
			s := Stint{For: time.Duration(1 + rng.IntN(1000)), Counted: rng.IntN(3) > 0}
			if err := r.ask(s); err != nil {
				t.Fatal(err)
			}
			if err := r.ask(s); err == nil {
				t.Fatal("a stint may be asked for while another runs")
			}
			first, latest := int64(never), int64(0)
			for range parts {
				at += int64(rng.IntN(10))
				first = min(first, at)
				if got := r.begin(at); got != s {
					t.Fatalf("began %v, want %v", got, s)
				}
			}
			for i := range parts {
				at += int64(rng.IntN(1000))
				latest = at
				met := int64(rng.IntN(2))
				faults += met
				last, window, errors := r.rest(at, met, scheduled)
				if last != (i == parts-1) {
					t.Fatalf("thread %d of %d is the last: %v", i, parts, last)
				}
				if !last {
					continue
				}
				if s.Counted {
					wantLull += max(0, latest-first-int64(s.For))
				}
				switch {
				case s.Counted && scheduled:
					want += int64(s.For)
				case s.Counted:
					want += latest - first
				}
				total, lull := r.total()
				if window != want || errors != faults || total != time.Duration(want) ||
					lull != time.Duration(wantLull) {
					t.Fatalf("a window of %d and %d errors, want %d and %d", window, errors, want,
						faults)
				}
			}
		}
	}
}

// TestSchedulePauses: a schedule that is stopped and goes on has the due times of one that is
// not, moved by the time for which it was stopped.
func TestSchedulePauses(t *testing.T) {
	for _, gaps := range []string{"constant", "exponential"} {
		whole := newSchedule(1e6, gaps, 3, 0, 1) // a gap of 1000 ns
		whole.begin(0)
		parts := newSchedule(1e6, gaps, 3, 0, 1)
		var got, want []int64
		for active, now := int64(0), int64(500); active < 100_000; now += 777 {
			parts.resume(now)
			end := now + 2500
			for parts.next < end {
				got = append(got, active+parts.next-now)
				parts.advance()
			}
			now, active = end, active+2500
			parts.pause(end)
			if parts.next != never {
				t.Fatal("a schedule that is stopped is due")
			}
			for whole.next < active {
				want = append(want, whole.next)
				whole.advance()
			}
		}
		if !slices.Equal(got, want) || len(got) < 50 {
			t.Errorf("%s: got %v, want %v", gaps, got, want)
		}
	}
}

func TestParseStint(t *testing.T) {
	got, err := parseStint([]byte(`{"for_ns":40000000,"counted":true}` + "\n"))
	if want := (Stint{40 * time.Millisecond, true}); err != nil || got != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, bad := range []string{"", "go", "{}", `{"for_ns":0}`, `{"for_ns":-1}`, `{"for_ns":1e99}`,
		`{"for_ns":3600000000001}`} {
		if got, err := parseStint([]byte(bad)); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}

func FuzzStint(f *testing.F) {
	f.Add([]byte(`{"for_ns":40000000,"counted":true}`))
	f.Add([]byte(`{"for_ns":1}`))
	f.Add([]byte("end\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if s, err := parseStint(line); err == nil && (s.For <= 0 || s.For > maxStint) {
			t.Errorf("%q gave %v", line, s)
		}
	})
}

// TestStintProcess follows an engine's process through two stints, and has it refuse lines that it
// does not understand.
func TestStintProcess(t *testing.T) {
	p := plan("echo", listen(t, serveEcho), manifest.Load{Shape: manifest.Closed, Connections: 2,
		SizeBytes: 16})
	p.Limit, p.Stints, p.WarmUp = patience, true, 0
	follow := func(do func(*Engine, Event, int) error) (last Event, stages []Stage) {
		t.Helper()
		e, err := Start(context.Background(), self(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Kill()
		for last.At != Done && last.At != Failed {
			if last, err = e.Next(); err != nil {
				t.Fatal(err)
			}
			stages = append(stages, last.At)
			if err := do(e, last, len(stages)); err != nil {
				t.Fatal(err)
			}
		}
		return last, stages
	}
	stint := Stint{10 * time.Millisecond, true}
	last, stages := follow(func(e *Engine, ev Event, n int) error {
		switch {
		case ev.At == Connected:
			if err := e.Go(); err != nil {
				return err
			}
			return e.Stint(stint)
		case ev.At == Rested && n == 2:
			return e.Stint(stint)
		case ev.At == Rested:
			return e.End()
		}
		return nil
	})
	if want := []Stage{Connected, Rested, Rested, Done}; !slices.Equal(stages, want) {
		t.Fatalf("got stages %v (%s), want %v", stages, last.Error, want)
	}
	noErrors(t, last.Result)
	for _, wrong := range []string{"{}\n", "go\n", `{"for_ns":9e9}{"for_ns":1}` + "\n",
		`{"for_ns":60000000000}` + "\n" + `{"for_ns":1}` + "\n"} {
		last, _ := follow(func(e *Engine, ev Event, _ int) error {
			if ev.At != Connected {
				return nil
			}
			if err := e.Go(); err != nil {
				return err
			}
			return e.tell("saying something wrong", wrong)
		})
		if last.At != Failed || !strings.Contains(last.Error, "stint") {
			t.Errorf("%q: got %s %q, want a failure in words", wrong, last.At, last.Error)
		}
	}
}

// TestStintPlans refuses what cannot rest.
func TestStintPlans(t *testing.T) {
	good := goodPlan()
	good.Stints, good.WarmUp = true, 0
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Plan){
		"a warm-up": func(p *Plan) { p.WarmUp = time.Second },
		"a number":  func(p *Plan) { p.Load.Requests, p.Window = 10, 0 },
		"bulk": func(p *Plan) {
			p.Protocol, p.Load = manifest.Transfer, manifest.Load{Shape: manifest.Bulk,
				Connections: 1, Direction: "in"}
		},
	} {
		p := good
		change(&p)
		if err := p.Validate(); err == nil {
			t.Errorf("%s: a plan that cannot rest is taken", name)
		}
	}
}
