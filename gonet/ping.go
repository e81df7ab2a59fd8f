package gonet

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"interleave/gonet/wire"
)

type pingKey struct {
	from    netip.Addr
	id, seq uint16
}

// Ping sends one echo request with size bytes of payload and waits for the reply. It returns the
// round-trip time, or the context's error if no reply has come. Many Pings may run at once.
func (s *Stack) Ping(ctx context.Context, to netip.Addr, size int) (time.Duration, error) {
	to = to.Unmap().WithZone("") // a zone has no meaning on a stack with one link
	n := s.icmp.pingCount.Add(1)
	key := pingKey{to, uint16(s.random.Uint64()), uint16(n)} // others cannot forge the reply
	answer := make(chan time.Time, 1)
	fail := func(err error) (time.Duration, error) {
		return 0, fmt.Errorf("ping %v: %w", to, translate(err))
	}
	if size < 0 || size > maxBody(to)-wire.ICMPLen {
		return fail(errTooLong)
	}
	if err := s.claim(func() { s.icmp.pings[key] = answer }); err != nil {
		return fail(err)
	}
	// a stack that has ended has no table
	defer func() { _ = s.post(func() { delete(s.icmp.pings, key) }) }()
	b := make([]byte, wire.ICMPLen+size)
	for i := range b[wire.ICMPLen:] {
		b[wire.ICMPLen+i] = byte(i)
	}
	start := time.Now()
	if err := s.sendEcho(to, key.id, key.seq, b); err != nil {
		return fail(err)
	}
	select {
	case at := <-answer:
		return at.Sub(start), nil
	case <-ctx.Done():
		return fail(ctx.Err())
	case <-s.dealer.done:
		return fail(s.dealer.fail)
	}
}

// sendEcho completes the header of an echo request and sends it.
func (s *Stack) sendEcho(to netip.Addr, id, seq uint16, b []byte) error {
	src, err := s.addresses.source(to)
	if err != nil {
		return err
	}
	m, protocol, sum := wire.Echo(wire.ICMPEcho, id, seq), wire.ProtocolICMP, uint16(0)
	if to.Is6() {
		m.Type, protocol = wire.ICMPv6Echo, wire.ProtocolICMPv6
		sum = wire.PseudoSum(src, to, protocol, len(b))
	}
	m.Put(b)
	wire.SealICMP(b, sum)
	return s.sendBytes(src, to, protocol, b)
}

// inputEchoReply wakes the Ping that waits for this reply. Dealer only.
func (s *Stack) inputEchoReply(from netip.Addr, m wire.ICMP) {
	if waits, ok := s.icmp.pings[pingKey{from, m.ID(), m.Seq()}]; ok {
		select {
		case waits <- time.Now():
		default: // a duplicate reply
		}
	}
}
