package tcp

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"interleave/gonet/wire"
)

// forgeEnd is one machine in a given state, and the sequence numbers of its peer.
type forgeEnd struct {
	c          *Conn
	now        Time
	seq, ack   uint32 // what the real peer would send next
	TSVal, ecr uint32
}

// The initial sequence numbers of the forge tests: both wrap soon.
const (
	forgeOurs   = 0xffffff00
	forgeTheirs = 0xfffffe00
)

// send has the real peer send a segment. The machine's answers are discarded.
func (e *forgeEnd) send(flags wire.Flags, n int) {
	h := e.segment(flags)
	e.c.Input(&h, make([]byte, n), e.now)
	e.seq += uint32(n)
	if flags&(wire.SYN|wire.FIN) != 0 {
		e.seq++
	}
	e.drain()
}

func (e *forgeEnd) segment(flags wire.Flags) wire.TCP {
	return wire.TCP{Seq: e.seq, Ack: e.ack, Flags: flags, Window: 1000, Options: wire.TCPOptions{
		HasTimestamp: true, TSVal: e.TSVal, TSEcr: e.ecr}}
}

// drain discards what the machine sends, which the real peer thereby has received.
func (e *forgeEnd) drain() {
	var s Segment
	for e.c.Output(&s, e.now) {
		e.ecr = s.Header.Options.TSVal
	}
}

// forgeIn brings a machine into a state and lets ten seconds pass. A segment of ours is in flight
// in the states that allow it, so that a range of acknowledgements is valid.
func forgeIn(s State) *forgeEnd {
	e := &forgeEnd{now: Time(time.Hour), seq: forgeTheirs, TSVal: 1000}
	if s == SynSent {
		e.c = Dial(&Config{MSS: 1460, KeepAlive: time.Minute}, forgeOurs, e.now)
		e.drain()
	} else {
		e.synchronize(s)
	}
	e.now = e.now.Add(10 * time.Second)
	return e
}

func (e *forgeEnd) synchronize(s State) {
	syn := e.segment(wire.SYN)
	syn.Options.HasWindowScale, syn.Options.WindowScale = true, 3
	syn.Options.SACKPermitted, syn.Options.MSS = true, 1460
	e.c = Accept(&Config{MSS: 1460, KeepAlive: time.Minute}, forgeOurs, &syn, e.now)
	e.drain()
	e.seq, e.ack = forgeTheirs+1, forgeOurs+1
	if s == SynReceived {
		return
	}
	e.send(wire.ACK, 0)
	e.send(wire.ACK, 100)
	e.c.Write(make([]byte, 300))
	e.drain()
	if s == CloseWait || s == LastAck {
		e.send(wire.ACK|wire.FIN, 0)
	}
	if s == Established || s == CloseWait {
		return
	}
	e.c.CloseWrite()
	e.drain()
	if s == FinWait2 || s == TimeWait {
		e.ack += 301
		e.send(wire.ACK, 0)
	}
	if s == Closing || s == TimeWait {
		e.send(wire.ACK|wire.FIN, 0)
	}
}

// forgery changes a segment of the real peer so that at least one field shows that it is not.
// Every other field may then say what it wants.
type forgery struct {
	name   string
	change func(e *forgeEnd, h *wire.TCP)
	except []State // in which the segment is valid, or means something else
}

var forgeries = []forgery{
	{"acknowledgement ahead", func(e *forgeEnd, h *wire.TCP) {
		h.Ack = uint32(e.c.send.next) + 1
	}, nil},
	{"acknowledgement far ahead", func(e *forgeEnd, h *wire.TCP) {
		h.Ack = uint32(e.c.send.next) + 1<<30
	}, nil},
	{"acknowledgement far behind", func(e *forgeEnd, h *wire.TCP) {
		h.Ack = uint32(e.c.send.una) - uint32(e.c.send.maxWindow) - 1
	}, nil},
	{"no acknowledgement", func(_ *forgeEnd, h *wire.TCP) { h.Flags &^= wire.ACK }, nil},
	{"before the window", func(e *forgeEnd, h *wire.TCP) {
		h.Seq = uint32(e.c.receive.next) - 1<<20
	}, []State{SynSent}},
	{"behind the window", func(e *forgeEnd, h *wire.TCP) {
		h.Seq = uint32(e.c.receive.edge) + 1<<20
	}, []State{SynSent}},
	{"old timestamp", func(e *forgeEnd, h *wire.TCP) { h.Options.TSVal = e.c.recent - 1 },
		[]State{SynSent}},
	{"no timestamp", func(_ *forgeEnd, h *wire.TCP) { h.Options.HasTimestamp = false },
		[]State{SynSent}},
	{"SYN", func(_ *forgeEnd, h *wire.TCP) { h.Flags = wire.SYN }, []State{SynSent}},
	{"SYN elsewhere", func(e *forgeEnd, h *wire.TCP) {
		h.Flags, h.Seq = wire.SYN|wire.ACK, h.Seq+5000
	}, []State{SynSent}},
	{"reset in the window", func(e *forgeEnd, h *wire.TCP) {
		h.Flags, h.Seq = wire.RST|h.Flags&wire.ACK, uint32(e.c.receive.next)+1
	}, []State{SynSent}},
	{"reset outside", func(e *forgeEnd, h *wire.TCP) {
		h.Flags, h.Seq = wire.RST, uint32(e.c.receive.edge)+1<<20
	}, nil},
	{"reset of another SYN", func(e *forgeEnd, h *wire.TCP) {
		h.Flags, h.Ack, h.Seq = wire.RST|wire.ACK, uint32(e.c.send.next)+1, h.Seq+1
	}, nil},
}

