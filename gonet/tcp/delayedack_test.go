package tcp

import (
	"testing"

	"interleave/gonet/wire"
)

// TestWhichAcknowledgementsAreHeld holds that OutputNow holds back only acknowledgements of new
// data in order that would be sent alone.
func TestWhichAcknowledgementsAreHeld(t *testing.T) {
	for _, c := range []struct {
		name string
		from Config
		do   func(p *pair, segments []wire.TCP)
		held bool
	}{
		{name: "text in order", held: true,
			do: func(p *pair, s []wire.TCP) { p.receive(s[0]); p.receive(s[1]) }},
		{name: "FIN", held: true, do: func(p *pair, s []wire.TCP) {
			p.receive(s[0])
			p.y.Input(&wire.TCP{Seq: s[0].Seq + 100, Ack: s[0].Ack, Flags: wire.ACK | wire.FIN,
				Window: 1000, Options: s[0].Options}, nil, p.now)
		}},
		{name: "text out of order", do: func(p *pair, s []wire.TCP) { p.receive(s[1]) }},
		{name: "text that fills a hole",
			do: func(p *pair, s []wire.TCP) { p.receive(s[1]); p.receive(s[0]) }},
		{name: "repeated text",
			do: func(p *pair, s []wire.TCP) { p.receive(s[0]); p.receive(s[0]) }},
		{name: "repeated text, and then text in order",
			do: func(p *pair, s []wire.TCP) { p.receive(s[0]); p.receive(s[0]); p.receive(s[1]) }},
		{name: "text with QuickAck", from: Config{QuickAck: true},
			do: func(p *pair, s []wire.TCP) { p.receive(s[0]) }},
		{name: "text during retransmission", do: func(p *pair, s []wire.TCP) {
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
			if now := p.y.OutputNow(&p.s, p.now); now == c.held {
				t.Errorf("sent at once: %v, want %v", now, !c.held)
			}
			if c.held && (!p.y.AckDue() || !p.y.Output(&p.s, p.now) ||
				p.s.Header.Ack == sent[0].Seq) {
				t.Error("Output does not send what OutputNow has held")
			}
			if p.y.AckDue() || p.y.Output(&p.s, p.now) {
				t.Error("more is due than one acknowledgement")
			}
			p.y.Write([]byte("an answer"))
			if !p.y.OutputNow(&p.s, p.now) || p.s.Len() == 0 {
				t.Error("data of the user is held, too")
			}
		})
	}
}

// receive gives y a segment of 100 bytes.
func (p *pair) receive(h wire.TCP) { p.y.Input(&h, make([]byte, 100), p.now) }

// TestAcknowledgementOfAFinIsDelayed holds that the acknowledgement of a FIN goes with our FIN, or
// after endDelay. For a FIN out of order or a duplicate it is sent at once.
func TestAcknowledgementOfAFinIsDelayed(t *testing.T) {
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
		t.Error("the acknowledgement is sent at once")
	}
	p.y.Take(p.now).Free()
	p.y.Close(p.now)
	if !p.y.Output(&p.s, p.now) || p.s.Header.Flags&wire.FIN == 0 || p.s.Header.Ack != h.Seq+101 ||
		p.y.Output(&p.s, p.now) {
		t.Errorf("with our FIN goes %+v, want the acknowledgement of 101 bytes", p.s.Header)
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
		t.Error("a repeated FIN is not answered at once")
	}

	p, h = begin()
	end(p, h, 100)
	if !p.y.AckDue() {
		t.Error("a FIN out of order is not answered at once")
	}
}

// TestStatesOfAcknowledgements goes through the diagram of delayedack.go: each cause in each state.
func TestStatesOfAcknowledgements(t *testing.T) {
	fin := func(p *pair) {
		p.y.receive.finished, p.y.state = true, CloseWait
		p.y.Postpone(p.now)
	}
	text := func(p *pair) {
		p.y.receive.ack.begin()
		p.y.ackText(true, p.now)
	}
	second := func(p *pair) {
		p.y.receive.ack.unacked = 2 * defaultMSS
		text(p)
	}
	ahead := func(p *pair) {
		p.y.receive.ack.begin()
		p.y.ackText(false, p.now)
	}
	sent := func(p *pair) { p.y.noteAck(true) }
	full := func(p *pair) { p.y.noteAck(false) } // there was no room for the SACK blocks
	for _, c := range []struct {
		name  string
		cause func(*pair)
		want  [4]ackState // from none, delayed, holdable and urgent
	}{
		{"text", text, [4]ackState{ackDelayed, ackDelayed, ackUrgent, ackUrgent}},
		{"second segment", second, [4]ackState{ackHoldable, ackHoldable, ackHoldable, ackUrgent}},
		{"out of order", ahead, [4]ackState{ackUrgent, ackUrgent, ackUrgent, ackUrgent}},
		{"at once", func(p *pair) { p.y.ackAtOnce() },
			[4]ackState{ackUrgent, ackUrgent, ackUrgent, ackUrgent}},
		{"window", func(p *pair) { p.y.ackWindow() },
			[4]ackState{ackHoldable, ackHoldable, ackHoldable, ackUrgent}},
		{"Postpone", fin, [4]ackState{ackNone, ackDelayed, ackDelayed, ackUrgent}},
		{"timer", func(p *pair) { p.y.Expire(p.now.Add(delayedAck)) },
			[4]ackState{ackNone, ackUrgent, ackHoldable, ackUrgent}},
		{"sent", sent, [4]ackState{}},
		{"sent without SACK", full, [4]ackState{ackNone, ackNone, ackHoldable, ackUrgent}},
		{"end", func(p *pair) { p.y.end(ErrReset) }, [4]ackState{}},
	} {
		for from, want := range c.want {
			p := newPair(&Config{MSS: 1460})
			p.y.receive.ack.quick = 0
			p.y.setAck(ackState(from), 0)
			if ackState(from) == ackDelayed {
				p.y.timers.ack = p.now.Add(delayedAck)
			}
			c.cause(p)
			a := &p.y.receive.ack
			if a.state != want {
				t.Errorf("%s leads from state %d to %d, want %d", c.name, from, a.state, want)
			}
			if runs := p.y.timers.ack != 0; runs != (a.state == ackDelayed) {
				t.Errorf("%s: in state %d the timer runs: %v", c.name, a.state, runs)
			}
		}
	}
}
