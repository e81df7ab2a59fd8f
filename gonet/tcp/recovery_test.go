package tcp

import (
	"testing"
	"time"

	"interleave/gonet/wire"
)

// TestReorderingIsRememberedForSixteenRecoveries holds that a spurious retransmission widens the
// reordering window, once for each window of data, and that 16 recoveries without one reset it (RFC
// 8985 section 6.2 step 4).
func TestReorderingIsRememberedForSixteenRecoveries(t *testing.T) {
	p := newPair(&Config{MSS: 1460})
	s := &p.x.send
	p.x.Write(make([]byte, 3000))
	for p.x.Output(&p.s, p.now) {
		p.now++
	}
	if s.rack.adaptWindow(s, false); s.rack.windowMult != 0 {
		t.Fatalf("no duplicate was reported, and the window is %d quarters", s.rack.windowMult)
	}
	s.rack.adaptWindow(s, true)
	if s.rack.adaptWindow(s, true); s.rack.windowMult != 2 {
		t.Fatalf("two reports in one window of data: %d quarters, want 2", s.rack.windowMult)
	}
	s.una = s.next
	if s.rack.adaptWindow(s, true); s.rack.windowMult != 3 {
		t.Fatalf("a report in the next window: %d quarters, want 3", s.rack.windowMult)
	}
	for i := range 16 {
		if s.rack.windowMult != 3 {
			t.Fatalf("after %d recoveries: %d quarters, want 3", i, s.rack.windowMult)
		}
		p.x.recover(p.now)
	}
	if s.rack.windowMult != 1 {
		t.Errorf("after 16 recoveries: %d quarters, want 1", s.rack.windowMult)
	}
}

// TestReportsOfDuplicates holds that the first SACK block reports a duplicate if it is before the
// acknowledgement or within the second block (RFC 2883 section 4).
func TestReportsOfDuplicates(t *testing.T) {
	for _, c := range []struct {
		name   string
		blocks [][2]int // relative to SND.UNA
		want   bool
	}{
		{"none", nil, false},
		{"a hole", [][2]int{{1000, 2000}}, false},
		{"two", [][2]int{{4000, 5000}, {1000, 2000}}, false},
		{"before the acknowledgement", [][2]int{{-1000, 0}, {1000, 2000}}, true},
		{"alone", [][2]int{{-1000, -500}}, true},
		{"within the second", [][2]int{{2000, 3000}, {1000, 4000}}, true},
		{"at its start", [][2]int{{1000, 2000}, {1000, 4000}}, true},
		{"at its end", [][2]int{{3000, 4000}, {1000, 4000}}, true},
		{"it begins before the second", [][2]int{{500, 3000}, {1000, 4000}}, false},
		{"it ends behind the second", [][2]int{{3000, 4500}, {1000, 4000}}, false},
		{"the second within the third", [][2]int{{5000, 6000}, {2000, 3000}, {1000, 4000}}, false},
	} {
		p := newPair(&Config{MSS: 1460})
		p.x.Write(make([]byte, 10_000))
		for p.x.Output(&p.s, p.now) {
			p.now++
		}
		una := p.x.send.una
		h := wire.TCP{Ack: uint32(una), Flags: wire.ACK}
		for _, b := range c.blocks {
			h.Options.SACK[h.Options.SACKCount] = wire.SACKBlock{Left: uint32(una.Plus(b[0])),
				Right: uint32(una.Plus(b[1]))}
			h.Options.SACKCount++
		}
		if n := p.x.deliveries(&h, una, p.now); n.duplicate != c.want {
			t.Errorf("%s: a duplicate: %v, want %v", c.name, n.duplicate, c.want)
		}
	}
}

