package load

// The parts that touch no clock and no socket.

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"interleave/internal/manifest"
)

func takeDue(s *schedule, n int) []int64 {
	var due []int64
	for range n {
		due = append(due, s.next)
		s.advance()
	}
	return due
}

func TestScheduleConstant(t *testing.T) {
	s := newSchedule(3, "constant", 1, 0, 1)
	if s.next != never {
		t.Error("a schedule that has not begun is due")
	}
	s.begin(1000)
	got, want := takeDue(s, 4), []int64{1000, 333334333, 666667667, 1000001000}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	s.begin(0)
	takeDue(s, 3_000_000)
	// a thousand thousand seconds later: no error has added up
	if want := int64(1_000_000e9); s.next != want {
		t.Errorf("got %d, want %d", s.next, want)
	}
	s.end()
	if s.next != never {
		t.Error("a schedule that has ended is due")
	}
}

// TestScheduleParts merges the parts of two threads: together they are one thread's schedule.
func TestScheduleParts(t *testing.T) {
	whole, a, b := newSchedule(1000, "", 1, 0, 1), newSchedule(1000, "", 1, 0, 2),
		newSchedule(1000, "", 1, 1, 2)
	for _, s := range []*schedule{whole, a, b} {
		s.begin(500)
	}
	got := append(takeDue(a, 50), takeDue(b, 50)...)
	slices.Sort(got)
	if want := takeDue(whole, 100); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestScheduleExponential(t *testing.T) {
	draw := func(seed uint64) []int64 {
		s := newSchedule(1000, "exponential", seed, 0, 1)
		s.begin(0)
		return takeDue(s, 20_000)
	}
	a := draw(5)
	if !slices.Equal(a, draw(5)) {
		t.Error("the same seed gave another schedule")
	}
	if slices.Equal(a, draw(6)) {
		t.Error("another seed gave the same schedule")
	}
	if !slices.IsSorted(a) {
		t.Error("due times fall")
	}
	// The mean gap is 1 ms, the deviation of each gap as large; the mean of 20,000 is within 4 of
	// its own deviations.
	mean := float64(a[len(a)-1]) / float64(len(a)) / 1e6
	if math.Abs(mean-1) > 4/math.Sqrt(20_000) {
		t.Errorf("got a mean gap of %v ms, want 1", mean)
	}
	short := 0
	for i := range a[1:] {
		if a[i+1]-a[i] < 1e6 {
			short++
		}
	}
	if share := float64(short) / float64(len(a)); math.Abs(share-(1-1/math.E)) > .02 {
		t.Errorf("%v of the gaps are below the mean, want %v", share, 1-1/math.E)
	}
}

func TestRamp(t *testing.T) {
	r := newRamp(1e9, 1)
	for _, test := range []struct {
		at   int64
		want int
	}{{1e9, 1024}, {2e9, 5024}, {3.5e9, 11024}} {
		if got := r.allowed(test.at); got != test.want {
			t.Errorf("at %d: got %d connections, want %d", test.at, got, test.want)
		}
	}
}

func TestRings(t *testing.T) {
	tests := []struct {
		connections, pipeline int
		scheduled             bool
		want                  int
	}{
		{1, 1, false, 1}, {1, 5, false, 8}, {100, 64, false, 64},
		{1, 0, true, 1 << 14}, {64, 0, true, 1 << 14}, {1000, 0, true, 2048},
		{1 << 20, 0, true, 64},
	}
	for _, test := range tests {
		if got := ringSize(test.connections, test.pipeline, test.scheduled); got != test.want {
			t.Errorf("%+v: got %d", test, got)
		}
	}
	r := newRings(3, 4)
	for c := range int32(3) {
		for n := uint64(100); n < 104; n++ {
			r.at(c, n).due = int64(c)<<32 | int64(n)
		}
	}
	for c := range int32(3) {
		for n := uint64(100); n < 104; n++ {
			if got, want := r.at(c, n).due, int64(c)<<32|int64(n); got != want {
				t.Errorf("ring %d, request %d: got %x, want %x", c, n, got, want)
			}
		}
	}
	if r.at(1, 104) != r.at(1, 100) {
		t.Error("a ring of four does not come round")
	}
}

func TestTimeline(t *testing.T) {
	fixed := newTimeline(100, 4)
	for at := range int64(110) { // a reply may be read just after the end
		fixed.add(at, 1)
	}
	if got, want := fixed.cut(100, 4), []int64{25, 25, 25, 35}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// A load of unknown length, far longer than the first parts reach: even in time, then a burst.
	grows := newTimeline(0, 4)
	const length = int64(20e9)
	for at := int64(0); at < length; at += 1e6 {
		grows.add(at, 1)
	}
	got := grows.cut(length, 4)
	for _, n := range got {
		if n < 4990 || n > 5010 {
			t.Errorf("got %v, want 5000 in each", got)
			break
		}
	}
	grows.add(length-1, 1000)
	got = grows.cut(length, 4)
	if sum := got[0] + got[1] + got[2] + got[3]; sum != 21_000 || got[3] < 5990 {
		t.Errorf("got %v, want a sum of 21000 and the burst in the last part", got)
	}
	empty := newTimeline(0, 3)
	if got := empty.cut(0, 3); !slices.Equal(got, []int64{0, 0, 0}) {
		t.Errorf("got %v for nothing", got)
	}
}

// TestPattern cuts messages in every way and changes every byte.
func TestPattern(t *testing.T) {
	const key, request, size = 77, 5, 43
	whole := make([]byte, size)
	fillPattern(key, request, 0, whole)
	for from := range size {
		for to := from; to <= size; to++ {
			part := make([]byte, to-from)
			fillPattern(key, request, uint64(from), part)
			if !bytes.Equal(part, whole[from:to]) {
				t.Fatalf("bytes %d to %d are %x, want %x", from, to, part, whole[from:to])
			}
			if at := checkPattern(key, request, uint64(from), part); at != -1 {
				t.Fatalf("bytes %d to %d: byte %d is said to be wrong", from, to, at)
			}
			for i := range part {
				part[i] ^= 0x10
				if at := checkPattern(key, request, uint64(from), part); at != i {
					t.Fatalf("bytes %d to %d, byte %d is wrong: got %d", from, to, i, at)
				}
				part[i] ^= 0x10
			}
		}
	}
	if checkPattern(key, request+1, 0, whole) == -1 ||
		checkPattern(key+1, request, 0, whole) == -1 {
		t.Error("another request's or connection's message is taken for this one's")
	}
}

// TestEchoStream sends and checks a stream in pieces of random length.
func TestEchoStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	e := &echo{seed: 3, size: 21}
	c := &conn{id: 9, issued: 100}
	var stream []byte
	for c.sent < 100 {
		p := make([]byte, min(1+rng.Uint64N(60), (100-c.sent)*e.size-c.sentPart))
		e.fill(c, p)
		stream = append(stream, p...)
		c.sentPart += uint64(len(p))
		c.sent, c.sentPart = c.sent+c.sentPart/e.size, c.sentPart%e.size
	}
	for len(stream) > 0 {
		n := min(1+rng.IntN(60), len(stream))
		replies, kind := e.check(c, stream[:n])
		if kind != "" {
			t.Fatalf("reply %d: %s", c.answered, kind)
		}
		c.answered += uint64(replies)
		stream = stream[n:]
	}
	if c.answered != 100 {
		t.Errorf("got %d replies, want 100", c.answered)
	}
	if _, kind := e.check(c, []byte{1}); kind != Extra {
		t.Errorf("got %q for a byte that nothing asked for, want %q", kind, Extra)
	}
}

