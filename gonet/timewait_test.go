package gonet

import (
	"io"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// waitingEnd is a victim's connection with callbacks in TIME-WAIT, of which a remnant is left, and
// the FIN of its peer.
type waitingEnd struct {
	*attacker
	src, dst netip.AddrPort
	fin      wire.TCP
}

// newWaitingEnd has a peer connect from a port, and the victim close first.
func newWaitingEnd(o *attacker, port int) *waitingEnd {
	o.t.Helper()
	w := &waitingEnd{attacker: o, src: at(addrO, port), dst: at(addrV, 80)}
	seq, ack := o.handshake(w.src, w.dst, 60_000, wire.TCPOptions{})
	w.fin = wire.TCP{Seq: seq, Ack: ack + 1, Flags: wire.FIN | wire.ACK, Window: 60_000}
	o.segments() // the victim's FIN
	w.wantAck(w.fin)
	return w
}

func newVictimThatCloses(t *testing.T, change ...func(*Config)) *attacker {
	t.Helper()
	o := newLoneAttacker(t, change...)
	listenAsync(t, o.victim, 80, &callbacks{connected: func(c *AsyncConn) { _ = c.Close() }})
	o.claims(addrO)
	return o
}

// answers returns what the victim sends for a segment.
func (w *waitingEnd) answers(h wire.TCP) []reply {
	w.t.Helper()
	w.segments()
	w.tcp(w.src, w.dst, h)
	return w.segments()
}

// wantAck checks that a segment is answered by an acknowledgement of the peer's FIN.
func (w *waitingEnd) wantAck(h wire.TCP) {
	w.t.Helper()
	got := w.answers(h)
	if len(got) != 1 || got[0].Flags != wire.ACK || got[0].Ack != w.fin.Seq+1 ||
		got[0].Seq != w.fin.Ack || got[0].DstPort != w.src.Port() {
		w.t.Errorf("%v %d is answered by %+v", h.Flags, h.Seq, got)
	}
}

// wantLeft checks how many connections the victim has, and of how many there are remnants.
func (o *attacker) wantLeft(conns, remnants int) {
	o.t.Helper()
	synctest.Wait()
	if err := o.victim.claim(func() {
		a, b := len(o.victim.tcp.conns), o.victim.tcp.remnants.Count()
		if a != conns || b != remnants {
			o.t.Errorf("%d connections and %d remnants, want %d and %d", a, b, conns, remnants)
		}
	}); err != nil {
		o.t.Fatal(err)
	}
}

// TestRemnantsAnswer holds that of a connection with callbacks in TIME-WAIT only a remnant is left,
// that it answers as RFC 9293 and RFC 1337 say, and that it ends in time.
func TestRemnantsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newVictimThatCloses(t)
		w := newWaitingEnd(o, 5000)
		o.wantLeft(0, 1)
		s, err := o.victim.Snapshot()
		if err != nil || len(s.Conns) != 1 || s.Conns[0].State != tcp.TimeWait ||
			s.Conns[0].Local != w.dst || s.Conns[0].Remote != w.src {
			t.Errorf("%v, %+v", err, s.Conns)
		}
		time.Sleep(30 * time.Second)
		w.wantAck(w.fin) // TIME-WAIT starts again
		if got := w.answers(wire.TCP{Seq: w.fin.Seq + 1, Flags: wire.RST}); len(got) != 0 {
			t.Errorf("a reset is answered by %+v", got)
		}
		w.wantAck(wire.TCP{Seq: w.fin.Seq - 100, Flags: wire.SYN})
		time.Sleep(45 * time.Second)
		o.wantLeft(0, 1)
		time.Sleep(15*time.Second + mostWaitSlack)
		o.wantLeft(0, 0)
		o.claims(addrO) // it has not answered the victim's questions
		if got := w.answers(w.fin); len(got) != 1 || got[0].Flags&wire.RST == 0 {
			t.Errorf("after TIME-WAIT the FIN is answered by %+v", got)
		}
	})
}