// TestAnOvertakenAcknowledgementReportsNoDuplicate holds that a SACK block below SND.UNA is no
// DSACK in an old acknowledgement, while a block of data in flight counts.
func TestAnOvertakenAcknowledgementReportsNoDuplicate(t *testing.T) {
	p := newPair(&Config{MSS: 1460})
	c := p.x
	c.Write(make([]byte, 10_000))
	for c.Output(&p.s, p.now) {
		p.now++
	}
	send := func(ack Seq, blocks ...wire.SACKBlock) {
		h := wire.TCP{Seq: uint32(c.receive.next), Ack: uint32(ack), Flags: wire.ACK, Window: 9999}
		h.Options.HasTimestamp, h.Options.TSVal = c.timestamps, c.recent
		h.Options.SACKCount = uint8(copy(h.Options.SACK[:], blocks))
		p.now = p.now.Add(time.Millisecond)
		c.Input(&h, nil, p.now)
	}
	begin := c.send.una
	block := func(from, to int) wire.SACKBlock {
		return wire.SACKBlock{Left: uint32(begin.Plus(from)), Right: uint32(begin.Plus(to))}
	}
	send(begin.Plus(3000))
	send(begin.Plus(2000), block(500, 1000), block(6000, 7000))
	if s := &c.send; s.scoreboard.sacked != 1000 || s.rack.windowMult > 1 {
		t.Errorf("%d bytes are sacked, want 1000; the reordering window is %d quarters, want 1",
			s.scoreboard.sacked, s.rack.windowMult)
	}
	send(begin.Plus(3000), block(500, 1000), block(6000, 7000))
	if got := c.send.rack.windowMult; got != 2 {
		t.Errorf("after a DSACK of now: %d quarters, want 2", got)
	}
}

// TestDuplicatesAreForgotten holds the count of duplicate acknowledgements without SACK, each of
// which stands for a segment that has arrived. In recovery an acknowledgement of n segments reduces
// it by n - 1 (RFC 6582 section 3.2), outside of recovery to 0.
func TestDuplicatesAreForgotten(t *testing.T) {
	for _, c := range []struct {
		recovering, expired   bool
		dups, segments, after int
	}{
		{false, false, 2, 1, 0}, {true, true, 5, 1, 0}, {true, false, 5, 1, 5},
		{true, false, 5, 3, 3}, {true, false, 2, 9, 0},
	} {
		s := &sender{recovering: c.recovering, expired: c.expired, dups: int32(c.dups),
			mss: 1000}
		if s.deflateDuplicates(c.segments * 1000); int(s.dups) != c.after {
			t.Errorf("%+v: %d are left", c, s.dups)
		}
	}
}

// TestProportionalRateReduction holds both parts of RFC 6937 at their edges.
func TestProportionalRateReduction(t *testing.T) {
	for _, c := range []struct {
		name                               string
		flight, got, sent, pipe, delivered int
		acked                              int
		threshold, wantCredit              int
	}{
		{"more on its way than the threshold: in proportion, rounded up", 10_000, 0, 0, 8_000,
			1_000, 0, 5_000, 500},
		{"what was sent counts", 10_000, 2_000, 1_500, 6_000, 1_000, 0, 5_000, 0},
		{"below it: what has been delivered", 10_000, 6_000, 3_500, 4_000, 1_000, 0, 5_000, 1_000},
		{"no more than what is missing", 10_000, 8_000, 1_000, 4_900, 1_000, 0, 5_000, 100},
		{"slow start when the left edge moves", 10_000, 3_000, 4_000, 1_000, 1_000, 1_000, 5_000,
			2_000},
		{"at the threshold", 10_000, 4_000, 1_000, 5_000, 1_000, 0, 5_000, 0},
	} {
		control := &reno{mss: 1000, ssthresh: c.threshold}
		s := &sender{mss: 1000, control: control}
		s.scoreboard.inFlight = c.pipe
		p := prr{recoverFS: c.flight, total: c.got, out: c.sent}
		if p.delivered(ackInfo{delivered: c.delivered, acked: c.acked}, s,
			true); p.sndcnt != c.wantCredit {
			t.Errorf("%s: %d bytes may go, want %d", c.name, p.sndcnt, c.wantCredit)
		}
		p.sndcnt = 77
		if p.delivered(ackInfo{delivered: 1}, s, false); p.sndcnt != 77 {
			t.Errorf("%s: after a time-out it still counts", c.name)
		}
	}
}
