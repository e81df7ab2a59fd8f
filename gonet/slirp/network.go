package slirp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// Network has the addresses of the virtual network between the guest and its gateway. Addr and
// prefix fields of a family that is off are invalid.
type Network struct {
	Prefix  netip.Prefix
	Gateway netip.Addr // also the host's loopback, unless Config.NoHostLoopback
	DNS     netip.Addr // the DNS forwarder
	Guest   netip.Addr // the address of a guest that is configured without DHCP

	Prefix6                netip.Prefix
	Gateway6, DNS6, Guest6 netip.Addr
	// Router6 is the link-local address from which the gateway advertises itself.
	Router6 netip.Addr
}

// The places of addresses in a network, and those of IPv6, which are slirp4netns's. The longest
// prefix leaves room for the guest's place.
const (
	placeGateway  = 2
	placeDNS      = 3
	placeLeases   = 15
	placeGuest    = 100
	longestPrefix = 25 // in bits
)

var (
	prefix6  = netip.MustParsePrefix("fd00::/64")
	gateway6 = netip.MustParseAddr("fd00::2")
	dns6     = netip.MustParseAddr("fd00::3")
	guest6   = netip.MustParseAddr("fd00::100")
	router6  = netip.MustParseAddr("fe80::2")
)

// NewNetwork lays out a network as slirp4netns does: in 10.0.2.0/24 the gateway is 10.0.2.2, the
// DNS forwarder 10.0.2.3, and the guest 10.0.2.100, or one from 10.0.2.15 on if it asks by DHCP.
// With ipv6 there is fd00::/64, too.
func NewNetwork(prefix netip.Prefix, ipv6 bool) (Network, error) {
	switch {
	case !prefix.IsValid() || !prefix.Addr().Is4() || prefix != prefix.Masked():
		return Network{}, fmt.Errorf("network %v: not one of IPv4, as 10.0.2.0/24", prefix)
	case prefix.Bits() < 1 || prefix.Bits() > longestPrefix:
		return Network{}, fmt.Errorf("network %v: a prefix of %d bits; from 1 to %d are possible",
			prefix, prefix.Bits(), longestPrefix)
	case !isOutside(prefix.Addr()) || !isOutside(lastOf(prefix)):
		return Network{}, fmt.Errorf("network %v: its addresses are reserved", prefix)
	}
	n := Network{Prefix: prefix, Gateway: place(prefix, placeGateway), DNS: place(prefix, placeDNS),
		Guest: place(prefix, placeGuest)}
	if ipv6 {
		n.Prefix6, n.Gateway6, n.DNS6 = prefix6, gateway6, dns6
		n.Guest6, n.Router6 = guest6, router6
	}
	return n, nil
}

// place returns the n-th address of a network of IPv4.
func place(prefix netip.Prefix, n uint32) netip.Addr {
	first := prefix.Addr().As4()
	return addr4(binary.BigEndian.Uint32(first[:]) + n)
}

func addr4(n uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	return netip.AddrFrom4(b)
}

// lastOf returns the last address of a network of IPv4, its broadcast.
func lastOf(prefix netip.Prefix) netip.Addr {
	return place(prefix, 1<<(32-prefix.Bits())-1)
}

// isGuest tells whether a guest may have an address: one of the network that is neither the
// gateway's nor the forwarder's.
func (n *Network) isGuest(a netip.Addr) bool {
	if a.Is4() {
		return n.Prefix.Contains(a) && a != n.Gateway && a != n.DNS && a != n.Prefix.Addr() &&
			a != lastOf(n.Prefix)
	}
	return n.has6() && n.Prefix6.Contains(a) && a != n.Gateway6 && a != n.DNS6 &&
		a != n.Prefix6.Addr()
}

// contains tells whether an address is in the network.
func (n *Network) contains(a netip.Addr) bool {
	return n.Prefix.Contains(a) || n.has6() && n.Prefix6.Contains(a)
}

// isGateway tells whether an address is the gateway's, which stands for the host.
func (n *Network) isGateway(a netip.Addr) bool {
	return a == n.Gateway || n.has6() && a == n.Gateway6
}

// has6 tells whether there is IPv6.
func (n *Network) has6() bool { return n.Prefix6.IsValid() }

// isOutside tells whether an address can be that of a host behind a gateway: no group, broadcast,
// loopback or link-local address, and none of "this network" or of the reserved class E (RFC 1122
// section 3.2.1.3, RFC 4291 section 2.5). The stack forwards to no other either.
func isOutside(a netip.Addr) bool {
	if a.Is4() {
		if first := a.As4()[0]; first == 0 || first >= 240 {
			return false
		}
	}
	return a.IsGlobalUnicast() && !a.Is4In6()
}
