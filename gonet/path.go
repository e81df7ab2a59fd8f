package gonet

import (
	"net/netip"
	"time"

	"interleave/gonet/tcp"
)

// path is what packets of IPv6 to an address have room for, once a router has said that it is less
// than our link has; connections of TCP keep that themselves.
type path struct {
	mtu   int
	until tcp.Time
}

// The bounds of what is kept: RFC 8201 section 4 has 10 minutes, after which a larger
// packet tries again.
const (
	maxPaths = 256
	pathLife = 10 * time.Minute
)

// mtuTo is the size in bytes that packets to dst may have. Any goroutine.
func (s *Stack) mtuTo(dst netip.Addr) int {
	mtu := s.mtu(dst)
	if dst.Is4() || s.narrowPaths.Load() == 0 {
		return mtu
	}
	if p, ok := s.paths.Load(dst); ok && p.(path).until > s.clock() {
		return min(mtu, p.(path).mtu)
	}
	return mtu
}

// narrow notes what packets to dst have room for. The dealer's.
func (s *Stack) narrow(dst netip.Addr, mtu int) {
	if mtu >= s.mtu(dst) {
		return
	}
	if s.narrowPaths.Load() >= maxPaths {
		s.paths.Clear()
		s.narrowPaths.Store(0)
	}
	if _, known := s.paths.Swap(dst, path{mtu, s.now.Add(pathLife)}); !known {
		s.narrowPaths.Add(1)
	}
}