// TestForeignReply gives a connection the replies of another connection, and of its own requests
// before and after.
func TestForeignReply(t *testing.T) {
	e := &echo{seed: 3, size: 21}
	message := func(id uint32, request uint64) []byte {
		p := make([]byte, e.size)
		e.fill(&conn{id: id, sent: request}, p)
		return p
	}
	for _, from := range []struct {
		id      uint32
		request uint64
	}{{8, 5}, {10, 5}, {9, 4}, {9, 6}} {
		c := &conn{id: 9, issued: 8, answered: 5}
		if _, kind := e.check(c, message(from.id, from.request)); kind != WrongReply {
			t.Errorf("got %q for reply %d of connection %d to request 5 of connection 9, want %q",
				kind, from.request, from.id, WrongReply)
		}
	}
	c := &conn{id: 9, issued: 8, answered: 5}
	if replies, kind := e.check(c, message(9, 5)); replies != 1 || kind != "" {
		t.Errorf("got %d replies and %q for the right one", replies, kind)
	}
}

func TestCounterReplies(t *testing.T) {
	values := func(v ...uint64) []byte {
		var p []byte
		for _, x := range v {
			p = binary.BigEndian.AppendUint64(p, x)
		}
		return p
	}
	tests := []struct {
		name  string
		reads float64
		reply []byte
		n     int
		kind  string
	}{
		{"increments", 0, values(1, 2, 9), 3, ""},
		{"an increment that is not above", 0, values(1, 1), 1, WrongReply},
		{"an increment of zero", 0, values(0), 0, WrongReply},
		{"a fall", 0, values(5, 3), 1, WrongReply},
		{"reads", 1, values(0, 0, 4, 4), 4, ""},
		{"a read that falls", 1, values(4, 3), 1, WrongReply},
		{"five replies to four", 1, values(1, 1, 1, 1, 1), 4, Extra},
		{"in part", 0, values(1, 2)[:13], 1, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			k, c := newCounter(1, test.reads, 1), &conn{issued: 4}
			n, kind := k.check(c, test.reply)
			if n != test.n || kind != test.kind {
				t.Errorf("got %d replies, %q; want %d, %q", n, kind, test.n, test.kind)
			}
			k, c = newCounter(1, test.reads, 1), &conn{issued: 4} // the same, byte by byte
			for i := range test.reply {
				n, kind = k.check(c, test.reply[i:i+1])
				c.answered += uint64(n)
				if kind != "" {
					break
				}
			}
			if int(c.answered) != test.n || kind != test.kind {
				t.Errorf("byte by byte: got %d replies, %q; want %d, %q", c.answered, kind, test.n,
					test.kind)
			}
		})
	}
}

