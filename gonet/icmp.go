package gonet

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// inputICMP answers echo requests in place, hands replies to those who ask, and errors to the sockets that they are about.
func (s *Stack) inputICMP(p *packet) {
	m, body, err := wire.ParseICMP(p.body, 0)
	if err != nil {
		s.stats.malformed.Add(1)
		return
	}
	switch m.Type {
	case wire.ICMPEcho:
		if p.group {
			return // RFC 1122 section 3.2.2.6 allows silence, which stops the amplification of floods
		}
		// One word of the message changes, so its checksum needs no second sum, and the message no copy.
		p.body[0] = wire.ICMPEchoReply
		sum := wire.Replace(m.Checksum, uint16(wire.ICMPEcho)<<8|uint16(m.Code), uint16(m.Code))
		p.body[2], p.body[3] = byte(sum>>8), byte(sum)
		s.reply(p, wire.ProtocolICMP, p.body)
	case wire.ICMPEchoReply:
		if waits, ok := s.pings[pingKey{p.src, m.ID(), m.Seq()}]; ok {
			select {
			case waits <- time.Now():
			default: // it has its answer: this is a duplicate
			}
		}
	case wire.ICMPUnreachable, wire.ICMPTimeExceeded, wire.ICMPParameterProblem:
		s.inputError(m, body)
	}
}

// inputError hands an error to the connection or socket that sent the packet which it quotes.
func (s *Stack) inputError(m wire.ICMP, quote []byte) {
	h, body, err := wire.ParseIPv4Quote(quote)
	if err != nil || !s.isOurs(h.Src) || h.Offset != 0 {
		s.stats.malformed.Add(1)
		return
	}
	src, dst, seq, err := wire.ParseTCPQuote(body) // UDP's ports stand in the same place
	if err != nil {
		s.stats.malformed.Add(1)
		return
	}
	switch h.Protocol {
	case wire.ProtocolTCP:
		if c := s.conns[flowOf(netip.AddrPortFrom(h.Src, src), netip.AddrPortFrom(h.Dst, dst))]; c != nil {
			c.unreachable(m, seq)
		}
	case wire.ProtocolUDP:
		if u := s.socket(netip.AddrPortFrom(h.Src, src)); u != nil {
			u.unreachable(m, netip.AddrPortFrom(h.Dst, dst))
		}
	}
}

// quoted is how much of a packet an error carries, in bytes: RFC 1812 section 4.3.2.3 has as much as fits in 576.
const quoted = 576 - wire.IPv4Len - wire.ICMPLen

// errorInterval is the least time between two errors that we send (RFC 1812 section 4.3.2.8 asks for some limit).
const errorInterval = time.Millisecond

// unreachable answers a packet that nobody takes, unless that could make a storm (RFC 1122 section 3.2.2).
func (s *Stack) unreachable(p *packet, code uint8) {
	if p.group || s.now.Sub(s.lastError) < errorInterval || p.src.IsUnspecified() {
		return
	}
	s.lastError = s.now
	m := wire.ICMP{Type: wire.ICMPUnreachable, Code: code}
	b := make([]byte, wire.ICMPLen, wire.ICMPLen+quoted)
	m.Put(b)
	b = append(b, p.header...)
	b = append(b, p.body[:min(len(p.body), quoted-len(p.header))]...)
	wire.SealICMP(b, 0)
	s.reply(p, wire.ProtocolICMP, b)
}

type pingKey struct {
	from    netip.Addr
	id, seq uint16
}

// Ping sends one echo request of size bytes of payload and waits for the reply. It returns the round trip, or the error of the
// context when nobody has answered. Many may run at once.
func (s *Stack) Ping(ctx context.Context, to netip.Addr, size int) (time.Duration, error) {
	n := s.pingCount.Add(1)
	key := pingKey{to, uint16(n >> 16), uint16(n)}
	answer := make(chan time.Time, 1)
	fail := func(err error) (time.Duration, error) { return 0, fmt.Errorf("ping %v: %w", to, translate(err)) }
	if size < 0 || size > maxPacket-wire.IPv4Len-wire.ICMPLen {
		return fail(errTooLong)
	}
	if err := s.claim(func() { s.pings[key] = answer }); err != nil {
		return fail(err)
	}
	defer func() { _ = s.post(func() { delete(s.pings, key) }) }() // a stack that has ended needs none
	b := make([]byte, wire.ICMPLen+size)
	m := wire.Echo(wire.ICMPEcho, key.id, key.seq)
	for i := range b[m.Put(b):] {
		b[wire.ICMPLen+i] = byte(i)
	}
	wire.SealICMP(b, 0)
	src, err := s.source(to)
	if err != nil {
		return fail(err)
	}
	start := time.Now()
	if err := s.sendIPv4(src, to, wire.ProtocolICMP, link.GSO{}, b); err != nil {
		return fail(err)
	}
	select {
	case at := <-answer:
		return at.Sub(start), nil
	case <-ctx.Done():
		return fail(ctx.Err())
	case <-s.done:
		return fail(s.fail)
	}
}
