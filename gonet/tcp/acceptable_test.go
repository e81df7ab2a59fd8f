package tcp

import (
	"fmt"
	"testing"
	"time"

	"interleave/gonet/wire"
)

// TestAcceptable is the table of RFC 9293 section 3.10.7.4 at its edges, with this machine's
// additions: which segments are acceptable, and which are answered by an acknowledgement.
func TestAcceptable(t *testing.T) {
	const yes, answered, silent = "used", "answered", "silent"
	for _, c := range []struct {
		// the announced window, and the segment's offset from RCV.NXT and length
		window, seq, n int
		flags          wire.Flags
		want           string
	}{
		{0, 0, 0, wire.ACK, yes}, {0, -1, 0, wire.ACK, answered}, {0, 1, 0, wire.ACK, yes},
		{0, 2, 0, wire.ACK, answered},
		{0, 0, 1, wire.ACK, answered}, {0, 1, 1, wire.ACK, answered},
		{0, -1, 1, wire.ACK, answered}, {0, 0, 0, wire.FIN | wire.ACK, answered},
		{0, 0, 0, wire.RST, yes}, {0, 1, 0, wire.RST, silent}, {0, -1, 0, wire.RST, silent},
		{0, 0, 9, wire.RST, yes}, {0, 1, 9, wire.RST, silent},
		{0, 1, 0, wire.SYN, answered}, {0, -1, 0, wire.SYN, answered},
		{0, 0, 1, wire.SYN, answered},
		{100, 0, 0, wire.ACK, yes}, {100, 99, 0, wire.ACK, yes}, {100, 100, 0, wire.ACK, yes},
		{100, 101, 0, wire.ACK, answered},
		{100, -1, 0, wire.ACK, answered}, {100, 99, 1, wire.ACK, yes}, {100, 99, 10, wire.ACK, yes},
		{100, 100, 1, wire.ACK, answered},
		{100, 101, 10, wire.ACK, answered}, {100, -10, 10, wire.ACK, answered},
		{100, -10, 11, wire.ACK, yes}, {100, -10, 200, wire.ACK, yes},
		{100, -10, 109, wire.ACK, yes}, {100, -10, 110, wire.ACK, yes},
		{100, -10, 10, wire.FIN | wire.ACK, yes}, {100, -1, 0, wire.FIN | wire.ACK, answered},
		{100, 100, 0, wire.FIN | wire.ACK, answered}, {100, 99, 0, wire.FIN | wire.ACK, yes},
		{100, 100, 0, wire.RST, silent}, {100, 99, 0, wire.RST, yes},
		{100, -1, 0, wire.RST, silent}, {100, -1, 50, wire.RST, silent},
		{100, 100, 0, wire.SYN, answered}, {100, -1, 0, wire.SYN | wire.ACK, answered},
		{100, -200, 10, wire.SYN, answered},
	} {
		t.Run(fmt.Sprintf("%d: %v %d of %d", c.window, c.flags, c.seq, c.n), func(t *testing.T) {
			x := newPair(&Config{MSS: 1460}).x
			r := &x.receive
			r.edge, r.ack.state, x.challengeAt = r.next.Plus(c.window), ackNone, 0
			h := &wire.TCP{Seq: uint32(r.next.Plus(c.seq)), Ack: uint32(x.send.una), Flags: c.flags}
			now := Time(time.Hour)
			got := silent
			if x.acceptable(h, make([]byte, c.n), now) {
				got = yes
			} else if r.ack.state == ackUrgent {
				got = answered
			}
			if got != c.want {
				t.Errorf("it is %s, want %s", got, c.want)
			}
			if limited := x.challengeAt > now; limited != (got == answered &&
				(c.n == 0 && c.flags&wire.FIN == 0 || c.flags&wire.SYN != 0)) {
				t.Errorf("the answer counts against the limit: %v", limited)
			}
		})
	}
}

// TestRepeatedDataBringsItsTimestamp holds that a segment which repeats data updates TS.Recent, if
// both of its sequence numbers are near; an empty segment does not.
func TestRepeatedDataBringsItsTimestamp(t *testing.T) {
	for _, c := range []struct {
		name          string
		seq, n, ack   int
		stamp         uint32
		after         time.Duration
		taken, nostam bool
	}{
		{"as it was", -10, 10, 0, 1, 0, true, false},
		{"as far back as a window", -maxRepeated, 10, 0, 1, 0, true, false},
		{"farther", -maxRepeated - 1, 10, 0, 1, 0, false, false},
		{"empty", -10, 0, 0, 1, 0, false, false},
		{"of data that was never sent", -10, 10, 1, 1, 0, false, false},
		{"of data from long ago", -10, 10, -70_000, 1, 0, false, false},
		{"an older stamp", -10, 10, 0, 0xffffffff, 0, false, false},
		{"an older stamp, after weeks", -10, 10, 0, 0xffffffff, outdated + 1, true, false},
		{"an older stamp, after nearly as many", -10, 10, 0, 0xffffffff, outdated, false, false},
		{"without timestamps", -10, 10, 0, 1, 0, false, true},
	} {
		p := newPair(&Config{MSS: 1460, NoScale: true, NoTimestamps: c.nostam})
		x := p.x
		was, now := x.recent, x.recentAt.Add(c.after)
		h := &wire.TCP{Seq: uint32(x.receive.next.Plus(c.seq)), Ack: uint32(x.send.una.Plus(c.ack)),
			Flags: wire.ACK}
		h.Options = wire.TCPOptions{HasTimestamp: true, TSVal: was + c.stamp}
		x.noteRepeated(h, c.n, now)
		if got := x.recent == was+c.stamp; got != c.taken || got && x.recentAt != now {
			t.Errorf("%s: taken %v, want %v", c.name, got, c.taken)
		}
	}
}
