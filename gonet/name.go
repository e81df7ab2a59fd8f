package gonet

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// parse reads an address of package net: "host:port" with an address or nothing as the host. What
// is for any address has the unspecified one of its family, or an invalid one for both.
func (s *Stack) parse(network, want, address string) (netip.AddrPort, error) {
	family, ok := strings.CutPrefix(network, want)
	if !ok || family != "" && family != "4" && family != "6" {
		return netip.AddrPort{}, net.UnknownNetworkError(network)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return netip.AddrPort{}, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return netip.AddrPort{}, &net.AddrError{Err: "invalid port", Addr: address}
	}
	var a netip.Addr
	if host != "" {
		if a, err = netip.ParseAddr(host); err != nil {
			return netip.AddrPort{}, &net.AddrError{Err: "not an address: names are the resolver's",
				Addr: address}
		}
		a = a.Unmap().WithZone("") // there is one link
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

// parseOurs is parse for an address to listen at. As package net has it, the unspecified address of
// a family is that of both if the network is.
func (s *Stack) parseOurs(network, want, address string) (netip.AddrPort, error) {
	at, err := s.parse(network, want, address)
	if a := at.Addr(); err == nil && a.IsValid() {
		switch {
		case a.IsUnspecified() && network == want:
			at = netip.AddrPortFrom(netip.Addr{}, at.Port())
		case !a.IsUnspecified() && !s.isOurs(a) && !s.isBroadcast(a):
			err = errNotOurs
		}
	}
	return at, err
}

// shown is how an address for both families is written.
func shown(a netip.AddrPort) netip.AddrPort {
	if a.Addr().IsValid() {
		return a
	}
	return netip.AddrPortFrom(netip.IPv6Unspecified(), a.Port())
}

func tcpAddr(a netip.AddrPort) net.Addr { return net.TCPAddrFromAddrPort(shown(a)) }

// anyOf is any address of a's family, and the port of a.
func anyOf(a netip.AddrPort) netip.AddrPort {
	if a.Addr().Is4() {
		return netip.AddrPortFrom(netip.IPv4Unspecified(), a.Port())
	}
	return netip.AddrPortFrom(netip.IPv6Unspecified(), a.Port())
}

// anyAt is any address of both families.
func anyAt(port uint16) netip.AddrPort { return netip.AddrPortFrom(netip.Addr{}, port) }

// owner is who has what is sent to a: by its address, for any of its family, or for any.
func owner[T any](all map[netip.AddrPort]*T, a netip.AddrPort) *T {
	if x := all[a]; x != nil {
		return x
	}
	if x := all[anyOf(a)]; x != nil {
		return x
	}
	return all[anyAt(a.Port())]
}

// isFree tells whether a is nobody's: any address of both families meets that of each.
func isFree[T any](all map[netip.AddrPort]*T, a netip.AddrPort) bool {
	switch {
	case all[a] != nil:
		return false
	case !a.Addr().IsValid():
		return all[netip.AddrPortFrom(netip.IPv4Unspecified(), a.Port())] == nil &&
			all[netip.AddrPortFrom(netip.IPv6Unspecified(), a.Port())] == nil
	case a.Addr().IsUnspecified():
		return all[anyAt(a.Port())] == nil
	}
	return true
}
