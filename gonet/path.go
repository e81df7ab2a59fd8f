package gonet

import (
	"net/netip"
	"time"

	"interleave/gonet/tcp"
)

// path is the path MTU to an IPv6 destination, once a router has reported one below the MTU of our
// link. TCP connections keep their own.
type path struct {
	mtu   int
	until tcp.Time
}

// The bounds of the table. After 10 minutes a larger packet is tried again (RFC 8201 section 4).
const (
	maxPaths = 256
	pathLife = 10 * time.Minute
)

// mtuTo returns the largest size of packets to dst, in bytes. Any goroutine.
func (s *Stack) mtuTo(dst netip.Addr) int {
	mtu := s.mtu(dst)
	if dst.Is4() || s.pathCount.Load() == 0 {
		return mtu
	}
	if p, ok := s.paths.Load(dst); ok && p.(path).until > s.clock() {
		return min(mtu, p.(path).mtu)
	}
	return mtu
}

// notePathMTU stores the path MTU to dst. Dealer only.
func (s *Stack) notePathMTU(dst netip.Addr, mtu int) {
	if mtu >= s.mtu(dst) {
		return
	}
	if s.pathCount.Load() >= maxPaths {
		s.paths.Clear()
		s.pathCount.Store(0)
	}
	if _, known := s.paths.Swap(dst, path{mtu, s.now.Add(pathLife)}); !known {
		s.pathCount.Add(1)
	}
}
