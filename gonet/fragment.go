package gonet

import (
	"bytes"
	"net/netip"
	"time"

	"interleave/gonet/ip"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// partKey is what the fragments of one datagram have in common (RFC 791 section 3.2, RFC
// 8200 section 4.5).
type partKey struct {
	src, dst netip.Addr
	protocol wire.Protocol // of IPv4
	id       uint32
}

// assembler is a goroutine for each datagram that arrives in fragments, as the paper has it: it
// alone has the pieces, hears of more over a channel, gives the whole back to the dealer as a
// claim, and ends then or after a while. The dealer bounds their number: who sends one piece
// each of many datagrams must not keep out those of others for long, so the oldest makes room
// for the newest.
type assembler struct {
	pieces chan fragment // closed when others need the place, or the stack has ended
	born   tcp.Time
}

// fragment is a piece of a datagram.
type fragment struct {
	offset int
	body   []byte
	more   bool
	next   wire.Protocol // what the datagram starts with; that of the first piece counts
}

// The bounds of reassembly. RFC 1122 section 3.3.2 has 60 to 120 s; Linux takes 30, and so do we,
// as what is not whole by then was lost. At most 64 KiB for each of 64 datagrams: 4 MiB.
const (
	maxAssemblers = 64
	assemblyTime  = 30 * time.Second
	// fragments that wait for the goroutine: a datagram of 64 KiB over Ethernet is 45
	assemblerBuffer = 64
)

// inputFragment hands a fragment, with its header of IP, to the goroutine of its datagram. What is
// full drops. The dealer's.
func (s *Stack) inputFragment(key partKey, header []byte, f fragment) {
	a := s.parts[key]
	if a == nil {
		if len(s.parts) >= maxAssemblers {
			s.dropOldest()
		}
		a = &assembler{make(chan fragment, assemblerBuffer), s.now}
		s.parts[key] = a
		go s.assemble(key, a, bytes.Clone(header))
	}
	f.body = bytes.Clone(f.body)
	select {
	case a.pieces <- f:
	default:
		s.stats.droppedFragments.Add(1)
	}
}

// dropOldest makes room among the datagrams that are not whole. The dealer's.
func (s *Stack) dropOldest() {
	var oldest partKey
	born := forever
	for key, a := range s.parts {
		if a.born < born {
			oldest, born = key, a.born
		}
	}
	s.stats.droppedFragments.Add(1)
	close(s.parts[oldest].pieces)
	delete(s.parts, oldest)
}

// assemble is the goroutine of one datagram.
func (s *Stack) assemble(key partKey, a *assembler, header []byte) {
	timer := time.NewTimer(assemblyTime)
	defer timer.Stop()
	r := ip.NewReassembly()
	var first *fragment
	for {
		select {
		case <-timer.C:
			s.stats.droppedFragments.Add(1)
			s.forget(key, a, func() { s.late(key, header, first) })
			return
		case f, open := <-a.pieces:
			if !open {
				return
			}
			if f.offset == 0 && first == nil {
				first = &f
			}
			whole, err := r.Add(f.offset, f.body, f.more)
			if err == nil && whole == nil {
				continue
			}
			if err != nil {
				s.stats.malformed.Add(1)
				swallow(a.pieces, timer.C)
				s.forget(key, a, func() {})
				return
			}
			s.forget(key, a, func() { s.rejoined(key, header, first.next, whole) })
			return
		}
	}
}

// swallow takes the rest of a bad datagram until its time is over, so that none of it
// begins another.
func swallow(pieces <-chan fragment, end <-chan time.Time) {
	for {
		select {
		case _, open := <-pieces:
			if !open {
				return
			}
		case <-end:
			return
		}
	}
}

// forget ends a datagram, and has the dealer do what is to be done with it.
func (s *Stack) forget(key partKey, a *assembler, then func()) {
	_ = s.post(func() { // a stack that has ended has forgotten
		if s.parts[key] == a {
			delete(s.parts, key)
		}
		then()
	})
}

// part is the packet that pieces are of.
func (s *Stack) part(key partKey, header, body []byte) *packet {
	return &packet{
		src: key.src, dst: key.dst, group: s.isBroadcast(key.dst) ||
			key.dst.IsMulticast(), pieces: true, header: header, body: body,
	}
}

// rejoined runs a datagram through the layers above. The dealer's.
func (s *Stack) rejoined(key partKey, header []byte, next wire.Protocol, whole []byte) {
	if key.src.Is4() {
		s.inputTransport(key.protocol, s.part(key, header, whole))
		return
	}
	s.inputChain(next, s.part(key, unfragmented(header, next, len(whole)), whole))
}

// late tells the sender of a datagram that it did not become whole, if its beginning has come (RFC
// 1122 section 3.3.2, RFC 8200 section 4.5). The dealer's.
func (s *Stack) late(key partKey, header []byte, first *fragment) {
	switch {
	case first == nil:
	case key.src.Is4():
		s.complain(s.part(key, header, first.body), complaint{kind: wire.ICMPTimeExceeded,
			code: wire.ExceededReassembly})
	default:
		header = unfragmented(header, first.next, len(first.body))
		s.complain(s.part(key, header, first.body), complaint{kind: wire.ICMPv6TimeExceeded,
			code: wire.ExceededReassembly})
	}
}