func TestCounterShare(t *testing.T) {
	for _, share := range []float64{0, .25, .5, 1} {
		k, c := newCounter(4, share, 1), &conn{id: 3, issued: 10_000}
		got := 1 - float64(k.increments(c, 0))/10_000
		if math.Abs(got-share) > .02 || (share == 0 || share == 1) && got != share {
			t.Errorf("got a read share of %v, want %v", got, share)
		}
	}
}

func TestSinkLines(t *testing.T) {
	for _, size := range []uint64{32, 33, 128, 191, 192, 193, 1250, 9999} {
		s, c := newSink(size), &conn{id: 0x2a}
		whole := make([]byte, 3*size)
		s.fill(c, whole)
		lines := strings.SplitAfter(string(whole), "\n")
		if got, want := len(lines)-1, int(3*s.lines); got != want || lines[len(lines)-1] != "" {
			t.Fatalf("size %d: got %d lines, want %d that end", size, got, want)
		}
		// from every place on, as after a short write; of long ones, from some
		for i := uint64(0); i < 3*size; i += 1 + size/1000 {
			c.sent, c.sentPart = i/size, i%size
			rest := make([]byte, 3*size-i)
			if s.fill(c, rest); !bytes.Equal(rest, whole[i:]) {
				t.Fatalf("size %d, from byte %d: the stream differs", size, i)
			}
		}
	}
}

func TestLoopbackSources(t *testing.T) {
	for _, test := range []struct {
		n, want int
		last    string
	}{{0, 8, "127.0.1.8"}, {80_000, 8, "127.0.1.8"}, {80_001, 9, "127.0.1.9"},
		{3_000_000, 300, "127.0.2.46"}} {
		got := LoopbackSources(test.n)
		if len(got) != test.want || got[len(got)-1] != netip.MustParseAddr(test.last) {
			t.Errorf("%d connections: got %d addresses to %v, want %d to %s", test.n, len(got),
				got[len(got)-1], test.want, test.last)
		}
	}
}

func TestWaits(t *testing.T) {
	for _, test := range []struct {
		line   string
		waited time.Duration
		runs   int64
	}{{"123 4567 89\n", 4567, 89}, {"1 0 2", 0, 2}, {"", 0, 0}, {"12", 0, 0}, {"1 77", 77, 0},
		{"1 2 3 4", 2, 3}} {
		if waited, runs := waits([]byte(test.line)); waited != test.waited || runs != test.runs {
			t.Errorf("%q: got %v, %d, want %v, %d", test.line, waited, runs, test.waited, test.runs)
		}
	}
}

