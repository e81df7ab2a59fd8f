package packetdrill

import (
	"fmt"
	"strings"
	"time"

	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// expect compares the next segment that the machine sends with that of the script, and waits for it
// if it has not been sent yet.
func (p *player) expect(e *Event, want *Segment, at, until tcp.Time) error {
	limit := at.Add(patience)
	switch e.Time.Kind {
	case AnyTime:
		limit = p.now.Add(longPatience)
	case AbsoluteRange, RelativeRange:
		limit = until.Add(patience)
	}
	got, err := p.segment(want, limit)
	if err != nil {
		return err
	}
	h := got.header
	got.conn.numbers.leaving(&h, &want.Header)
	if !want.HasWindow {
		h.Window = 0
	}
	text := p.compare(got, &h, want, at)
	tolerance := p.tolerance(at, p.last)
	first, last := at.Add(-tolerance), at.Add(tolerance)
	switch e.Time.Kind {
	case AnyTime:
		first, last = got.at, got.at
	case AbsoluteRange, RelativeRange:
		last = until.Add(tolerance)
	}
	if text == "" && (got.at < first || got.at > last) {
		text = "sent " + describe(&h, got.n)
	}
	if text == "" {
		return nil
	}
	if got.at < first || got.at > last {
		text += fmt.Sprintf(", %+.3f s from the instant of the script", got.at.Sub(at).Seconds())
	}
	return p.differs("%s", text)
}

// segment takes the next segment that was sent, and waits for it up to limit. The machine sends
// single segments, where the script may have a super-segment of Linux: then consecutive ones are
// put together until they are as long.
func (p *player) segment(want *Segment, limit tcp.Time) (sent, error) {
	if err := p.waitForOutput(limit); err != nil {
		return sent{}, err
	}
	if len(p.out) == 0 {
		return sent{}, p.differs("nothing was sent, want %s",
			describe(&want.Header, want.Len))
	}
	got := p.out[0]
	p.out = p.out[1:]
	for got.n < want.Len && !p.set.strict {
		if err := p.waitForOutput(limit); err != nil {
			return sent{}, err
		}
		if len(p.out) == 0 || !got.goesOn(&p.out[0]) {
			break
		}
		got.append(&p.out[0])
		p.out = p.out[1:]
	}
	return got, nil
}

// waitForOutput lets time pass until a segment waits in p.out, but not beyond limit.
func (p *player) waitForOutput(limit tcp.Time) error {
	for len(p.out) == 0 {
		if moved, err := p.step(limit); err != nil || !moved {
			return err
		}
	}
	return nil
}

// goesOn tells whether s follows in the stream of bytes, with the same acknowledgement.
func (x *sent) goesOn(s *sent) bool {
	const differ = wire.SYN | wire.RST | wire.ACK | wire.ECE
	return s.conn == x.conn && s.n > 0 && s.header.Seq == x.header.Seq+uint32(x.n) &&
		s.header.Ack == x.header.Ack && (s.header.Flags^x.header.Flags)&differ == 0 &&
		x.header.Flags&wire.FIN == 0
}

// append puts s behind x. The header is that of s, but for the sequence number and CWR.
func (x *sent) append(s *sent) {
	seq, cwr, n := x.header.Seq, x.header.Flags&wire.CWR, x.n
	*x = *s
	x.header.Seq, x.n = seq, n+s.n
	x.header.Flags |= cwr
}

// ignored are the flags that are not compared. Linux sets PSH at places of its own.
const ignored = wire.PSH

// compare returns how a segment, whose header is h in the numbers of the script, is not the one
// that the script wants, or "".
func (p *player) compare(got sent, h *wire.TCP, want *Segment, at tcp.Time) string {
	g, w := *h, want.Header
	g.Flags &^= ignored
	w.Flags &^= ignored
	if w.Flags&wire.ACK == 0 {
		w.Ack = 0
	}
	if !g.Options.HasWindowScale {
		g.Options.WindowScale = 0
	}
	if want.AnyOptions {
		g.Options = w.Options
	} else if g.Options.HasTimestamp && w.Options.HasTimestamp {
		if p.set.tick > 0 {
			ticks := int32(g.Options.TSVal - w.Options.TSVal)
			apart := (p.set.tick * time.Duration(ticks)).Abs()
			if apart > p.tolerance(at, p.start) {
				return fmt.Sprintf("sent %s, whose timestamp is %v from %d",
					describe(h, got.n), apart, w.Options.TSVal)
			}
		}
		g.Options.TSVal = w.Options.TSVal
	}
	switch {
	case g != w || got.n != want.Len:
		return fmt.Sprintf("sent %s, want %s", describe(h, got.n), describe(&w, want.Len))
	case want.ECN != "" && got.markable != (want.ECN == "ect0" || want.ECN == "ect01"):
		return fmt.Sprintf("sent %s, ECN-capable: %v, want [%s]", describe(h, got.n),
			got.markable, want.ECN)
	}
	return ""
}

// describe writes a segment as a script does.
func describe(h *wire.TCP, n int) string {
	var s strings.Builder
	flags := h.Flags.String()
	if flags == "" {
		flags = "-"
	}
	fmt.Fprintf(&s, "%s %d:%d(%d)", flags, h.Seq, h.Seq+uint32(n), n)
	if h.Flags&wire.ACK != 0 {
		fmt.Fprintf(&s, " ack %d", h.Ack)
	}
	if h.Window != 0 {
		fmt.Fprintf(&s, " win %d", h.Window)
	}
	if options := describeOptions(&h.Options); options != "" {
		fmt.Fprintf(&s, " <%s>", options)
	}
	return s.String()
}

func describeOptions(o *wire.TCPOptions) string {
	var all []string
	if o.MSS != 0 {
		all = append(all, fmt.Sprintf("mss %d", o.MSS))
	}
	if o.SACKPermitted {
		all = append(all, "sackOK")
	}
	if o.HasTimestamp {
		all = append(all, fmt.Sprintf("TS val %d ecr %d", o.TSVal, o.TSEcr))
	}
	if o.HasWindowScale {
		all = append(all, fmt.Sprintf("wscale %d", o.WindowScale))
	}
	if o.SACKCount > 0 {
		blocks := "sack"
		for _, b := range o.SACK[:o.SACKCount] {
			blocks += fmt.Sprintf(" %d:%d", b.Left, b.Right)
		}
		all = append(all, blocks)
	}
	return strings.Join(all, ",")
}

// String writes a segment as the machine has sent it.
func (x *sent) String() string { return describe(&x.header, x.n) }