// TestRemnantsAreReplaced holds that a newer SYN opens the flow of a remnant again.
func TestRemnantsAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newVictimThatCloses(t)
		w := newWaitingEnd(o, 5000)
		got := w.answers(wire.TCP{Seq: w.fin.Seq + 1000, Flags: wire.SYN, Window: 60_000})
		if len(got) != 1 || got[0].Flags != wire.SYN|wire.ACK || got[0].Ack != w.fin.Seq+1001 {
			t.Errorf("a newer SYN is answered by %+v", got)
		}
		o.wantLeft(1, 0)
		time.Sleep(5 * time.Minute) // SYN-RECEIVED lasts three
		o.wantLeft(0, 0)
	})
}

// TestRemnantsAreBounded holds that new connections in TIME-WAIT evict the oldest, and that memory
// is given back.
func TestRemnantsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 3
		o := newVictimThatCloses(t, func(c *Config) { c.TimeWaits = most })
		for i := range 10 {
			newWaitingEnd(o, 5000+i)
			o.wantLeft(0, min(i+1, most))
		}
		if got := (&waitingEnd{attacker: o, src: at(addrO, 5000), dst: at(addrV, 80)}).answers(
			wire.TCP{Seq: 1001, Ack: 1, Flags: wire.FIN | wire.ACK}); len(got) != 1 ||
			got[0].Flags&wire.RST == 0 {
			t.Errorf("a FIN to the oldest is answered by %+v", got)
		}
		time.Sleep(2 * time.Minute)
		o.wantLeft(0, 0)
		if r := &o.victim.tcp; r.remnants.Len() != 0 || r.remnantsDue != 0 {
			t.Errorf("%d are left, %v", r.remnants.Len(), r.remnantsDue)
		}
	})
}

// TestPortsOfRemnantsComeBack dials from a port whose connection is in TIME-WAIT: after a second it
// may be used again, as timestamps tell the old connection from the new one.
func TestPortsOfRemnantsComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := twoQuiet(t)
		to := listenAsync(t, y, 80, AsyncBase{})
		from := netip.MustParseAddrPort("10.0.0.1:4000")
		dial := func() error {
			ended, closed := ends(1)
			h := &callbacks{closed: closed, connected: func(c *AsyncConn) { _ = c.CloseWrite() }}
			if _, err := x.DialAsync(from, to, h); err != nil {
				t.Fatal(err)
			}
			return <-ended
		}
		if err := dial(); err != nil {
			t.Error(err)
		}
		if err := dial(); err == nil {
			t.Error("the port of a connection in TIME-WAIT is used at once")
		}
		for range 3 {
			time.Sleep(time.Second)
			if err := dial(); err != nil {
				t.Error(err)
			}
		}
		empty(t, 0, x, y)
	})
}

// TestClosedConnsLeaveRemnants holds that of a Conn that its user has closed, before or after it
// has entered TIME-WAIT, a remnant is left, and that the user still gets its figures.
func TestClosedConnsLeaveRemnants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := twoQuiet(t)
		o := &attacker{t: t, victim: x}
		for _, late := range []bool{false, true} {
			c, far := connected(t, x, y, "10.0.0.2")
			near := c.(*Conn)
			if _, err := near.Write([]byte("hello")); err != nil {
				t.Error(err)
			}
			end := near.Close
			if late {
				end = near.CloseWrite
			}
			if err := end(); err != nil {
				t.Error(err)
			}
			if b, err := io.ReadAll(far); err != nil || string(b) != "hello" {
				t.Errorf("%q, %v", b, err)
			}
			closeConns(t, far)
			synctest.Wait()
			if late {
				o.wantLeft(1, 0)
				closeConns(t, near)
				time.Sleep(unarmedTime)
			}
			o.wantLeft(0, 1)
			if i := near.Info(); i.State != tcp.Closed || i.BytesOut != 5 {
				t.Errorf("late %v: %+v", late, i)
			}
			time.Sleep(2 * time.Minute)
			o.wantLeft(0, 0)
		}
		empty(t, 0, x, y)
	})
}
