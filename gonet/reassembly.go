package gonet

import (
	"bytes"
	"encoding/binary"
	"math"
	"net/netip"
	"time"

	"interleave/gonet/ip"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// fragmentKey is what the fragments of one datagram have in common (RFC 791 section 3.2, RFC 8200
// section 4.5).
type fragmentKey struct {
	src, dst netip.Addr
	protocol wire.Protocol // IPv4 only
	id       uint32
}

// reassembler reassembles one datagram in a goroutine of its own, as in the paper. The goroutine
// owns the fragments, receives further ones over the channel, hands the whole datagram to the
// dealer as a claim, and ends then or after reassemblyTimeout. The dealer bounds the number of
// reassemblers: the newest datagram evicts the oldest, so that a sender of single fragments cannot
// block the others for long.
type reassembler struct {
	fragments chan fragment // closed on eviction, or when the stack has ended
	started   tcp.Time
}

// fragment is one fragment of a datagram.
type fragment struct {
	offset int
	body   []byte
	more   bool
	next   wire.Protocol // the protocol that the fragment header names; that of offset 0 counts
}

// The bounds of reassembly. RFC 1122 section 3.3.2 asks for 60 to 120 s. Linux takes 30 s, and so
// does this stack: a fragment that has not arrived by then was lost. With 64 KiB for each of 64
// datagrams the memory is bounded by 4 MiB.
const (
	maxReassemblies   = 64
	reassemblyTimeout = 30 * time.Second
	// fragmentBuffer bounds the fragments that wait for the goroutine: a datagram of 64 KiB over
	// Ethernet has 45.
	fragmentBuffer = 64
)

// inputFragment hands a fragment to the goroutine of its datagram. If the goroutine's channel is
// full, the fragment is dropped. header is the fragment's IP header. Dealer only.
func (s *Stack) inputFragment(key fragmentKey, header []byte, f fragment) {
	a := s.reassemblies[key]
	if a == nil {
		if len(s.reassemblies) >= maxReassemblies {
			s.evictOldest()
		}
		a = &reassembler{make(chan fragment, fragmentBuffer), s.dealer.now}
		s.reassemblies[key] = a
		go s.reassemble(key, a, bytes.Clone(header))
	}
	f.body = bytes.Clone(f.body)
	select {
	case a.fragments <- f:
	default:
		s.stats.droppedFragments.Add(1)
	}
}

// evictOldest drops the oldest incomplete datagram. Dealer only.
func (s *Stack) evictOldest() {
	var oldest fragmentKey
	started := tcp.Time(math.MaxInt64)
	for key, a := range s.reassemblies {
		if a.started < started {
			oldest, started = key, a.started
		}
	}
	s.stats.droppedFragments.Add(1)
	close(s.reassemblies[oldest].fragments)
	delete(s.reassemblies, oldest)
}

// reassemble is the goroutine of one datagram: it ends when the datagram is whole or wrong, after
// reassemblyTimeout, or when it is evicted.
func (s *Stack) reassemble(key fragmentKey, a *reassembler, header []byte) {
	timer := time.NewTimer(reassemblyTimeout)
	defer timer.Stop()
	r := ip.NewReassembly()
	var first *fragment
	for {
		select {
		case <-timer.C:
			s.stats.droppedFragments.Add(1)
			s.endReassembly(key, a, func() { s.sendTimeExceeded(key, header, first) })
			return
		case f, open := <-a.fragments:
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
				drainFragments(a.fragments, timer.C)
				s.endReassembly(key, a, func() {})
				return
			}
			s.endReassembly(key, a, func() { s.inputDatagram(key, header, first.next, whole) })
			return
		}
	}
}

// drainFragments receives the rest of a wrong datagram until its time is over, so that a late
// fragment does not begin a new one.
func drainFragments(fragments <-chan fragment, end <-chan time.Time) {
	for {
		select {
		case _, open := <-fragments:
			if !open {
				return
			}
		case <-end:
			return
		}
	}
}

// endReassembly has the dealer remove the reassembler from its table and then run the given
// function.
func (s *Stack) endReassembly(key fragmentKey, a *reassembler, then func()) {
	_ = s.post(func() { // a stack that has ended has no reassemblies
		if s.reassemblies[key] == a {
			delete(s.reassemblies, key)
		}
		then()
	})
}

// datagramPacket returns the packet of a datagram that has arrived in fragments.
func (s *Stack) datagramPacket(key fragmentKey, header, body []byte) *packet {
	p := &packet{
		src: key.src, dst: key.dst, group: s.addresses.isBroadcast(key.dst) ||
			key.dst.IsMulticast(), reassembled: true, header: header, body: body,
	}
	p.foreign = !p.group && s.forward.takes(p.dst) && !s.addresses.isOurs(p.dst)
	return p
}

// inputDatagram runs a whole datagram through the upper layers. Dealer only.
func (s *Stack) inputDatagram(key fragmentKey, header []byte, next wire.Protocol, whole []byte) {
	if key.src.Is4() {
		s.inputTransport(key.protocol, s.datagramPacket(key, header, whole))
		return
	}
	s.inputChain(next, s.datagramPacket(key, unfragmented(header, next, len(whole)), whole))
}

// sendTimeExceeded tells the sender of a datagram that its reassembly has timed out, if the first
// fragment has arrived (RFC 1122 section 3.3.2, RFC 8200 section 4.5). Dealer only.
func (s *Stack) sendTimeExceeded(key fragmentKey, header []byte, first *fragment) {
	switch {
	case first == nil:
	case key.src.Is4():
		s.sendICMPError(s.datagramPacket(key, header, first.body),
			icmpErrorMessage{kind: wire.ICMPTimeExceeded, code: wire.ExceededReassembly})
	default:
		header = unfragmented(header, first.next, len(first.body))
		s.sendICMPError(s.datagramPacket(key, header, first.body),
			icmpErrorMessage{kind: wire.ICMPv6TimeExceeded, code: wire.ExceededReassembly})
	}
}

// unfragmented rewrites the first fragment's IPv6 header as that of the unfragmented datagram.
func unfragmented(header []byte, next wire.Protocol, length int) []byte {
	binary.BigEndian.PutUint16(header[4:], uint16(length)) //nolint:gosec // a reassembly has at most 65535
	header[6] = byte(next)
	return header
}
