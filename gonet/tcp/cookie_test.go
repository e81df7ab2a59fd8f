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
	for mss, want := range map[uint16]int{0: 216, 216: 216, 535: 216, 536: 536, 1460: 1460, 1500: 1460, 9000: 1460} {
		syn := &wire.TCP{Seq: 77, Flags: wire.SYN, Window: 9000, Options: wire.TCPOptions{MSS: mss}}
		cookie := Cookie(keyed(1), syn, start)
		answer := CookieAnswer(cfg, cookie, syn)
		if answer.Ack != 78 || answer.Seq != cookie || answer.Flags != wire.SYN|wire.ACK || answer.Options.MSS != 1460 || answer.Window == 0 {
			t.Fatalf("the answer is %+v", answer)
		}
		ack := &wire.TCP{Seq: 78, Ack: cookie + 1, Flags: wire.ACK, Window: 9000}
		now := start.Add(100 * time.Second) // the slow clock has gone on
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
			t.Errorf("MSS %d: the first segment is %+v of %d bytes, want %d", mss, s.Header, s.Len(), want)
		}
		for name, bad := range map[string]*Conn{
			"another key":     AcceptCookie(cfg, keyed(2), ack, now),
			"another number":  AcceptCookie(cfg, keyed(1), &wire.TCP{Seq: 78, Ack: cookie + 2, Flags: wire.ACK}, now),
			"two ticks later": AcceptCookie(cfg, keyed(1), ack, start.Add(2*cookieTick+time.Second)),
		} {
			if bad != nil {
				t.Errorf("MSS %d: %s was taken", mss, name)
			}
		}
	}
}
