package demux

import (
	"net/netip"

	"interleave/gonet/internal/random"
)

// Table has what is bound to addresses and ports: the listeners of TCP, or the sockets of UDP.
// Several are bound to one address if each of them shares it (SO_REUSEPORT). An address without an
// IP address is that of a port for all addresses of both families.
type Table[B comparable] map[netip.AddrPort][]bound[B]

type bound[B comparable] struct {
	b       B
	sharing Sharing
}

// Sharing says whether an address is shared. Each of those that share one has a random number, by
// which flows are distributed.
type Sharing struct {
	On     bool
	Number uint64
}

// Find returns what receives what is sent to local from remote, or the zero value: one of those
// that are bound to exactly local, to all addresses of its family, or to all of both families, in
// this order.
func (t Table[B]) Find(r *random.Source, local, remote netip.AddrPort) B {
	same := t[local]
	if same == nil {
		same = t[familyWildcard(local)]
	}
	if same == nil {
		same = t[DualWildcard(local.Port())]
	}
	return pick(r, same, local, remote)
}

// FindExactly is Find for what is bound to exactly local.
func (t Table[B]) FindExactly(r *random.Source, local, remote netip.AddrPort) B {
	return pick(r, t[local], local, remote)
}

// Has tells whether something is bound to exactly a.
func (t Table[B]) Has(a netip.AddrPort) bool { return t[a] != nil }

// IsFree tells whether something may be bound to a, if it shares the address or not. What is bound
// to all addresses of both families conflicts with what is bound to all addresses of either.
func (t Table[B]) IsFree(a netip.AddrPort, shares bool) bool {
	switch same := t[a]; {
	case same != nil:
		return shares && same[0].sharing.On
	case !a.Addr().IsValid():
		return t[netip.AddrPortFrom(netip.IPv4Unspecified(), a.Port())] == nil &&
			t[netip.AddrPortFrom(netip.IPv6Unspecified(), a.Port())] == nil
	case a.Addr().IsUnspecified():
		return t[DualWildcard(a.Port())] == nil
	}
	return true
}

// Add binds b to a, which must be free.
func (t Table[B]) Add(a netip.AddrPort, b B, sharing Sharing) {
	t[a] = append(t[a], bound[B]{b, sharing})
}

// Remove removes b, if it is bound to a.
func (t Table[B]) Remove(a netip.AddrPort, b B) {
	var rest []bound[B]
	for _, x := range t[a] {
		if x.b != b {
			rest = append(rest, x)
		}
	}
	if t[a] = rest; rest == nil {
		delete(t, a)
	}
}

// Each calls f with all that are bound.
func (t Table[B]) Each(f func(netip.AddrPort, B)) {
	for a, same := range t {
		for _, x := range same {
			f(a, x.b)
		}
	}
}

// familyWildcard returns the unspecified address of a's family with the port of a.
func familyWildcard(a netip.AddrPort) netip.AddrPort {
	if a.Addr().Is4() {
		return netip.AddrPortFrom(netip.IPv4Unspecified(), a.Port())
	}
	return netip.AddrPortFrom(netip.IPv6Unspecified(), a.Port())
}

// DualWildcard returns the address of a port for all addresses of both families.
func DualWildcard(port uint16) netip.AddrPort { return netip.AddrPortFrom(netip.Addr{}, port) }

// pick returns the one of those that share an address to which a flow goes. The flow stays with it
// as long as it is open: others that come take only what they win, and of one that ends only its
// own flows move (rendezvous hashing). So an acknowledgement of a SYN cookie reaches the listener
// that has sent the cookie. Nobody outside can tell which one gets a flow.
func pick[B comparable](r *random.Source, same []bound[B], local, remote netip.AddrPort) (b B) {
	if len(same) < 2 {
		if len(same) == 1 {
			b = same[0].b
		}
		return b
	}
	f := FlowOf(local, remote)
	h := f.Hash(r, random.ForSharing, 0)
	most := uint64(0)
	for i, x := range same {
		if won := mixed(h ^ x.sharing.Number); i == 0 || won > most {
			most, b = won, x.b
		}
	}
	return b
}

// mixed is the finalizer of SplitMix64 (Steele, Lea and Flood, 2014): each bit of the argument
// changes half of the result's.
func mixed(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
