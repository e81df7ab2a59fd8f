package gonet

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"
)

// random returns a number that nobody outside the stack can predict: for ephemeral ports (RFC
// 6056), identifications (RFC 7739) and the like. Any goroutine.
func (s *Stack) random() uint64 { return s.sip.sum(forRandom, s.draws.Add(1)) }

// packetIDs are counters for the identification of IPv4 packets (RFC 7739 section 5.3). The ID of
// two fragmented packets to one destination must differ for as long as fragments live, so it is
// counted. One counter serves many destinations, each with a secret offset of its own: an attacker
// who receives our packets does not learn the IDs of those to others.
type packetIDs [packetCounters]atomic.Uint32

// packetCounters is the number of counters. A guess: 1 KiB.
const packetCounters = 256

// packetID returns the identification of the first of the next n IPv4 packets from src to dst. TCP
// has a counter in each connection instead. Any goroutine.
func (s *Stack) packetID(src, dst netip.Addr, n int) uint16 {
	from, to := src.As4(), dst.As4()
	pair := uint64(binary.BigEndian.Uint32(from[:]))<<32 | uint64(binary.BigEndian.Uint32(to[:]))
	h := s.sip.sum(pair, forPacketID)
	last := s.packetIDs[h%packetCounters].Add(uint32(n))
	return uint16(h>>32) + uint16(last) - uint16(n-1)
}
