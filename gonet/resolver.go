package gonet

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"

	"interleave/gonet/dns"
)

// Resolver returns a resolver that asks the given servers through the stack, the first one first,
// at port 53 where none is given. Without servers it asks those that IPv6 routers advertise. It
// knows nothing of this machine's files, which belong to another network: neither names of
// /etc/hosts nor search domains. SystemResolver does.
func (s *Stack) Resolver(servers ...netip.AddrPort) *dns.Resolver {
	return &dns.Resolver{
		Dial:    s.DialContext,
		Servers: func() []netip.AddrPort { return s.resolvers(servers) },
		Families: func() (ipv4, ipv6 bool) {
			for _, p := range s.Addresses() {
				ipv4 = ipv4 || p.Addr().Is4()
				ipv6 = ipv6 || p.Addr().Is6() && !p.Addr().IsLinkLocalUnicast()
			}
			return ipv4, ipv6
		},
	}
}

// resolvers returns the given servers, or else those that routers advertise.
func (s *Stack) resolvers(given []netip.AddrPort) []netip.AddrPort {
	if len(given) > 0 {
		return given
	}
	var all []netip.AddrPort
	for _, a := range s.Resolvers() {
		all = append(all, netip.AddrPortFrom(a, 0))
	}
	return all
}

// SystemResolver returns Go's own resolver with its queries sent through the stack, to the servers
// of Resolver, in turn. Names of /etc/hosts, search domains and time-outs are those of this
// machine's configuration: where the stack's network is another one, Resolver is the right one.
func (s *Stack) SystemResolver(servers ...netip.AddrPort) *net.Resolver {
	var queries atomic.Uint32
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context,
		network, _ string) (net.Conn, error) {
		list := s.resolvers(servers)
		if len(list) == 0 {
			return nil, dns.ErrNoServers
		}
		to := list[(queries.Add(1)-1)%uint32(len(list))]
		if to.Port() == 0 {
			to = netip.AddrPortFrom(to.Addr(), 53)
		}
		return s.DialContext(ctx, network, to.String())
	}}
}