func goodPlan() Plan {
	return Plan{
		Protocol: "echo", Addr: netip.MustParseAddrPort("127.0.0.1:4000"), Window: time.Second,
		Limit: time.Minute,
		Load:  manifest.Load{Shape: manifest.Closed, Connections: 1, SizeBytes: 16, Pipeline: 1},
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		want string // a part of the error
		with func(*Plan)
	}{
		{"addr is", func(p *Plan) { p.Addr = netip.AddrPort{} }},
		{"addr is", func(p *Plan) { p.Addr = netip.MustParseAddrPort("[::1]:80") }},
		{"connections is 0", func(p *Plan) { p.Load.Connections = 0 }},
		{"never end", func(p *Plan) { p.Window = 0 }},
		{"negative", func(p *Plan) { p.WarmUp = -1 }},
		{"limit is missing", func(p *Plan) { p.Limit = 0 }},
		{"slices is", func(p *Plan) { p.Slices = -1 }},
		{"pipeline is", func(p *Plan) { p.Load.Pipeline = 1 << 20 }},
		{"are more than", func(p *Plan) { p.Load.Connections, p.Load.Pipeline = 1<<12, 1<<13 }},
		{"source ::1", func(p *Plan) { p.Sources = []netip.Addr{netip.IPv6Loopback()} }},
		{"cpu is -1", func(p *Plan) { p.CPUs = []int{-1} }},
		{"size is 0", func(p *Plan) { p.Load.SizeBytes = 0 }},
		{"protocol is \"http\"", func(p *Plan) { p.Protocol = "http" }},
		{"one byte", func(p *Plan) { p.Protocol = "counter" }},
		{"read share", func(p *Plan) {
			p.Protocol, p.Load.SizeBytes, p.Load.ReadShare = "counter", 1, math.NaN()
		}},
		{"sink is loaded by paced", func(p *Plan) { p.Protocol = "sink" }},
		{"shape is \"flood\"", func(p *Plan) { p.Load.Shape = "flood" }},
		{"rate is 0", func(p *Plan) { p.Load.Shape = manifest.Open }},
		{"gaps is",
			func(p *Plan) { p.Load.Shape, p.Load.Rate, p.Load.Gaps = manifest.Open, 1, "normal" }},
		{"but the protocol echo is loaded by closed, open, connect",
			func(p *Plan) { p.Load.Shape, p.Load.Bits = manifest.Paced, 1 }},
		{"bits is", func(p *Plan) {
			p.Protocol, p.Load.Shape, p.Load.SizeBytes = "sink", manifest.Paced, 32
		}},
		{"shape connect has none",
			func(p *Plan) { p.Load.Shape, p.Load.Pipeline = manifest.Connect, 2 }},
	}
	for _, test := range tests {
		p := goodPlan()
		test.with(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
	if p := goodPlan(); p.Validate() != nil {
		t.Errorf("a good plan: %v", p.Validate())
	}
}

// FuzzPlan reads any text as a plan: what is accepted survives writing, and its rings are bounded.
func FuzzPlan(f *testing.F) {
	text, err := json.Marshal(goodPlan())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add(`{"protocol":"sink","load":{"shape":"paced","connections":64,"size_bytes":12500,"bits":1e6},"addr":"127.0.0.1:1","window_ns":1,"limit_ns":1}`)
	f.Add(`{"addr":"127.0.0.1:70000"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var p, again Plan
		if json.Unmarshal([]byte(text), &p) != nil || p.Validate() != nil {
			return
		}
		written, err := json.Marshal(p)
		if err != nil {
			t.Fatalf("writing an accepted plan: %v", err)
		}
		if err := json.Unmarshal(written, &again); err != nil || !reflect.DeepEqual(p, again) {
			t.Fatalf("got %+v (%v), want %+v", again, err, p)
		}
		l := &p.Load
		scheduled := l.Shape == manifest.Open || l.Shape == manifest.Paced
		if n := l.Connections * ringSize(l.Connections, max(1, l.Pipeline),
			scheduled); n > 2*max(maxInFlight, 64<<20) {
			t.Fatalf("got rings of %d requests for %+v", n, p.Load)
		}
	})
}

// FuzzEvent reads any text as an engine's line.
func FuzzEvent(f *testing.F) {
	f.Add(`{"at":"connected"}`)
	f.Add(`{"at":"done","result":{"window_ns":1,"requests":2,"errors":{"reset":3},"slices":[1,1],"latency":{"unit":"ns","sub":128,"n":0,"min":0,"max":0,"sum":0,"buckets":[]}}}`)
	f.Add(`{"at":"failed","error":"no"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var e, again Event
		if json.Unmarshal([]byte(text), &e) != nil {
			return
		}
		written, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("writing an accepted event: %v", err)
		}
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("reading %s again: %v", written, err)
		}
	})
}
