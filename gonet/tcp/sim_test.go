package tcp

import (
	"bytes"
	"container/heap"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"interleave/gonet/wire"
)

// seeds is how many conversations each bad path sees: go test -args -seeds=400.
var seeds = flag.Int("seeds", 60, "how many conversations each bad path sees")

// oneWay is one direction of a path. The fate of each segment is drawn from a seeded source.
type oneWay struct {
	delay, jitter   time.Duration
	loss, duplicate float64
	rate            int // bytes a second; 0: unlimited
	queue           int // bytes that may wait for the rate
	most            int // payload in bytes of the largest segment that passes; 0: all pass
	mark            int // ECN-capable packets are marked when so many bytes wait; 0: none
	busy            Time
	sent, dropped   int
	marked          int
}

type arrival struct {
	at      Time
	order   int
	to      *node
	header  wire.TCP
	payload []byte
	ce      bool
}

type arrivals []arrival

func (a arrivals) Len() int { return len(a) }
func (a arrivals) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].order < a[j].order
}
func (a arrivals) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *arrivals) Push(x any)   { *a = append(*a, x.(arrival)) }
func (a *arrivals) Pop() any {
	x := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return x
}

// node is one end with its user, who writes all of give and reads all that arrives.
type node struct {
	name  string
	conn  *Conn
	cfg   Config
	give  []byte
	got   []byte
	peer  *node
	out   oneWay
	last  bool              // it closes after the other end
	read  func(*node, Time) // how the user reads; nil: at once
	more  func() bool       // whether the user has more to give later
	wake  Time              // when the user acts again
	trace func(h wire.TCP, n int)
}

// simulation runs two ends and the path between them in simulated time.
type simulation struct {
	now    Time
	queue  arrivals
	count  int
	random *rand.Rand
	a, b   *node
}

func newSimulation(seed uint64, a, b *node) *simulation {
	a.name, b.name, a.peer, b.peer = "a", "b", b, a
	for _, e := range []*node{a, b} {
		if e.cfg.MSS == 0 {
			e.cfg.MSS = 1460
		}
	}
	w := &simulation{now: Time(time.Second), random: rand.New(rand.NewPCG(seed, 1)), a: a, b: b}
	a.conn = Dial(&a.cfg, uint32(w.random.Uint64()), w.now)
	return w
}

// transmit sends a segment, cut as a link with offload would.
func (w *simulation) transmit(e *node, s *Segment) {
	payload := append(bytes.Clone(s.Payload), s.Payload2...)
	for first := true; first || len(payload) > 0; first = false {
		n := len(payload)
		if s.MSS > 0 {
			n = min(n, s.MSS)
		}
		h := s.Header
		if n < len(payload) {
			h.Flags &^= wire.FIN | wire.PSH
		}
		if e.trace != nil {
			e.trace(h, n)
		}
		w.send(e, h, payload[:n], s.Markable)
		payload = payload[n:]
		s.Header.Seq += uint32(n)
	}
}

func (w *simulation) send(e *node, h wire.TCP, p []byte, ect bool) {
	o := &e.out
	o.sent++
	at, ce := w.now, false
	if o.most > 0 && len(p) > o.most {
		o.dropped++
		return
	}
	if o.rate > 0 {
		o.busy = max(o.busy, w.now)
		if backlog := int(o.busy.Sub(w.now).Seconds() * float64(o.rate)); backlog > o.queue {
			o.dropped++
			return
		} else if ect && o.mark > 0 && backlog > o.mark {
			ce = true
			o.marked++
		}
		o.busy = o.busy.Add(time.Duration(float64(len(p)+54) / float64(o.rate) *
			float64(time.Second)))
		at = o.busy
	}
	if w.random.Float64() < o.loss {
		o.dropped++
		return
	}
	for copies := 1 + bool2int(w.random.Float64() < o.duplicate); copies > 0; copies-- {
		delay := o.delay
		if o.jitter > 0 {
			delay += time.Duration(w.random.Int64N(int64(o.jitter)))
		}
		w.count++
		heap.Push(&w.queue, arrival{at.Add(delay), w.count, e.peer, h, p, ce})
	}
}

