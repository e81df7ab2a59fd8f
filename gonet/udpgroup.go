package gonet

import (
	"net"
	"net/netip"
	"syscall"

	"interleave/gonet/multicast"
)

// ListenMulticastUDP opens a UDP socket that receives what is sent to a group and a port, and joins
// the group: net.ListenMulticastUDP on this stack. Several sockets may have the same group and
// port, and each gets every datagram. As in package net, sockets of this stack do not receive what
// it sends to its group, unless SetMulticastLoopback is called. network is "udp", "udp4" or "udp6".
func (s *Stack) ListenMulticastUDP(network, address string) (*PacketConn, error) {
	at, err := s.parse(network, "udp", address)
	if err == nil && !at.Addr().IsMulticast() {
		err = &net.AddrError{Err: "not a multicast group", Addr: address}
	}
	var p *PacketConn
	if err == nil {
		p = s.newPacketConn(at, netip.AddrPort{})
		p.noLoop.Store(true)
		var failed error
		err = s.claim(func() {
			p.local, failed = s.freePort(at, func(netip.AddrPort) bool { return true })
			if failed == nil {
				failed = s.setFilter(p, at.Addr(), multicast.Filter{Exclude: true})
			}
			if failed == nil {
				s.groups.sockets[p] = true
			}
		})
		if err == nil {
			err = failed
		}
	}
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Addr: addrOf("udp", at), Err: err}
	}
	return p, nil
}

// maxSources bounds the sources that a socket lists for a group: as many as Linux takes for IPv6
// (mld_max_msf).
const maxSources = 64

// receivesGroup tells whether the socket is bound to the port of a datagram, and to its group or to
// all addresses of its family.
func (p *PacketConn) receivesGroup(to netip.AddrPort) bool {
	a := p.local.Addr()
	return p.local.Port() == to.Port() &&
		(a == to.Addr() || !a.IsValid() || a.IsUnspecified() && a.Is4() == to.Addr().Is4())
}

// JoinGroup joins a multicast group, so that the socket receives what is sent to the group and its
// port. The socket must be bound to all addresses of the group's family, or be one of
// ListenMulticastUDP. Routers are told by IGMP or MLD. The error wraps EADDRINUSE if the socket is
// in the group already.
func (p *PacketConn) JoinGroup(group netip.Addr) error {
	return p.changeGroup(group, func(f multicast.Filter) (multicast.Filter, error) {
		if !f.IsNone() {
			return f, errInUse
		}
		return multicast.Filter{Exclude: true}, nil
	})
}

// LeaveGroup leaves a group, or all sources of a group. The error wraps EADDRNOTAVAIL if the socket
// is not in it.
func (p *PacketConn) LeaveGroup(group netip.Addr) error {
	return p.changeGroup(group, func(f multicast.Filter) (multicast.Filter, error) {
		if f.IsNone() {
			return f, errNotOurs
		}
		return multicast.Filter{}, nil
	})
}

// JoinSourceSpecificGroup has the socket receive what one source sends to a group (RFC 4607). It
// may be called for several sources. The error wraps EINVAL if the socket has joined the whole
// group.
func (p *PacketConn) JoinSourceSpecificGroup(group, source netip.Addr) error {
	return p.changeSource(group, source, false, true)
}

// LeaveSourceSpecificGroup ends JoinSourceSpecificGroup for one source.
func (p *PacketConn) LeaveSourceSpecificGroup(group, source netip.Addr) error {
	return p.changeSource(group, source, false, false)
}

// ExcludeSourceSpecificGroup has the socket receive nothing from one source of a group that it has
// joined by JoinGroup.
func (p *PacketConn) ExcludeSourceSpecificGroup(group, source netip.Addr) error {
	return p.changeSource(group, source, true, true)
}

// IncludeSourceSpecificGroup ends ExcludeSourceSpecificGroup for one source.
func (p *PacketConn) IncludeSourceSpecificGroup(group, source netip.Addr) error {
	return p.changeSource(group, source, true, false)
}

// changeSource adds a source to the list of a group's filter or removes one. The filter must be one
// that excludes its sources, or not, as exclude says.
func (p *PacketConn) changeSource(group, source netip.Addr, exclude, add bool) error {
	source = source.Unmap().WithZone("")
	return p.changeGroup(group, func(f multicast.Filter) (multicast.Filter, error) {
		without := f.Without(source)
		listed := len(without.Sources) < len(f.Sources)
		switch {
		case source.Is4() != group.Unmap().Is4() || source.IsMulticast() || source.IsUnspecified(),
			f.Exclude != exclude && !f.IsNone():
			return f, syscall.EINVAL
		case listed == add || f.IsNone() && exclude:
			return f, errNotOurs
		case !add:
			return without, nil
		case len(f.Sources) >= maxSources:
			return f, errNoBuffers
		}
		return f.With(source), nil
	})
}

// changeGroup changes the socket's filter of a group.
func (p *PacketConn) changeGroup(group netip.Addr,
	change func(multicast.Filter) (multicast.Filter, error)) error {
	group = group.Unmap().WithZone("") // a stack has one link
	s := p.stack
	var failed error
	err := s.claim(func() {
		select {
		case <-p.closed:
			failed = p.fail
			return
		default:
		}
		at := netip.AddrPortFrom(group, p.local.Port())
		if !group.IsMulticast() || group.Is6() && s.cfg.NoIPv6 || p.remote.IsValid() ||
			p.flow != nil || !p.receivesGroup(at) {
			failed = syscall.EINVAL
			return
		}
		var f multicast.Filter
		if f, failed = change(s.groups.members[group][p]); failed == nil {
			failed = s.setFilter(p, group, f)
		}
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return &net.OpError{Op: "set", Net: "udp", Source: p.LocalAddr(), Addr: ipAddr(group),
			Err: err}
	}
	return nil
}

// SetMulticastTTL sets the TTL, or the hop limit of IPv6, of datagrams to groups. 0 is the default:
// 1, which no router forwards (RFC 1112 section 6.1).
func (p *PacketConn) SetMulticastTTL(ttl uint8) error { p.groupTTL.Store(uint32(ttl)); return nil }

// SetMulticastLoopback sets whether sockets of this stack that have joined a group receive what
// this socket sends to it. They do at first, except for a socket of ListenMulticastUDP.
func (p *PacketConn) SetMulticastLoopback(on bool) error { p.noLoop.Store(!on); return nil }
