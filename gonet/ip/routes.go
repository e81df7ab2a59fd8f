package ip

import (
	"net/netip"
	"slices"
)

// Route is the next hop to a network.
type Route struct {
	Network netip.Prefix
	Via     netip.Addr // the router; invalid: the network is on the link
}

// Routes is the routing table of a host, longest prefix first. It is immutable. A host has few
// routes, so a linear search is as fast as a tree.
type Routes []Route

// NewRoutes returns the table of the given routes. If two have the same network, the first wins.
func NewRoutes(routes ...Route) Routes {
	r := slices.Clone(routes)
	for i := range r {
		r[i].Network = r[i].Network.Masked()
	}
	slices.SortStableFunc(r, func(a, b Route) int { return b.Network.Bits() - a.Network.Bits() })
	return r
}

// Lookup returns the route to an address: the one with the longest prefix that contains it.
func (r Routes) Lookup(a netip.Addr) (Route, bool) {
	for i := range r {
		if r[i].Network.Contains(a) {
			return r[i], true
		}
	}
	return Route{}, false
}

// Next returns the next hop for an address: the address itself if it is on the link, or a router.
// It returns false if there is no route.
func (r Routes) Next(a netip.Addr) (netip.Addr, bool) {
	route, ok := r.Lookup(a)
	if ok && route.Via.IsValid() {
		return route.Via, true
	}
	return a, ok
}

// Default returns the prefix of all addresses of a's family.
func Default(a netip.Addr) netip.Prefix {
	if a.Is4() {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
}
