package ip

import (
	"math/bits"
	"net/netip"
)

// Address is an address of the host.
type Address struct {
	netip.Prefix // the address with its prefix length
	// Deprecated: not preferred for new connections, because it is deprecated or still optimistic
	// (RFC 4429 section 2.1).
	Deprecated bool
}

// Source selects the source address for packets to dst, whose next hop is next. It applies the
// rules of RFC 6724 section 5 that matter on one link without mobility and temporary addresses, to
// IPv4 too. It returns false if the host has no address of the family.
func Source(dst, next netip.Addr, ours []Address) (netip.Addr, bool) {
	var best *Address
	for i := range ours {
		a := &ours[i]
		if a.Addr().Is4() == dst.Is4() && (best == nil || better(a, best, dst, next)) {
			best = a
		}
	}
	if best == nil {
		return netip.Addr{}, false
	}
	return best.Addr(), true
}

// better tells whether a is a better source than b, which comes first in the host's list.
func better(a, b *Address, dst, next netip.Addr) bool {
	x, y := a.Addr(), b.Addr()
	if x == dst || y == dst { // rule 1
		return x == dst
	}
	if s, t, d := scope(x), scope(y), scope(dst); s != t { // rule 2
		if s < t {
			return s >= d
		}
		return t < d
	}
	if a.Deprecated != b.Deprecated { // rule 3
		return b.Deprecated
	}
	// rule 5.5, with the prefix that contains the next hop
	if s, t := a.Contains(next), b.Contains(next); s != t {
		return s
	}
	if s, t, d := label(x), label(y), label(dst); (s == d) != (t == d) { // rule 6
		return s == d
	}
	return common(a, dst) > common(b, dst) // rule 8
}

// The scopes of RFC 4291 section 2.7. A unicast address has link-local or global scope.
const (
	scopeLink   = 2
	scopeGlobal = 14
)

func scope(a netip.Addr) int {
	switch {
	case a.Is6() && a.IsMulticast():
		return int(a.As16()[1] & 15)
	case a.IsLinkLocalUnicast(), a.IsLoopback(), a.IsLinkLocalMulticast():
		return scopeLink
	}
	return scopeGlobal
}

// labels is the policy table of RFC 6724 section 2.1, without the obsolete prefixes.
var labels = []struct {
	network netip.Prefix
	label   int
}{
	{netip.MustParsePrefix("::1/128"), 0},
	{netip.MustParsePrefix("2002::/16"), 2},
	{netip.MustParsePrefix("2001::/32"), 5},
	{netip.MustParsePrefix("fc00::/7"), 13},
}

func label(a netip.Addr) int {
	for _, l := range labels {
		if l.network.Contains(a) {
			return l.label
		}
	}
	return 1
}

// common returns the length of the longest prefix that a and dst have in common, at most that of
// a's network.
func common(a *Address, dst netip.Addr) int {
	x, y := a.Addr().As16(), dst.As16()
	n := 0
	for i := range x {
		if x[i] != y[i] {
			n += bits.LeadingZeros8(x[i] ^ y[i])
			break
		}
		n += 8
	}
	if dst.Is4() {
		n -= 96
	}
	return min(n, a.Bits())
}
