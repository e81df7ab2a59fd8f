package tcp

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"interleave/gonet/wire"
)

// TestRevivedMachinesAnswerAlike gives random segments to a machine in TIME-WAIT, and to one that
// is revived for each of them: both send the same, and the same is left of both.
func TestRevivedMachinesAnswerAlike(t *testing.T) {
	for _, cfg := range []Config{{MSS: 1460}, {MSS: 1460, NoTimestamps: true},
		{MSS: 1460, NoSACK: true, NoScale: true}, {MSS: 1460, ECN: true},
		{MSS: 1460, Congestion: NewReno, TimeWait: 2 * time.Second}} {
		answers := 0
		for seed := range uint64(50) {
			p := newPair(&cfg)
			p.carry(make([]byte, 3000), make([]byte, 3000))
			p.x.Close(p.now)
			p.pump()
			p.y.CloseWrite()
			p.pump()
			answers += answerAlike(t, &cfg, p, rand.New(rand.NewPCG(seed, 1)))
			if t.Failed() {
				t.Fatalf("%+v, seed %d", cfg, seed)
			}
		}
		if answers < 1000 {
			t.Errorf("%+v: %d answers to 10,000 segments", cfg, answers)
		}
	}
}

// answerAlike compares p.x with machines that are revived, and returns how many answers there were.
func answerAlike(t *testing.T, cfg *Config, p *pair, random *rand.Rand) (answers int) {
	t.Helper()
	old, now := p.x, p.now
	left, ok := old.Waiting()
	if !ok {
		t.Fatalf("nothing is left of a machine in %v", old.State())
	}
	for range 200 {
		now = now.Add(time.Duration(random.IntN(400)) * time.Millisecond)
		h, payload := randomSegment(old, random, now), make([]byte, random.IntN(20))
		if a, b := old.Yields(now), left.Yields(cfg, now); a != b {
			t.Errorf("Yields is %v and %v", a, b)
		}
		if a, b := old.Reusable(&h), left.Reusable(&h); a != b {
			t.Errorf("Reusable is %v and %v for %+v", a, b, h)
		}
		revived := Revive(cfg, &left, now)
		if random.IntN(8) == 0 {
			old.Marked()
			revived.Marked()
		}
		old.Input(&h, payload, now)
		revived.Input(&h, payload, now)
		a, b := headers(old, now), headers(revived, now)
		if !slices.Equal(a, b) {
			t.Errorf("%+v\nis answered by %+v\nand by %+v", h, a, b)
		}
		answers += len(a)
		want, there := old.Waiting()
		if left, ok = revived.Waiting(); left != want || ok != there {
			t.Errorf("after %+v\n%+v %v is left of the one,\n%+v %v of the other", h, want, there,
				left, ok)
		}
		revived.Free()
		if t.Failed() {
			return answers
		}
	}
	return answers
}

// randomSegment returns a segment that is more or less acceptable to a machine.
func randomSegment(c *Conn, random *rand.Rand, now Time) wire.TCP {
	near := func(all ...Seq) uint32 {
		return uint32(all[random.IntN(len(all))]) + uint32(random.IntN(7)) - 3
	}
	h := wire.TCP{Seq: near(c.receive.next, c.receive.edge, c.receive.irs),
		Ack: near(c.send.next, c.send.next, c.send.iss), Flags: wire.Flags(random.IntN(256)),
		Window: uint16(random.IntN(1 << 16))}
	if random.IntN(2) == 0 {
		h.Flags = wire.ACK | wire.FIN
		h.Seq, h.Ack = uint32(c.receive.finAt), uint32(c.send.next)
	}
	o := &h.Options
	if o.HasTimestamp = c.timestamps && random.IntN(8) > 0; o.HasTimestamp {
		o.TSVal, o.TSEcr = c.recent+uint32(random.IntN(5))-1, c.timestamp(now)
	}
	for range random.IntN(3) {
		o.SACK[o.SACKCount] = wire.SACKBlock{Left: near(c.send.next), Right: near(c.send.next)}
		o.SACKCount++
	}
	return h
}

// headers returns the headers of what a machine sends.
func headers(c *Conn, now Time) (all []wire.TCP) {
	var s Segment
	for c.Output(&s, now) {
		all = append(all, s.Header)
	}
	return all
}
