package gonet

import (
	"net/netip"
	"time"

	"interleave/gonet/tcp"
)

// pathMTU is the path MTU to an IPv6 destination, once a router has reported one below the MTU of
// our link: what RFC 4861 keeps in the destination cache. TCP connections keep their own.
type pathMTU struct {
	mtu   int
	until tcp.Time
}

// The bounds of the table. After 10 minutes a larger packet is tried again (RFC 8201 section 4).
const (
	maxPathMTUs     = 256
	pathMTULifetime = 10 * time.Minute
)

// mtuTo returns the largest size of packets to dst, in bytes. Any goroutine.
func (s *Stack) mtuTo(dst netip.Addr) int {
	mtu := s.mtu(dst)
	if dst.Is4() || s.pathMTUCount.Load() == 0 {
		return mtu
	}
	if p, ok := s.pathMTUs.Load(dst); ok && p.(pathMTU).until > s.clock() {
		return min(mtu, p.(pathMTU).mtu)
	}
	return mtu
}

// notePathMTU stores the path MTU to dst. Dealer only.
func (s *Stack) notePathMTU(dst netip.Addr, mtu int) {
	if mtu >= s.mtu(dst) {
		return
	}
	if s.pathMTUCount.Load() >= maxPathMTUs {
		s.pathMTUs.Clear()
		s.pathMTUCount.Store(0)
	}
	if _, known := s.pathMTUs.Swap(dst, pathMTU{mtu, s.now.Add(pathMTULifetime)}); !known {
		s.pathMTUCount.Add(1)
	}
}
