// Package gonethost makes hosts with GoNet on a link in memory.
package gonethost

import (
	"context"
	"net"
	"net/netip"
	"strconv"

	"interleave/gonet"
	"interleave/gonet/beside/host"
	"interleave/gonet/link"
)

// Pair makes two hosts, of IPv4 and IPv6, that are joined by a link in memory.
func Pair() (near, far host.Host, err error) {
	a, b := link.Pair(link.L3(), link.MTU(host.MTU))
	if near, err = newHost(a, host.Near); err != nil {
		return near, far, err
	}
	far, err = newHost(b, host.Far)
	return near, far, err
}

func newHost(l link.Link, addr netip.Addr) (host.Host, error) {
	s, err := gonet.New(gonet.Config{Link: l, NoAutoconf: true,
		Addresses: []netip.Prefix{netip.PrefixFrom(addr, host.Bits)}})
	if err != nil {
		return host.Host{}, err
	}
	return host.Host{
		Addr: addr,
		Listen: func(port uint16) (net.Listener, error) {
			return host.Listener(s.Listen("tcp4", ":"+strconv.Itoa(int(port))))
		},
		Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			return s.DialContext(ctx, "tcp4", to.String())
		},
	}, nil
}
