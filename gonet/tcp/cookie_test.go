package tcp

import (
	"testing"
	"time"

	"interleave/gonet/wire"
)

func keyed(key uint32) Keyed {
	return func(part uint32) uint32 { return (part + key) * 2654435761 >> 3 }
}

func TestCookie(t *testing.T) {
	cfg := &Config{MSS: 1460}
	start := Time(100 * time.Hour)
	for mss, want := range map[uint16]int{0: 216, 216: 216, 535: 216, 536: 536, 1460: 1460,
		1500: 1460, 9000: 1460} {
		syn := &wire.TCP{Seq: 77, Flags: wire.SYN, Window: 9000, Options: wire.TCPOptions{MSS: mss}}
		cookie := Cookie(keyed(1), syn, start)
		answer := CookieAnswer(cfg, cookie, syn, start)
		if answer.Ack != 78 || answer.Seq != cookie || answer.Flags != wire.SYN|wire.ACK ||
			answer.Options.MSS != 1460 || answer.Window == 0 {
			t.Fatalf("the answer is %+v", answer)
		}
		ack := &wire.TCP{Seq: 78, Ack: cookie + 1, Flags: wire.ACK, Window: 9000}
		now := start.Add(100 * time.Second) // the slow clock has advanced
		c := AcceptCookie(cfg, keyed(1), ack, now)
		if c == nil || c.State() != Established {
			t.Fatalf("MSS %d: not taken", mss)
		}
		if c.Input(ack, make([]byte, 10), now); c.Readable() != 10 {
			t.Fatalf("MSS %d: what came beside the acknowledgement was not taken", mss)
		}
		if c.Write(make([]byte, 3000)) != 3000 {
			t.Fatal("the connection takes nothing")
		}
		var s Segment
		if !c.Output(&s, now) || s.Len() != want || s.Header.Seq != cookie+1 || s.Header.Ack != 88 {
			t.Errorf("MSS %d: the first segment is %+v of %d bytes, want %d", mss, s.Header,
				s.Len(), want)
		}
		for name, bad := range map[string]*Conn{
			"another key": AcceptCookie(cfg, keyed(2), ack, now),
			"another number": AcceptCookie(cfg, keyed(1), &wire.TCP{Seq: 78, Ack: cookie + 2,
				Flags: wire.ACK}, now),
			"two ticks later": AcceptCookie(cfg, keyed(1), ack,
				start.Add(2*cookieTick+time.Second)),
		} {
			if bad != nil {
				t.Errorf("MSS %d: %s was taken", mss, name)
			}
		}
	}
}

// TestCookieKeepsOptions holds that with timestamps a cookie keeps all options that both ends want.
func TestCookieKeepsOptions(t *testing.T) {
	now := Time(100*time.Hour + 12345*time.Millisecond)
	for _, c := range []struct {
		name             string
		cfg              Config
		offered          wire.TCPOptions
		flags            wire.Flags
		stamps, sack, on bool
		shift            uint8
	}{
		{"all", Config{}, wire.TCPOptions{HasTimestamp: true, SACKPermitted: true,
			HasWindowScale: true, WindowScale: 9}, wire.SYN | wire.ECE | wire.CWR, true, true, true,
			9},
		{"the largest scale", Config{}, wire.TCPOptions{HasTimestamp: true, HasWindowScale: true,
			WindowScale: 14}, wire.SYN, true, false, false, 14},
		{"timestamps alone", Config{}, wire.TCPOptions{HasTimestamp: true}, wire.SYN, true, false,
			false, 0},
		{"no timestamps", Config{}, wire.TCPOptions{SACKPermitted: true, HasWindowScale: true,
			WindowScale: 9}, wire.SYN | wire.ECE | wire.CWR, false, false, false, 0},
		{"nothing wanted", Config{NoSACK: true, NoScale: true}, wire.TCPOptions{HasTimestamp: true,
			SACKPermitted: true, HasWindowScale: true, WindowScale: 9}, wire.SYN, true, false,
			false, 0},
		{"no timestamps wanted", Config{NoTimestamps: true}, wire.TCPOptions{HasTimestamp: true,
			SACKPermitted: true}, wire.SYN, false, false, false, 0},
	} {
		c.cfg.MSS, c.cfg.Clock, c.offered.MSS, c.offered.TSVal = 1460, 0xfffffff0, 1460, 4711
		syn := &wire.TCP{Seq: 77, Flags: c.flags, Window: 9000, Options: c.offered}
		cookie := Cookie(keyed(1), syn, now)
		answer := CookieAnswer(&c.cfg, cookie, syn, now)
		a := answer.Options
		if a.HasTimestamp != c.stamps || a.SACKPermitted != c.sack ||
			(answer.Flags&wire.ECE != 0) != c.on || a.HasWindowScale != (c.shift > 0) {
			t.Errorf("%s: the answer is %+v", c.name, answer)
		}
		ack := &wire.TCP{Seq: 78, Ack: cookie + 1, Flags: wire.ACK, Window: 100,
			Options: wire.TCPOptions{HasTimestamp: a.HasTimestamp, TSVal: 4712, TSEcr: a.TSVal}}
		later := now.Add(30 * ms)
		x := AcceptCookie(&c.cfg, keyed(1), ack, later)
		if x == nil {
			t.Fatalf("%s: not taken", c.name)
		}
		x.Input(ack, nil, later)
		if x.timestamps != c.stamps || x.sack != c.sack || x.ecn.on != c.on ||
			x.send.shift != c.shift || x.send.window != 100<<c.shift {
			t.Errorf("%s: timestamps %v, SACK %v, ECN %v, a scale of %d, a window of %d", c.name,
				x.timestamps, x.sack, x.ecn.on, x.send.shift, x.send.window)
		}
		if c.stamps && (int32(x.timestamp(now)-a.TSVal) < 0 || x.recent != 4712 ||
			a.TSEcr != 4711) {
			t.Errorf("%s: the clock of the answer is %d ahead; %d was kept of the peer's, %d "+
				"sent back", c.name, a.TSVal-x.timestamp(now), x.recent, a.TSEcr)
		}
	}
}
