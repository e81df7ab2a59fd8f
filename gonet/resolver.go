package gonet

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
)

// errNoServers is the error of a resolver without servers.
var errNoServers = errors.New("no DNS server is configured")

// Resolver returns Go's own DNS resolver with its queries sent through the stack. It asks the given
// servers in turn, at port 53 where none is given. Without servers it asks those that IPv6 routers
// advertise. Time-outs, search domains and the order of /etc/hosts and DNS follow the system's
// configuration.
func (s *Stack) Resolver(servers ...netip.AddrPort) *net.Resolver {
	var queries atomic.Uint32
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context,
		network, _ string) (net.Conn, error) {
		list := servers
		if len(list) == 0 {
			for _, a := range s.Resolvers() {
				list = append(list, netip.AddrPortFrom(a, 0))
			}
		}
		if len(list) == 0 {
			return nil, errNoServers
		}
		to := list[(queries.Add(1)-1)%uint32(len(list))]
		if to.Port() == 0 {
			to = netip.AddrPortFrom(to.Addr(), 53)
		}
		return s.DialContext(ctx, network, to.String())
	}}
}
