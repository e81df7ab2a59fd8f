package gonet

import (
	"context"
	"net"
	"net/netip"
	"strings"
)

// services finds the ports of services by name, in this machine's list. It asks nobody.
var services = net.Resolver{PreferGo: true}

// parse parses an address in the form of package net: "host:port", where host is an address or
// empty. For an empty host the result has the unspecified address of the family, or an invalid one
// for both families.
func (s *Stack) parse(network, want, address string) (netip.AddrPort, error) {
	family, ok := strings.CutPrefix(network, want)
	if !ok || family != "" && family != "4" && family != "6" {
		return netip.AddrPort{}, net.UnknownNetworkError(network)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return netip.AddrPort{}, err
	}
	number, err := services.LookupPort(context.Background(), network, port)
	if err != nil {
		return netip.AddrPort{}, &net.AddrError{Err: "invalid port", Addr: address}
	}
	var a netip.Addr
	switch {
	case isLocalhost(host) && family == "6":
		a = netip.IPv6Loopback()
	case isLocalhost(host):
		a = loopbackAddr
	case host != "":
		if a, err = netip.ParseAddr(host); err != nil {
			return netip.AddrPort{}, &net.AddrError{Err: "not an address: names need a Resolver",
				Addr: address}
		}
		a = a.Unmap().WithZone("") // a zone has no meaning on a stack with one link
	}
	switch {
	case !a.IsValid() && family == "4":
		a = netip.IPv4Unspecified()
	case !a.IsValid() && family == "6":
		a = netip.IPv6Unspecified()
	case a.IsValid() && (family == "4" && !a.Is4() || family == "6" && !a.Is6()):
		return netip.AddrPort{}, &net.AddrError{Err: "not an address of IPv" + family,
			Addr: address}
	}
	return netip.AddrPortFrom(a, uint16(number)), nil
}

// isLocalhost tells whether a name is that of the stack itself, which is never asked of a DNS
// server (RFC 6761 section 6.3).
func isLocalhost(name string) bool {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// parseOurs parses an address to listen at. As in package net, an unspecified address means both
// families unless network names one.
func (s *Stack) parseOurs(network, want, address string) (netip.AddrPort, error) {
	at, err := s.parse(network, want, address)
	if a := at.Addr(); err == nil && a.IsValid() {
		switch {
		case a.IsUnspecified() && network == want:
			at = netip.AddrPortFrom(netip.Addr{}, at.Port())
		case !a.IsUnspecified() && !s.addresses.isOurs(a) && !s.addresses.isBroadcast(a) &&
			!s.forward.takes(a):
			err = errNotOurs
		}
	}
	return at, err
}

// displayed returns the form in which an address for both families is shown: [::].
func displayed(a netip.AddrPort) netip.AddrPort {
	if a.Addr().IsValid() {
		return a
	}
	return netip.AddrPortFrom(netip.IPv6Unspecified(), a.Port())
}

func tcpAddr(a netip.AddrPort) net.Addr { return net.TCPAddrFromAddrPort(displayed(a)) }

// addrOf returns the address of a dial, nil if it could not be read.
func addrOf(kind string, a netip.AddrPort) net.Addr {
	switch {
	case a == netip.AddrPort{}:
		return nil
	case kind == "udp":
		return udpAddr(a)
	}
	return tcpAddr(a)
}
