// Package random makes the numbers of a stack that nobody outside may predict: ephemeral ports (RFC
// 6056), initial sequence numbers (RFC 6528), identifications of packets (RFC 7739), SYN cookies.
// All of them are hashes under one secret key.
package random

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"
)

// Source has the key, and the counters. Any goroutine may call its methods. New makes one.
type Source struct {
	key   sipKey
	draws atomic.Uint64 // how many numbers were drawn
	// packetIDs are counters for the identification of IPv4 packets (RFC 7739 section 5.3). The ID
	// of two fragmented packets to one destination must differ for as long as fragments live, so it
	// is counted. One counter serves many destinations, each with a secret offset of its own: an
	// attacker who receives our packets does not learn the IDs of those to others.
	packetIDs [packetCounters]atomic.Uint32
}

// packetCounters is the number of counters. A guess: 1 KiB.
const packetCounters = 256

// Purpose keeps the numbers for one use from those for another: for one input, each purpose gives
// an unrelated number.
type Purpose uint64

// The purposes.
const (
	ForConnection Purpose = iota // the initial sequence number and the clock of a connection
	ForCookie                    // a SYN cookie
	forDraw
	forPacketID
	ForSharing // which one of those that share a port gets a flow
)

// SetKey sets the key, once and before the first call of another method.
func (s *Source) SetKey(secret [16]byte) { s.key = makeSIPKey(secret) }

// Uint64 draws a number.
func (s *Source) Uint64() uint64 { return s.key.sum(uint64(forDraw), s.draws.Add(1)) }

// PacketID returns the identification of the first of the next n IPv4 packets from src to dst.
func (s *Source) PacketID(src, dst netip.Addr, n int) uint16 {
	from, to := src.As4(), dst.As4()
	pair := uint64(binary.BigEndian.Uint32(from[:]))<<32 | uint64(binary.BigEndian.Uint32(to[:]))
	h := s.key.sum(pair, uint64(forPacketID))
	last := s.packetIDs[h%packetCounters].Add(uint32(n))
	return uint16(h>>32) + uint16(last) - uint16(n-1)
}

// Hash returns a number that depends on the two addresses of a flow in 16 bytes each, on its ports,
// on the purpose, and on more.
func (s *Source) Hash(local, remote *[16]byte, ports uint32, purpose Purpose, more uint64) uint64 {
	word := binary.LittleEndian.Uint64
	return s.key.sum(word(local[:]), word(local[8:]), word(remote[:]), word(remote[8:]),
		uint64(ports), uint64(purpose), more)
}
