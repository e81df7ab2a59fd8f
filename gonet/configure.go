package gonet

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"interleave/gonet/neighbour"
	"interleave/gonet/wire"
)

// Configure replaces the configured addresses and gateways, for example when a DHCP lease has
// changed. Addresses and routers that the stack has learned from router advertisements stay. A
// connection whose local address is removed ends by its own time-outs.
func (s *Stack) Configure(addresses []netip.Prefix, gateways []netip.Addr) error {
	if err := s.checkNetwork(addresses, gateways); err != nil {
		return err
	}
	addresses, gateways = slices.Clone(addresses), slices.Clone(gateways)
	return s.claim(func() { s.configure(addresses, gateways) })
}

// checkNetwork returns an error for addresses and gateways that cannot work.
func (s *Stack) checkNetwork(addresses []netip.Prefix, gateways []netip.Addr) error {
	for _, p := range addresses {
		switch a := p.Addr(); {
		case !p.IsValid() || a.Is4In6() || a.IsMulticast() || a.IsUnspecified():
			return fmt.Errorf("gonet: address %v: not a host's address with a prefix length",
				p)
		case a.Is4() && p.Bits() < 31 && (a == p.Masked().Addr() || a == broadcastOf(p)):
			return fmt.Errorf("gonet: address %v: it is that of the network, or its broadcast", p)
		case a.Is6() && s.cfg.NoIPv6:
			return fmt.Errorf("gonet: address %v: this link has no IPv6, or an MTU below %d bytes",
				p, wire.IPv6MinMTU)
		}
	}
	near := func(a netip.Addr) bool {
		return a.Is6() && a.IsLinkLocalUnicast() ||
			slices.ContainsFunc(addresses, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	for _, g := range gateways {
		if !g.IsValid() || g.Is6() && s.cfg.NoIPv6 || !near(g) {
			return fmt.Errorf("gonet: gateway %v is in no network of this stack", g)
		}
	}
	return nil
}

// useAddresses takes the configured addresses and routes into use, and starts IPv6
// autoconfiguration. It runs before the dealer does.
func (s *Stack) useAddresses() {
	s.dealer.now = s.clock()
	s.addresses.table = s.newTable()
	s.configure(s.cfg.Addresses, s.cfg.Gateways)
	if !s.cfg.NoIPv6 && !s.cfg.NoAutoconf {
		go s.solicitRouters()
	}
}

// configure takes addresses and routes into use in place of the configured ones. Dealer only.
func (s *Stack) configure(addresses []netip.Prefix, gateways []netip.Addr) {
	s.addresses.table.Configure(addresses, gateways)
	s.publish()
	// A broadcast address of the old configuration may be a neighbour's now.
	s.onNeighbours(func(c *neighbour.Cache, _ time.Time) { c.RemovePermanent() })
}