// harms are what a forged segment would like to do.
var harms = []struct {
	name   string
	change func(e *forgeEnd, h *wire.TCP)
	n      int // bytes of payload
}{
	{"nothing else", func(*forgeEnd, *wire.TCP) {}, 0},
	{"future timestamp", func(e *forgeEnd, h *wire.TCP) { h.Options.TSVal += 1 << 30 }, 0},
	{"text and future timestamp", func(e *forgeEnd, h *wire.TCP) {
		h.Options.TSVal += 1 << 30
	}, 50},
	{"window of 0", func(_ *forgeEnd, h *wire.TCP) { h.Window = 0 }, 0},
	{"FIN", func(_ *forgeEnd, h *wire.TCP) { h.Flags |= wire.FIN }, 0},
	{"text and FIN", func(_ *forgeEnd, h *wire.TCP) { h.Flags |= wire.FIN }, 10},
	{"marks", func(_ *forgeEnd, h *wire.TCP) { h.Flags |= wire.ECE | wire.CWR }, 0},
	{"urgent", func(_ *forgeEnd, h *wire.TCP) { h.Flags |= wire.URG; h.Urgent = 9 }, 20},
	{"text ahead", func(_ *forgeEnd, h *wire.TCP) { h.Seq += 500 }, 20},
	{"SACK", func(e *forgeEnd, h *wire.TCP) {
		h.Options.SACKCount = 1
		h.Options.SACK[0] = wire.SACKBlock{Left: e.ack + 100, Right: e.ack + 200}
	}, 0},
}

// frozen returns the machine's state without the answers that a segment may cause.
func frozen(c *Conn) Conn {
	f := *c
	f.challengeAt, f.reset, f.resetSeq = 0, false, 0
	f.resetAck, f.resetNext = false, false
	f.receive.ack.state, f.receive.ack.before = ackNone, ackNone
	f.send.scoreboard.flights = append([]flight(nil), c.send.scoreboard.flights...)
	if f.receive.queue = cloned(c.receive.queue); f.receive.queue != nil {
		f.receive.queue.runs = append([]run(nil), c.receive.queue.runs...)
	}
	f.send.search, f.send.recovery = cloned(c.send.search), cloned(c.send.recovery)
	f.send.cubic.stage = cloned(c.send.cubic.stage)
	switch c.send.control.(type) {
	case *cubic:
		f.send.control = &f.send.cubic
	case *reno:
		f.send.control = &f.send.cubic.reno
	}
	return f
}

