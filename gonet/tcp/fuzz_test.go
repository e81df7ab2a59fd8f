package tcp

import (
	"testing"
	"time"

	"interleave/gonet/wire"
)

// FuzzConn has a peer and a user do arbitrary things, and checks the machine's invariants after
// each.
func FuzzConn(f *testing.F) {
	f.Add([]byte{0, 1, 1, 0, 16, 0, 0, 0, 2, 50, 4, 9})
	f.Add([]byte{1, 2, 200, 1, 24, 9, 9, 100, 6, 3, 100, 1, 17, 0, 0, 0, 5, 4, 255, 4, 255})
	f.Add([]byte{3, 2, 255, 1, 16, 0, 1, 0, 1, 16, 0, 1, 0, 1, 16, 0, 1, 0, 1, 16, 0, 1, 0, 4, 200,
		4, 255, 7})
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) < 2 || len(in) > 4000 {
			return
		}
		now := Time(time.Hour)
		cfg := Config{MSS: 1000, NoSACK: in[0]&2 != 0, NoTimestamps: in[0]&4 != 0,
			NoScale: in[0]&8 != 0, Delay: in[0]&16 != 0,
			KeepAlive: time.Duration(in[0]>>5) * time.Second, ReceiveBuffer: 1 << (8 + in[0]>>5),
			Burst: int(in[0]&64) * 100}
		const theirs = 0xffffff80
		syn := wire.TCP{Seq: theirs, Flags: wire.SYN, Window: 5000,
			Options: wire.TCPOptions{MSS: 700, SACKPermitted: true, HasTimestamp: true,
				HasWindowScale: true, WindowScale: in[1] & 15}}
		c := Dial(&cfg, 0xffffffc0, now)
		if in[0]&1 == 0 {
			c = Accept(&cfg, 0xffffffc0, &syn, now)
		}
		play(t, c, in[2:], theirs, now)
	})
}

// play takes events from bytes: segments near those that the machine expects, calls of the user,
// and time that passes.
func play(t *testing.T, c *Conn, in []byte, theirs uint32, now Time) {
	next := func() byte {
		if len(in) == 0 {
			return 0
		}
		b := in[0]
		in = in[1:]
		return b
	}
	for steps := 0; len(in) > 0 && steps < 1000; steps++ {
		switch next() % 8 {
		case 0, 1:
			flags, seq, ack, n := wire.Flags(next()), int8(next()), int8(next()), int(next())
			h := wire.TCP{Flags: flags, Window: uint16(n) << (seq & 7),
				Seq: uint32(c.receive.next) + uint32(int32(seq)),
				Ack: uint32(c.send.una) + uint32(int32(ack))*uint32(n)}
			if c.receive.irs == 0 {
				h.Seq = theirs
			}
			h.Options = wire.TCPOptions{HasTimestamp: seq&1 == 0,
				TSVal: c.recent + uint32(int32(ack)), TSEcr: c.timestamp(now) - uint32(n),
				SACKCount: uint8(n) % 5}
			for i := range h.Options.SACK {
				left := uint32(c.send.una) + uint32(int32(ack))*uint32(i)*100
				h.Options.SACK[i] = wire.SACKBlock{Left: left, Right: left + uint32(n)*7}
			}
			c.Input(&h, make([]byte, n*int(seq&15)), now)
		case 2:
			c.Write(make([]byte, int(next())*100))
		case 3:
			c.Read(make([]byte, int(next())*100), now)
		case 4:
			now = now.Add(time.Duration(next()) * 20 * time.Millisecond)
			c.Expire(now)
		case 5:
			c.CloseWrite()
		case 6:
			c.PathMTU(int(next())*10, now)
		case 7:
			if next() > 250 {
				c.Close(now)
			}
		}
		var s Segment
		for sent := 0; c.Output(&s, now); sent++ {
			if sent > 5000 {
				t.Fatalf("the machine sends without end: %+v", s.Header)
			}
		}
		checkInvariants(t, c, now)
	}
}

// checkInvariants checks what must always be true.
func checkInvariants(t *testing.T, c *Conn, now Time) {
	t.Helper()
	s, r := &c.send, &c.receive
	var inFlight, sacked, lost int
	at := s.una
	for i, f := range s.scoreboard.flights {
		if f.seq != at || !f.seq.Before(f.end) {
			t.Fatalf("flight %d is %d..%d, want it to start at %d", i, f.seq, f.end, at)
		}
		at = f.end
		switch {
		case f.sacked:
			sacked += f.len()
		case f.lost:
			lost += f.len()
		default:
			inFlight += f.len()
		}
	}
	if b := s.scoreboard; b.inFlight != inFlight || b.sacked != sacked || b.lost != lost {
		t.Fatalf("counted %d, %d, %d bytes in flight, sacked, lost; there are %d, %d, %d",
			b.inFlight, b.sacked, b.lost, inFlight, sacked, lost)
	}
	if c.state != Closed && c.state != TimeWait && at != s.next {
		t.Fatalf("the flights end at %d, not at %d", at, s.next)
	}
	var runs []run
	if r.queue != nil {
		if runs = r.queue.runs; len(runs) == 0 {
			t.Fatal("an empty reassembly queue is kept")
		}
	}
	for i, run := range runs {
		if len(run.data) == 0 || !run.seq.After(r.next) ||
			i > 0 && !run.seq.After(runs[i-1].end()) || run.end().After(r.edge) {
			t.Fatalf("run %d is %d..%d, next %d, edge %d", i, run.seq, run.end(), r.next, r.edge)
		}
	}
	if r.in.n > c.receiveMax() {
		t.Fatalf("%d bytes wait, at most %d", r.in.n, c.receiveMax())
	}
	if due, ok := c.Deadline(); c.state != Closed && s.flightSize() > 0 && (!ok ||
		due > now.Add(maxRTO+time.Minute)) {
		t.Fatalf("%v with %d bytes on their way and no timer", c.state, s.flightSize())
	}
}
