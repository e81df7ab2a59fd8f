package gonet

import "net/netip"

// bindings has what is bound to addresses and ports: the listeners, or the sockets of UDP. Several
// are bound to one address if each of them shares it: see ListenConfig.SharePort. Dealer only.
type bindings[B binding] map[netip.AddrPort][]B

// binding is a *Listener or a *PacketConn.
type binding interface {
	comparable
	sharesPort() *sharing
}

// sharing says whether an address is shared. Each of those that share one has a random number, by
// which flows are distributed.
type sharing struct {
	on     bool
	number uint64
}

func (l *Listener) sharesPort() *sharing   { return &l.sharing }
func (p *PacketConn) sharesPort() *sharing { return &p.sharing }

// lookup returns what receives what is sent to a: those that are bound to exactly a, to all
// addresses of a's family, or to all of both families, in this order.
func (all bindings[B]) lookup(a netip.AddrPort) []B {
	if same := all[a]; same != nil {
		return same
	}
	if same := all[familyWildcard(a)]; same != nil {
		return same
	}
	return all[dualWildcard(a.Port())]
}

// isFree tells whether a listener or socket may be bound to a, if it shares the address or not. A
// binding to all addresses of both families conflicts with one to all addresses of either family.
func (all bindings[B]) isFree(a netip.AddrPort, shares bool) bool {
	switch same := all[a]; {
	case same != nil:
		return shares && same[0].sharesPort().on
	case !a.Addr().IsValid():
		return all[netip.AddrPortFrom(netip.IPv4Unspecified(), a.Port())] == nil &&
			all[netip.AddrPortFrom(netip.IPv6Unspecified(), a.Port())] == nil
	case a.Addr().IsUnspecified():
		return all[dualWildcard(a.Port())] == nil
	}
	return true
}

func (all bindings[B]) add(a netip.AddrPort, b B) { all[a] = append(all[a], b) }

// remove removes b, if it is bound to a.
func (all bindings[B]) remove(a netip.AddrPort, b B) {
	var rest []B
	for _, x := range all[a] {
		if x != b {
			rest = append(rest, x)
		}
	}
	if all[a] = rest; rest == nil {
		delete(all, a)
	}
}

// each calls f with all that are bound.
func (all bindings[B]) each(f func(netip.AddrPort, B)) {
	for a, same := range all {
		for _, b := range same {
			f(a, b)
		}
	}
}

// pick returns the one of those that share an address to which a flow goes; nil if there is none.
// The flow stays with it as long as it is open: others that come take only what they win, and of
// one that ends only its own flows move (rendezvous hashing). So an acknowledgement of a SYN cookie
// reaches the listener that has sent the cookie. Nobody outside can tell which one gets a flow.
func pick[B binding](s *Stack, same []B, local, remote netip.AddrPort) (b B) {
	if len(same) < 2 {
		if len(same) == 1 {
			b = same[0]
		}
		return b
	}
	f := flowOf(local, remote)
	h := s.hash(&f, forSharing, 0)
	most := uint64(0)
	for i, x := range same {
		if won := mixed(h ^ x.sharesPort().number); i == 0 || won > most {
			most, b = won, x
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