// cloned returns a pointer to a copy.
func cloned[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// TestForgedSegmentsChangeNothing forges each field in each state: a segment that is not the peer's
// may be answered, and changes nothing.
func TestForgedSegmentsChangeNothing(t *testing.T) {
	tried := 0
	for state := SynSent; state <= TimeWait; state++ {
		for _, f := range forgeries {
			if slices.Contains(f.except, state) {
				continue
			}
			for _, x := range harms {
				e := forgeIn(state)
				if e.c.State() != state {
					t.Fatalf("a machine for %v is in %v", state, e.c.State())
				}
				h := e.segment(wire.ACK)
				x.change(e, &h)
				f.change(e, &h)
				before := frozen(e.c)
				e.c.Input(&h, make([]byte, x.n), e.now)
				if after := frozen(e.c); !reflect.DeepEqual(before, after) {
					t.Errorf("%v, forged %s, with %s: %s", state, f.name, x.name,
						difference(before, after))
				}
				tried++
			}
		}
	}
	t.Logf("%d forged segments", tried)
}

// TestAnOldAcknowledgementBringsOnlyText holds that it changes nothing of what we send, and neither
// the timestamp: it is much easier to guess than a new one (RFC 5961 section 5). A SACK block
// counts only if it is of data in flight, which is as hard to guess.
func TestAnOldAcknowledgementBringsOnlyText(t *testing.T) {
	for state := Established; state <= TimeWait; state++ {
		for _, x := range harms {
			e := forgeIn(state)
			h := e.segment(wire.ACK)
			x.change(e, &h)
			h.Ack = uint32(e.c.send.una) - 1
			for i := range h.Options.SACK[:h.Options.SACKCount] {
				h.Options.SACK[i].Left -= 101 // one byte below SND.UNA
			}
			before := frozen(e.c)
			e.c.Input(&h, make([]byte, x.n), e.now)
			after := frozen(e.c)
			if !reflect.DeepEqual(before.send, after.send) || before.recent != after.recent ||
				before.recentAt != after.recentAt || before.ecn != after.ecn {
				t.Errorf("%v, with %s: %s", state, x.name, difference(before, after))
			}
		}
	}
}

func difference(before, after Conn) string {
	a, b := reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range a.NumField() {
		x, y := fmt.Sprintf("%+v", a.Field(i)), fmt.Sprintf("%+v", b.Field(i))
		if x != y {
			return fmt.Sprintf("%s was %s, is %s", a.Type().Field(i).Name, x, y)
		}
	}
	return "a field behind a pointer differs"
}

// TestForgedSegmentsDoNotKeepADeadPeer has an attacker send segments that are not valid, while the
// peer is gone: keep-alive still finds out.
func TestForgedSegmentsDoNotKeepADeadPeer(t *testing.T) {
	e := forgeIn(Established)
	e.ack += 300
	e.send(wire.ACK, 0)
	var s Segment
	for begun := e.now; e.c.State() == Established; e.now = e.now.Add(time.Second) {
		if e.now.Sub(begun) > time.Hour {
			t.Fatal("the connection to a dead peer lives on")
		}
		h := e.segment(wire.ACK)
		h.Ack += 12345
		e.c.Input(&h, nil, e.now)
		e.c.Expire(e.now)
		for e.c.Output(&s, e.now) {
			continue
		}
		_, _ = e.c.Deadline() // sets the timer, as the stack does
	}
	if e.c.Err() != ErrTimeout {
		t.Errorf("it ended with %v", e.c.Err())
	}
}

// TestAForgedFinDoesNotHoldTimeWait: only the peer's own FIN starts the time-out again.
func TestAForgedFinDoesNotHoldTimeWait(t *testing.T) {
	for _, shift := range []uint32{0, 1, 5000, ^uint32(99)} {
		e := forgeIn(TimeWait)
		end, _ := e.c.Deadline()
		h := e.segment(wire.ACK | wire.FIN)
		h.Seq += shift
		e.c.Input(&h, nil, e.now)
		if at, _ := e.c.Deadline(); at != end {
			t.Errorf("a FIN at %d moves the end of TIME-WAIT by %v", int32(shift), at.Sub(end))
		}
		h = e.segment(wire.ACK | wire.FIN)
		h.Seq-- // the peer's FIN, sent again
		e.c.Input(&h, nil, e.now)
		if at, _ := e.c.Deadline(); at == end {
			t.Error("the peer's FIN does not start TIME-WAIT again")
		}
	}
}

// TestAForgedSynDoesNotOpen: a bare SYN in SYN-SENT is a simultaneous open, which needs no secret.
// The SYN-ACK of the real peer, which acknowledges our SYN, still opens the connection.
func TestAForgedSynDoesNotOpen(t *testing.T) {
	e := forgeIn(SynSent)
	forged := wire.TCP{Seq: 12345, Flags: wire.SYN, Window: 100, Options: wire.TCPOptions{
		HasWindowScale: true, WindowScale: 14, HasTimestamp: true, TSVal: 1 << 31, MSS: 48}}
	e.c.Input(&forged, nil, e.now)
	e.drain()
	if e.c.State() != SynReceived {
		t.Fatalf("a simultaneous open leads to %v", e.c.State())
	}
	e.ack = forgeOurs + 1
	h := e.segment(wire.SYN | wire.ACK)
	h.Options.MSS = 1400
	e.c.Input(&h, nil, e.now)
	if c := e.c; c.State() != Established || c.recent != e.TSVal || c.send.shift != 0 ||
		c.receive.next != forgeTheirs+1 || c.send.mss != 1400-timestampLen {
		t.Errorf("%v, timestamp %d, shift %d, mss %d", c.State(), c.recent, c.send.shift,
			c.send.mss)
	}
}