func bool2int(b bool) int {
	if b {
		return 1
	}
	return 0
}

// step lets a user and a machine do what they can now.
func (w *simulation) step(e *node) {
	c := e.conn
	if c == nil {
		return
	}
	for again := true; again; {
		again = false
		if c.State() >= Established {
			if n := c.Write(e.give); n > 0 {
				e.give, again = e.give[n:], true
			}
			if len(e.give) == 0 && (e.more == nil || !e.more()) && (!e.last || c.EndOfStream()) {
				c.CloseWrite()
			}
		}
		if e.read != nil {
			e.read(e, w.now)
		} else {
			e.take(1<<20, w.now)
		}
		var s Segment
		for c.Output(&s, w.now) {
			w.transmit(e, &s)
			again = true
		}
	}
}

// take reads up to n bytes.
func (e *node) take(n int, now Time) {
	p := make([]byte, min(n, e.conn.Readable()))
	e.got = append(e.got, p[:e.conn.Read(p, now)]...)
}

// run runs until both ends are done, or until the limit.
func (w *simulation) run(limit time.Duration) error {
	stop := w.now.Add(limit)
	for steps := 0; w.now <= stop; steps++ {
		if steps > 5_000_000 {
			return fmt.Errorf("no end after %d steps", steps)
		}
		w.step(w.a)
		w.step(w.b)
		if done(w.a) && done(w.b) {
			return nil
		}
		next := Time(1 << 62)
		if len(w.queue) > 0 {
			next = w.queue[0].at
		}
		for _, e := range []*node{w.a, w.b} {
			if e.conn != nil {
				if at, ok := e.conn.Deadline(); ok {
					next = min(next, max(at, w.now))
				}
				if e.wake > w.now {
					next = min(next, e.wake)
				}
			}
		}
		if next == 1<<62 {
			return fmt.Errorf("at %v nothing is due: a is %v, b is %v", time.Duration(w.now),
				w.a.conn.State(), stateOf(w.b.conn))
		}
		w.now = next
		w.arrive()
		for _, e := range []*node{w.a, w.b} {
			if e.conn != nil {
				if at, ok := e.conn.Deadline(); ok && at <= w.now {
					e.conn.Expire(w.now)
				}
			}
		}
	}
	return fmt.Errorf("not done after %v: a is %v with %d bytes to give, b is %v with %d got",
		limit, w.a.conn.State(), len(w.a.give), stateOf(w.b.conn), len(w.b.got))
}

func stateOf(c *Conn) State {
	if c == nil {
		return Closed
	}
	return c.State()
}

// arrive delivers the segments that have arrived by now; b listens.
func (w *simulation) arrive() {
	for len(w.queue) > 0 && w.queue[0].at <= w.now {
		x := heap.Pop(&w.queue).(arrival)
		if x.to.conn == nil {
			if x.header.Flags&(wire.SYN|wire.ACK) != wire.SYN {
				continue
			}
			x.to.conn = Accept(&x.to.cfg, uint32(w.random.Uint64()), &x.header, w.now)
			continue
		}
		// a stack has removed the connection
		if x.to.conn.State() == Closed && x.header.Flags&wire.RST == 0 {
			w.send(x.to, wire.TCP{Seq: x.header.Ack, Flags: wire.RST}, nil, false)
			continue
		}
		if x.ce {
			x.to.conn.Marked()
		}
		x.to.conn.Input(&x.header, x.payload, w.now)
	}
}

func done(e *node) bool {
	return e.conn != nil && (e.conn.State() == Closed || e.conn.State() == TimeWait)
}

func pattern(n int, seed uint64) []byte {
	p := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 9))
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

