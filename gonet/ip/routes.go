package ip

import (
	"net/netip"
	"slices"
)

// Route says where packets to a network go first.
type Route struct {
	Network netip.Prefix
	Via     netip.Addr // a router; invalid: the network is on the link
}

// Routes are the ways of a host, those of the longest prefix first. They are not changed once they
// are made; a host has few, so that a walk is as fast as a tree.
type Routes []Route

// NewRoutes puts routes in order. Of two to one network the first given wins.
func NewRoutes(routes ...Route) Routes {
	r := slices.Clone(routes)
	for i := range r {
		r[i].Network = r[i].Network.Masked()
	}
	slices.SortStableFunc(r, func(a, b Route) int { return b.Network.Bits() - a.Network.Bits() })
	return r
}

// Lookup finds the way to an address: the route of the longest prefix that has it.
func (r Routes) Lookup(a netip.Addr) (Route, bool) {
	for i := range r {
		if r[i].Network.Contains(a) {
			return r[i], true
		}
	}
	return Route{}, false
}

// Next is who gets a packet to an address: itself, if it is on the link, or a router; false if
// there is no way.
func (r Routes) Next(a netip.Addr) (netip.Addr, bool) {
	route, ok := r.Lookup(a)
	if ok && route.Via.IsValid() {
		return route.Via, true
	}
	return a, ok
}

// Default is the network of all addresses of a's family.
func Default(a netip.Addr) netip.Prefix {
	if a.Is4() {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
}
