package tcp

import (
	"testing"
	"time"

	"interleave/gonet/wire"
)

// TestTheFirstMarkIsEchoedAtOnce holds that the first CE mark is echoed at once, and later ones
// with the acknowledgements that are due anyway.
func TestTheFirstMarkIsEchoedAtOnce(t *testing.T) {
	p := newPair(&Config{MSS: 1460, ECN: true})
	y := p.y
	y.receive.ack.quick = 0 // slow start is over
	for i, want := range []bool{true, false} {
		p.x.Write(make([]byte, 100))
		if !p.x.Output(&p.s, p.now) || !p.s.Markable {
			t.Fatalf("segment %d cannot be marked: %+v", i, p.s)
		}
		y.Marked()
		y.Input(&p.s.Header, p.s.Payload, p.now)
		if got := y.Output(&p.s, p.now); got != want ||
			got && p.s.Header.Flags != wire.ACK|wire.ECE {
			t.Errorf("mark %d: answered at once: %v, by %v, want %v", i, got, p.s.Header.Flags,
				want)
		}
	}
	p.now = p.now.Add(time.Second)
	y.Expire(p.now)
	if !y.Output(&p.s, p.now) || p.s.Header.Flags != wire.ACK|wire.ECE {
		t.Errorf("the second is echoed by %v", p.s.Header.Flags)
	}
	y.Marked()
	// not in the window: its mark does not count
	y.Input(&wire.TCP{Flags: wire.RST, Seq: 1}, nil, p.now)
	y.ecn.echo = false
	p.x.Write(make([]byte, 100))
	p.pump()
	if y.ecn.echo {
		t.Error("the mark of a segment that was refused counts for the next")
	}
}