// exchange sends bytes in both directions, and compares what arrives with what was sent.
func exchange(t *testing.T, seed uint64, a, b *node, limit time.Duration) *simulation {
	t.Helper()
	fromA, fromB := a.give, b.give
	w := newSimulation(seed, a, b)
	if err := w.run(limit); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	for _, c := range []struct {
		e    *node
		want []byte
	}{{a, fromB}, {b, fromA}} {
		c.e.take(1<<20, w.now) // what a slow user has not read
		if err := c.e.conn.Err(); err != nil {
			t.Fatalf("seed %d: %s ended with %v", seed, c.e.name, err)
		}
		if !bytes.Equal(c.e.got, c.want) {
			t.Fatalf("seed %d: %s got %d bytes that are not the %d that were sent", seed, c.e.name,
				len(c.e.got), len(c.want))
		}
	}
	return w
}

func TestBothWaysOverACleanPath(t *testing.T) {
	path := oneWay{delay: 5 * ms}
	a, b := &node{give: pattern(300_000, 1), out: path}, &node{give: pattern(200_000, 2), out: path}
	w := exchange(t, 1, a, b, 10*time.Second)
	if d := time.Duration(w.now) - time.Second; d > 150*ms {
		t.Errorf("it took %v", d)
	}
	// 205 segments of data, at most an acknowledgement for every two, and the FINs.
	if a.out.sent > 450 || b.out.sent > 450 {
		t.Errorf("a sent %d segments, b %d", a.out.sent, b.out.sent)
	}
}

func TestBadPaths(t *testing.T) {
	seeds := *seeds
	if testing.Short() {
		seeds = 8
	}
	for _, congestion := range []string{CUBIC, NewReno} {
		for _, c := range []struct {
			name string
			way  oneWay
		}{
			{"loss", oneWay{delay: 10 * ms, loss: .05}},
			{"heavy loss", oneWay{delay: 10 * ms, loss: .25}},
			{"reordering", oneWay{delay: 10 * ms, jitter: 15 * ms}},
			{"duplication", oneWay{delay: 10 * ms, duplicate: .3}},
			{"all", oneWay{delay: 10 * ms, jitter: 10 * ms, loss: .1, duplicate: .1}},
			{"narrow", oneWay{delay: 20 * ms, rate: 200_000, queue: 20_000}},
		} {
			for _, plain := range []bool{false, true} {
				name := fmt.Sprintf("%s/%s", congestion, c.name)
				if plain {
					name += "/without options"
				}
				t.Run(name, func(t *testing.T) {
					for seed := range uint64(seeds) {
						cfg := Config{Congestion: congestion, NoSACK: plain, NoTimestamps: plain,
							NoScale: plain, Burst: int(seed % 3 * 20000)}
						a := &node{give: pattern(60_000, seed), out: c.way, cfg: cfg}
						b := &node{give: pattern(30_000, seed+1), out: c.way, cfg: cfg}
						exchange(t, seed, a, b, 30*time.Minute)
					}
				})
			}
		}
	}
}

