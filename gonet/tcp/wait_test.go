package tcp

import (
	"testing"

	"interleave/gonet/wire"
)

// TestWhichAcknowledgementsWait holds that OutputNow holds back only acknowledgements of new data
// in order that would be sent alone.
func TestWhichAcknowledgementsWait(t *testing.T) {
	for _, c := range []struct {
		name string
		from Config
		do   func(p *pair, segments []wire.TCP)
		wait bool
	}{
		{name: "what comes next", wait: true,
			do: func(p *pair, s []wire.TCP) { p.receive(s[0]); p.receive(s[1]) }},
		{name: "the end", wait: true, do: func(p *pair, s []wire.TCP) {
			p.receive(s[0])
			p.y.Input(&wire.TCP{Seq: s[0].Seq + 100, Ack: s[0].Ack, Flags: wire.ACK | wire.FIN,
				Window: 1000, Options: s[0].Options}, nil, p.now)
		}},
		{name: "what comes ahead of its turn", do: func(p *pair, s []wire.TCP) { p.receive(s[1]) }},
		{name: "what fills a gap",
			do: func(p *pair, s []wire.TCP) { p.receive(s[1]); p.receive(s[0]) }},
		{name: "what comes again",
			do: func(p *pair, s []wire.TCP) { p.receive(s[0]); p.receive(s[0]) }},
		{name: "what comes again, and then what is next",
			do: func(p *pair, s []wire.TCP) { p.receive(s[0]); p.receive(s[0]); p.receive(s[1]) }},
		{name: "when the user wants none to wait", from: Config{QuickAck: true},
			do: func(p *pair, s []wire.TCP) { p.receive(s[0]) }},
		{name: "while our own data is being sent again", do: func(p *pair, s []wire.TCP) {
			p.y.Write(make([]byte, 10))
			for p.y.Output(&p.s, p.now) {
				p.now++
			}
			at, _ := p.y.Deadline()
			for p.y.send.rtt.backoff == 0 {
				p.now = at
				p.y.Expire(p.now)
				for p.y.Output(&p.s, p.now) {
					p.now++
				}
				at, _ = p.y.Deadline()
			}
			p.receive(s[0])
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.from.MSS = 1460
			p := newPair(&c.from)
			var sent []wire.TCP
			for range 2 {
				p.x.Write(make([]byte, 100))
				if !p.x.Output(&p.s, p.now) || p.s.Len() != 100 {
					t.Fatalf("%d bytes were sent, want 100", p.s.Len())
				}
				sent = append(sent, p.s.Header)
			}
			c.do(p, sent)
			if now := p.y.OutputNow(&p.s, p.now); now == c.wait {
				t.Errorf("it goes at once: %v, want %v", now, !c.wait)
			}
			if c.wait && (!p.y.AckDue() || !p.y.Output(&p.s, p.now) ||
				p.s.Header.Ack == sent[0].Seq) {
				t.Error("what has waited does not go at last")
			}
			if p.y.AckDue() || p.y.Output(&p.s, p.now) {
				t.Error("more is due than one acknowledgement")
			}
			p.y.Write([]byte("an answer"))
			if !p.y.OutputNow(&p.s, p.now) || p.s.Len() == 0 {
				t.Error("an answer waits, too")
			}
		})
	}
}

// receive gives y a segment of 100 bytes.
func (p *pair) receive(h wire.TCP) { p.y.Input(&h, make([]byte, 100), p.now) }

// TestTheEndsAcknowledgementWaits holds that the acknowledgement of a FIN goes with our FIN, or
// after endDelay. For a FIN out of order or a duplicate it is sent at once.
func TestTheEndsAcknowledgementWaits(t *testing.T) {
	begin := func() (*pair, wire.TCP) {
		p := newPair(&Config{MSS: 1460})
		p.x.Write(make([]byte, 100))
		if !p.x.Output(&p.s, p.now) {
			t.Fatal("nothing was sent")
		}
		return p, p.s.Header
	}
	end := func(p *pair, h wire.TCP, at uint32) {
		p.y.Input(&wire.TCP{Seq: h.Seq + at, Ack: h.Ack, Flags: wire.ACK | wire.FIN, Window: 1000,
			Options: h.Options}, nil, p.now)
		p.y.Postpone(p.now)
	}
	p, h := begin()
	p.receive(h)
	end(p, h, 100)
	if p.y.AckDue() || p.y.Output(&p.s, p.now) {
		t.Error("the acknowledgement goes at once")
	}
	p.y.Take(p.now).Free()
	p.y.Close(p.now)
	if !p.y.Output(&p.s, p.now) || p.s.Header.Flags&wire.FIN == 0 || p.s.Header.Ack != h.Seq+101 ||
		p.y.Output(&p.s, p.now) {
		t.Errorf("with our end goes %+v, want the acknowledgement of 101 bytes", p.s.Header)
	}

	p, h = begin()
	p.receive(h)
	end(p, h, 100)
	at, ok := p.y.Deadline()
	if !ok || at != p.now.Add(endDelay) {
		t.Fatalf("the next deadline is %v, %v, want %v", at, ok, p.now.Add(endDelay))
	}
	p.y.Expire(at)
	if !p.y.OutputNow(&p.s, at) || p.s.Header.Ack != h.Seq+101 {
		t.Errorf("after %v goes %+v, want the acknowledgement of 101 bytes", endDelay, p.s.Header)
	}
	end(p, h, 100)
	if !p.y.AckDue() {
		t.Error("an end that comes again is not answered at once")
	}

	p, h = begin()
	end(p, h, 100)
	if !p.y.AckDue() {
		t.Error("an end ahead of its turn is not answered at once")
	}
}
