package tcp

import (
	"runtime"
	"testing"
	"time"
	"unsafe"

	"interleave/gonet/wire"
)

// pair is two machines that are connected without a path between them.
type pair struct {
	x, y *Conn
	now  Time
	s    Segment
}

func newPair(cfg *Config) *pair {
	p := &pair{now: Time(time.Second)}
	p.x = Dial(cfg, 1, p.now)
	p.x.Output(&p.s, p.now)
	p.y = Accept(cfg, 2, &p.s.Header, p.now)
	p.pump()
	return p
}

// pump delivers segments until neither machine sends.
func (p *pair) pump() {
	for again := true; again; {
		again = false
		p.now++
		for p.x.Output(&p.s, p.now) {
			if again = true; len(p.s.Payload2) > 0 {
				// The pieces of a burst arrive as two.
				p.y.Input(&p.s.Header, p.s.Payload, p.now)
				p.s.Header.Seq += uint32(len(p.s.Payload))
				p.s.Payload = p.s.Payload2
			}
			p.y.Input(&p.s.Header, p.s.Payload, p.now)
		}
		for p.y.Output(&p.s, p.now) {
			again = true
			p.x.Input(&p.s.Header, p.s.Payload, p.now)
		}
	}
}

// carry has x write all of chunk and y read it.
func (p *pair) carry(chunk, sink []byte) {
	for len(chunk) > 0 {
		chunk = chunk[p.x.Write(chunk):]
		p.pump()
		for p.y.Read(sink, p.now) > 0 {
			p.now++
		}
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, cfg := range []Config{{MSS: 1460}, {MSS: 1460, Burst: 60_000},
		{MSS: 1460, NoSACK: true, NoTimestamps: true, Congestion: NewReno}} {
		p := newPair(&cfg)
		chunk, sink := make([]byte, 60_000), make([]byte, 64<<10)
		p.carry(chunk, sink)
		if n := testing.AllocsPerRun(200, func() { p.carry(chunk, sink) }); n > 0.5 && !raced {
			t.Errorf("%+v: %.1f allocations for each 60 kB, want none", cfg, n)
		}
	}
}

// TestIdleConnectionsAreSmall holds the memory of ten thousand used and idle connections.
func TestIdleConnectionsAreSmall(t *testing.T) {
	const count, most = 10_000, 1 << 10
	cfg := Config{MSS: 1460}
	all := make([]*pair, 0, count)
	chunk := make([]byte, 3000)
	sink := make([]byte, 3000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC() // the second empties the pools
	runtime.ReadMemStats(&before)
	for range count {
		p := newPair(&cfg)
		p.carry(chunk, sink)
		p.now = p.now.Add(time.Second)
		p.y.Expire(p.now)
		p.pump()
		all = append(all, p)
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := int(after.HeapAlloc-before.HeapAlloc) / (2 * count)
	t.Logf("%d bytes each; Conn has %d, of which the sender %d and the receiver %d; CUBIC has %d",
		each, unsafe.Sizeof(Conn{}), unsafe.Sizeof(sender{}), unsafe.Sizeof(receiver{}),
		unsafe.Sizeof(cubic{}))
	if each > most {
		t.Errorf("%d bytes for each idle connection, want %d at most", each, most)
	}
	for _, p := range all {
		if p.x.State() != Established || p.x.send.flightSize() > 0 {
			t.Fatalf("%v with %d bytes on their way", p.x.State(), p.x.send.flightSize())
		}
	}
}

// TestBothOpenAtOnce holds that a simultaneous open establishes both ends with few segments (RFC
// 9293 section 3.5).
func TestBothOpenAtOnce(t *testing.T) {
	for _, cfg := range []Config{{MSS: 1460}, {MSS: 1460, NoTimestamps: true, NoScale: true}} {
		now := Time(time.Second)
		x, y := Dial(&cfg, 100, now), Dial(&cfg, 0xffffffff, now)
		var sent int
		for range 20 {
			now = now.Add(10 * ms)
			var fromX, fromY []wire.TCP
			var s Segment
			for x.Output(&s, now) {
				fromX = append(fromX, s.Header)
			}
			for y.Output(&s, now) {
				fromY = append(fromY, s.Header)
			}
			sent += len(fromX) + len(fromY)
			for i := range fromX {
				y.Input(&fromX[i], nil, now)
			}
			for i := range fromY {
				x.Input(&fromY[i], nil, now)
			}
		}
		if x.State() != Established || y.State() != Established || sent > 6 {
			t.Errorf("%v and %v after %d segments, want both established after a SYN, its "+
				"answer and an acknowledgement each", x.State(), y.State(), sent)
		}
		x.Write(make([]byte, 100_000))
		var s Segment
		for total := 0; x.Output(&s, now); total += s.Len() {
			if room := int(y.receive.edge - y.receive.next); total+s.Len() > room {
				t.Fatalf("%d bytes beyond the window of %d", total+s.Len()-room, room)
			}
		}
	}
}