// TestPathsAreUsed measures which percentage of a path's rate 3 MB use. Any sound sender reaches
// the bounds; they are not what this one reaches.
func TestPathsAreUsed(t *testing.T) {
	const size = 3_000_000
	for _, c := range []struct {
		name  string
		way   oneWay
		plain bool
		least int
	}{
		{"a queue of one product of bandwidth and delay", oneWay{delay: 20 * ms, rate: 1_250_000,
			queue: 50_000}, false, 80},
		{"the same without options",
			oneWay{delay: 20 * ms, rate: 1_250_000, queue: 50_000}, true, 65},
		{"a narrow path", oneWay{delay: 20 * ms, rate: 200_000, queue: 20_000}, false, 90},
		{"a narrow path without options",
			oneWay{delay: 20 * ms, rate: 200_000, queue: 20_000}, true,
			85},
		{"a fast path", oneWay{delay: ms, rate: 125_000_000, queue: 1 << 20}, false, 50},
		{"reordering",
			oneWay{delay: 10 * ms, jitter: 3 * ms, rate: 12_500_000, queue: 1 << 20}, false,
			45},
	} {
		for _, name := range []string{CUBIC, NewReno} {
			cfg := Config{Congestion: name, NoSACK: c.plain, NoTimestamps: c.plain}
			a, b := &node{give: pattern(size, 1), out: c.way, cfg: cfg}, &node{out: c.way, cfg: cfg}
			w := exchange(t, 7, a, b, time.Hour)
			got := w.now.Sub(Time(time.Second)).Seconds()
			if used := 100 * float64(size) / float64(c.way.rate) / got; used < float64(c.least) {
				t.Errorf("%s, %s: %.0f of 100 parts are used, want %d (%.3f s, %d segments, %d "+
					"dropped)",
					c.name, name, used, c.least, got, a.out.sent, a.out.dropped)
			}
		}
	}
}

// TestWindowsGrowWithThePath holds that the windows of both ends grow on a long path: 100 Mbit/s
// over 100 ms hold 1.25 MB. A lost SYN, without timestamps to measure the round trip, must not
// leave a small window.
func TestWindowsGrowWithThePath(t *testing.T) {
	if raced {
		t.Skip("SKIP: one goroutine moves 60 MB, and the race detector has nothing to see; run " +
			"it without")
	}
	path := oneWay{delay: 50 * ms, rate: 12_500_000, queue: 2 << 20}
	for _, c := range []struct {
		name    string
		cfg     Config
		lostSyn bool
		within  time.Duration
	}{
		{"as it comes", Config{}, false, 3500 * ms},
		{"the SYN lost", Config{}, true, 4500 * ms},
		{"the SYN lost, without timestamps", Config{NoTimestamps: true}, true, 4500 * ms},
	} {
		a, b := &node{out: path, cfg: c.cfg, last: true}, &node{give: pattern(20_000_000, 1),
			out: path, cfg: c.cfg}
		w := newSimulation(3, a, b)
		if c.lostSyn {
			var s Segment
			a.conn.Output(&s, w.now)
		}
		if err := w.run(time.Hour); err != nil {
			t.Fatal(err)
		}
		// 1.6 s at the full rate, and the round trips of the handshake and of slow start from 10
		// segments to 860.
		if d := w.now.Sub(Time(time.Second)); d > c.within {
			t.Errorf("%s: %v for 20 MB, want %v: a's window is %d bytes, b's %d", c.name, d,
				c.within, a.conn.receive.limit, b.conn.send.control.window())
		}
	}
}

// TestSlowReader holds that a user who reads slowly bounds the bytes in flight, and loses none.
func TestSlowReader(t *testing.T) {
	var next Time
	slow := func(e *node, now Time) {
		if now >= next {
			e.take(700, now)
			next = now.Add(3 * ms)
		}
	}
	path := oneWay{delay: 2 * ms}
	a := &node{give: pattern(100_000, 3), out: path}
	b := &node{out: path, read: slow, cfg: Config{ReceiveBuffer: 8000, QuickAck: true}}
	b.give = pattern(300_000, 4) // keeps time advancing while a's bytes wait
	exchange(t, 5, a, b, time.Hour)
}

func BenchmarkBulk(b *testing.B) {
	for _, burst := range []int{0, 60_000} {
		b.Run(fmt.Sprintf("burst=%d", burst), func(b *testing.B) {
			p := newPair(&Config{MSS: 1460, Burst: burst})
			chunk, sink := make([]byte, 64<<10), make([]byte, 64<<10)
			b.SetBytes(int64(len(chunk)))
			b.ReportAllocs()
			for b.Loop() {
				p.carry(chunk, sink)
			}
		})
	}
}
