package gonet

import (
	"net/netip"
	"time"

	"interleave/gonet/wire"
)

// The number of router solicitations and the time between two (RFC 4861 section 10).
const (
	solicitTimes    = 3
	solicitInterval = 4 * time.Second
)

// solicitRouters is the goroutine that sends router solicitations, until a router has answered.
func (s *Stack) solicitRouters() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for range solicitTimes {
		select {
		case <-timer.C:
		case <-s.addresses.advertised:
			return
		case <-s.dealer.done:
			return
		}
		var b [16]byte
		src, mac := netip.IPv6Unspecified(), (*wire.MAC)(nil)
		a, err := s.addresses.source(allRouters)
		if err == nil && !s.addresses.current().isOptimistic(a) {
			src, mac = a, &s.link.mac // not from an optimistic address (RFC 4429 section 3.2)
		}
		if s.link.features.L3 {
			mac = nil
		}
		s.sendND(wire.MulticastMAC(allRouters), src, allRouters,
			b[:wire.PutRouterSolicit(b[:], mac)])
		timer.Reset(solicitInterval)
	}
}

// inputRouter processes a router advertisement (RFC 4861 section 6.3.4). Dealer only.
func (s *Stack) inputRouter(p *packet, m wire.ICMP, body []byte) {
	r, err := wire.ParseRouterAdvert(m, body)
	if err != nil || !p.src.IsLinkLocalUnicast() || r.MAC.IsGroup() {
		s.stats.malformed.Add(1)
		return
	}
	if s.cfg.NoAutoconf {
		s.stats.foreign.Add(1)
		return
	}
	if !s.addresses.routerFound {
		s.addresses.routerFound = true
		close(s.addresses.advertised)
	}
	s.addresses.table.Advertise(p.src, &r, time.Now())
	s.publish()
	if r.HasMAC && r.Lifetime > 0 && !s.link.features.L3 {
		s.learnNeighbour(p.src, r.MAC)
	}
}

// removeRouter removes a neighbour that is no router any more. Dealer only.
func (s *Stack) removeRouter(a netip.Addr) {
	if s.addresses.table.RemoveRouter(a) {
		s.publish()
	}
}

// avoidRouter prefers another router to one that does not answer. Dealer only.
func (s *Stack) avoidRouter(a netip.Addr) {
	if s.addresses.table.AvoidRouter(a) {
		s.publish()
	}
}
