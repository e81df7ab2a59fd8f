package gonet

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"
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

// Resolver looks up the addresses of a name, as a *net.Resolver does. network is "ip", "ip4" or
// "ip6".
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Dialer connects to names. Its DialContext fits http.Transport and the like.
type Dialer struct {
	Stack    *Stack
	Resolver Resolver // nil: only addresses can be dialed
	// LocalAddr is the address and port to dial from, as of net.Dialer: a *net.TCPAddr or a
	// *net.UDPAddr. Without an address the route selects it, and a port of 0 is a free one.
	LocalAddr net.Addr
}

// leastTry is the least time that each address of a name gets to answer, if the context's deadline
// allows it. It is that of package net.
const leastTry = 2 * time.Second

// DialContext connects as net.Dialer's does. It tries the addresses of a name one after the other;
// each gets its share of the time until the context's deadline.
func (d Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	if _, err := netip.ParseAddr(host); err == nil || host == "" || d.Resolver == nil ||
		isLocalhost(host) {
		return d.Stack.dialFrom(ctx, network, d.LocalAddr, address)
	}
	family := "ip"
	if strings.HasSuffix(network, "4") || strings.HasSuffix(network, "6") {
		family += network[len(network)-1:]
	}
	addresses, err := d.Resolver.LookupNetIP(ctx, family, host)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	var first error
	for i, a := range addresses {
		c, err := d.try(ctx, network, net.JoinHostPort(a.Unmap().String(), port), len(addresses)-i)
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// try dials one address, with the among-th part of the remaining time.
func (d Dialer) try(ctx context.Context, network, address string, among int) (net.Conn, error) {
	if end, ok := ctx.Deadline(); ok && among > 1 {
		share, cancel := context.WithTimeout(ctx, max(time.Until(end)/time.Duration(among),
			leastTry))
		defer cancel()
		ctx = share
	}
	return d.Stack.dialFrom(ctx, network, d.LocalAddr, address)
}
