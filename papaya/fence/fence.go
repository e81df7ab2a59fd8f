// Package fence keeps requests that users cause out of the server's own networks: users choose the
// hosts, and must not reach by the server what they cannot reach themselves (server-side request
// forgery).
//
// The fence stands where a connection is made, behind the resolution of names. So it does not
// matter what a name resolved to a moment ago (DNS rebinding), nor how an address was written.
package fence

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"interleave/papaya/proxy"
)

// A Fence says to which addresses requests may go. The zero value lets them go to the Internet
// only.
type Fence struct {
	Open    proxy.Networks // requests may go there, too, such as to a service at home
	Setting string         // the setting that has Open, for errors: "push.networks"
	// Ports are those on which the server itself listens. Requests to them at an address of this
	// machine are refused, even if Open has the address.
	Ports []uint16
}

// An Error is that of a request that the fence has refused.
type Error struct{ Setting string }

func (e *Error) Error() string {
	return fmt.Sprintf("the address is of a network that requests are kept out of (%s)", e.Setting)
}

// closed4 are networks of IPv4 that are not of the Internet, or lead into others. Those that
// package netip knows are missing.
var closed4 = proxy.Networks{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),    // RFC 6598; a cloud has its metadata there
	netip.MustParsePrefix("168.63.129.16/32"), // the metadata of another cloud
	netip.MustParsePrefix("192.0.0.0/24"),     // RFC 6890; the metadata of a third one
	netip.MustParsePrefix("192.0.2.0/24"),     // documentation, RFC 5737
	netip.MustParsePrefix("192.88.99.0/24"),   // relays of 6to4, RFC 7526
	netip.MustParsePrefix("198.18.0.0/15"),    // RFC 2544
	netip.MustParsePrefix("198.51.100.0/24"),  // documentation
	netip.MustParsePrefix("203.0.113.0/24"),   // documentation
	netip.MustParsePrefix("240.0.0.0/4"),
}

var (
	// global6 has all addresses of IPv6 that are assigned to the Internet (RFC 4291, section 2.4).
	// Outside are loopback, link-local, unique local and multicast addresses, and those that have
	// one of IPv4 in them: compatible, mapped and translated.
	global6 = netip.MustParsePrefix("2000::/3")
	closed6 = proxy.Networks{
		netip.MustParsePrefix("2001::/23"),     // protocols, as Teredo: RFC 2928
		netip.MustParsePrefix("2001:db8::/32"), // documentation, RFC 3849
		netip.MustParsePrefix("2002::/16"),     // 6to4, which has an address of IPv4 in it
		netip.MustParsePrefix("3fff::/20"),     // documentation, RFC 9637
	}
	// nat64 has addresses of IPv4 in its last 32 bits (RFC 6052). In a network without IPv4 the
	// whole Internet of IPv4 is there.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

// Admits says whether requests may go to an address.
func (f Fence) Admits(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if f.Open.Contains(a) {
		return true
	}
	return isGlobal(a) && !isNear(a)
}

// isGlobal says whether an address is one of the Internet.
func isGlobal(a netip.Addr) bool {
	switch {
	case nat64.Contains(a):
		b := a.As16()
		return isGlobal(netip.AddrFrom4([4]byte(b[12:])))
	case a.Is6():
		return global6.Contains(a) && !closed6.Contains(a)
	}
	return a.IsGlobalUnicast() && !a.IsPrivate() && !closed4.Contains(a)
}

// isNear says whether an address is of a network of this machine. If that is not known, it is.
func isNear(a netip.Addr) bool {
	return atInterface(func(n *net.IPNet) bool { return n.Contains(a.AsSlice()) })
}

// isOwn says whether an address is one of this machine. If that is not known, it is.
func isOwn(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return a.IsLoopback() || a.IsUnspecified() ||
		atInterface(func(n *net.IPNet) bool { return n.IP.Equal(a.AsSlice()) })
}

func atInterface(is func(*net.IPNet) bool) bool {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(list, func(one net.Addr) bool {
		n, ok := one.(*net.IPNet)
		return ok && is(n)
	})
}

// Control is for net.Dialer: it sees each address that a name leads to, at the moment of the
// connection.
func (f Fence) Control(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !f.Admits(a.Addr()) || slices.Contains(f.Ports, a.Port()) && isOwn(a.Addr()) {
		return &Error{f.Setting}
	}
	return nil
}
