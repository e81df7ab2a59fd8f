package gonet

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"interleave/gonet/internal/demux"
	"interleave/gonet/wire"
)

// udpLayer has the sockets of UDP. Dealer only.
type udpLayer struct {
	sockets demux.Table[*PacketConn]
	peers   map[peerKey]*PacketConn // the dialed ones
	toHand  []*UDPFlow              // flows whose handlers get datagrams at the end of this batch
}

// PacketConn is a UDP socket: a net.PacketConn, and a net.Conn if it was dialed.
type PacketConn struct {
	stack *Stack
	// local's address is unspecified for all addresses of one family, and invalid for those of
	// both. That of a socket of ListenMulticastUDP is a group.
	local  netip.AddrPort
	remote netip.AddrPort // invalid unless it was dialed
	flow   *UDPFlow       // of which it is the socket, nil for others
	in     datagramQueue
	ttl    atomic.Uint32 // see SetTTL
	tos    atomic.Uint32
	// see SetMulticastTTL and SetMulticastLoopback
	groupTTL atomic.Uint32
	noLoop   atomic.Bool
	read     deadline
	write    deadline
	once     sync.Once
	closed   chan struct{}
	fail     error
}

var (
	_ net.PacketConn = (*PacketConn)(nil)
	_ net.Conn       = (*PacketConn)(nil)
)

// ListenPacket opens a UDP socket at an address, which is written as for net.ListenPacket. network
// is "udp", "udp4" or "udp6".
func (s *Stack) ListenPacket(network, address string) (*PacketConn, error) {
	return ListenConfig{Stack: s}.ListenPacket(network, address)
}

func udpAddr(a netip.AddrPort) net.Addr { return net.UDPAddrFromAddrPort(displayed(a)) }

// peerKey is the key of a dialed socket: sockets of one local port may each have a peer, beside the
// one that receives from all others.
type peerKey struct{ local, remote netip.AddrPort }

// bindSocket takes the port of a socket's local address for it, or a free one for port 0.
func (s *Stack) bindSocket(p *PacketConn, sharing demux.Sharing) error {
	var failed error
	err := s.claim(func() {
		chosen := p.local.Port() != 0
		p.local, failed = s.freePort(p.local, func(a netip.AddrPort) bool {
			if !p.remote.IsValid() {
				return s.udp.sockets.IsFree(a, chosen && sharing.On)
			}
			return s.udp.peers[peerKey{a, p.remote}] == nil &&
				(chosen || s.udp.sockets.IsFree(a, false))
		})
		switch {
		case failed != nil:
		case p.remote.IsValid():
			s.udp.peers[peerKey{p.local, p.remote}] = p
		default:
			s.udp.sockets.Add(p.local, p, sharing)
		}
	})
	return errors.Join(err, failed)
}

func (s *Stack) newPacketConn(local, remote netip.AddrPort) *PacketConn {
	return &PacketConn{
		stack: s, local: local, remote: remote, in: makeDatagramQueue(s.cfg.SocketBuffer),
		closed: make(chan struct{}),
	}
}

// freePort returns local with its port, if free allows it, or with a free ephemeral port for port
// 0. Dealer only.
func (s *Stack) freePort(local netip.AddrPort,
	free func(netip.AddrPort) bool) (netip.AddrPort, error) {
	chosen, ok := demux.ChoosePort(&s.random, local, free)
	switch {
	case ok:
		return chosen, nil
	case local.Port() != 0:
		return local, errInUse
	}
	return local, errNoPort
}

// socketFor returns the socket that receives datagrams to an address from another, or nil: the one
// that was dialed to the sender, or else the one that is bound there. Dealer only.
func (s *Stack) socketFor(to, from netip.AddrPort) *PacketConn {
	if len(s.udp.peers) > 0 {
		if p := s.udp.peers[peerKey{to, from}]; p != nil {
			return p
		}
	}
	return s.udp.sockets.Find(&s.random, to, from)
}

// boundExactly returns the socket for a datagram to a foreign address, or nil: wildcards are for
// the stack's own. Dealer only.
func (s *Stack) boundExactly(to, from netip.AddrPort) *PacketConn {
	if p := s.udp.peers[peerKey{to, from}]; p != nil {
		return p
	}
	return s.udp.sockets.FindExactly(&s.random, to, from)
}

// inputICMPError gives an ICMP error to a socket. As in Linux, only a dialed socket gets the
// errors, and only those about its peer. Dealer only.
func (p *PacketConn) inputICMPError(t icmpError, to netip.AddrPort) {
	switch {
	case t.mtu != 0:
		if to.Addr().Is6() {
			p.stack.notePathMTU(to.Addr(), t.mtu)
		}
	case p.remote == to:
		p.deliver(datagram{err: errRefused})
	}
}

// ReadFrom implements net.PacketConn. A datagram that is longer than b is cut.
func (p *PacketConn) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := p.ReadFromAddrPort(b)
	if err != nil {
		return n, nil, err
	}
	return n, udpAddr(from), nil
}

// ReadFromAddrPort is ReadFrom without the allocation of an address.
func (p *PacketConn) ReadFromAddrPort(b []byte) (int, netip.AddrPort, error) {
	n, from, _, err := p.ReadInfo(b)
	return n, from, err
}

// ReadInfo is ReadFromAddrPort, and says how the datagram has arrived.
func (p *PacketConn) ReadInfo(b []byte) (int, netip.AddrPort, PacketInfo, error) {
	d, err := p.receive()
	if err != nil {
		return 0, netip.AddrPort{}, PacketInfo{}, err
	}
	return copy(b, d.body), d.from, d.info, nil
}

// receive waits for the next datagram.
func (p *PacketConn) receive() (datagram, error) {
	d, err := p.in.wait(&p.read, p.closed, &p.fail)
	if err != nil {
		return datagram{}, &net.OpError{Op: "read", Net: "udp", Source: p.LocalAddr(),
			Addr: p.remoteOrNil(), Err: err}
	}
	return d, nil
}

// Read implements net.Conn, for a dialed socket.
func (p *PacketConn) Read(b []byte) (int, error) {
	n, _, err := p.ReadFromAddrPort(b)
	return n, err
}

// WriteTo implements net.PacketConn.
func (p *PacketConn) WriteTo(b []byte, to net.Addr) (int, error) {
	a, ok := to.(*net.UDPAddr)
	if !ok {
		return 0, &net.OpError{Op: "write", Net: "udp", Source: p.LocalAddr(), Addr: to,
			Err: syscall.EINVAL}
	}
	return p.WriteToAddrPort(b, a.AddrPort())
}

// WriteToAddrPort is WriteTo without the allocation of an address.
func (p *PacketConn) WriteToAddrPort(b []byte, to netip.AddrPort) (int, error) {
	return p.WriteInfo(b, to, PacketInfo{})
}

// WriteInfo is WriteToAddrPort with a source address, TTL or TOS of its own, and for many datagrams
// at once (PacketInfo.Segment). With an error it returns the number of bytes in the datagrams that
// were sent before it.
func (p *PacketConn) WriteInfo(b []byte, to netip.AddrPort, info PacketInfo) (int, error) {
	n, err := p.send(b, netip.AddrPortFrom(to.Addr().Unmap().WithZone(""), to.Port()), info)
	if err != nil {
		return n, &net.OpError{Op: "write", Net: "udp", Source: p.LocalAddr(), Addr: udpAddr(to),
			Err: err}
	}
	return n, nil
}

// Write implements net.Conn, for a dialed socket.
func (p *PacketConn) Write(b []byte) (int, error) {
	if !p.remote.IsValid() {
		return 0, &net.OpError{Op: "write", Net: "udp", Source: p.LocalAddr(),
			Err: edestaddrreq}
	}
	return p.WriteToAddrPort(b, p.remote)
}

func (p *PacketConn) send(b []byte, to netip.AddrPort, info PacketInfo) (int, error) {
	select {
	case <-p.closed:
		return 0, p.fail
	default:
	}
	size := len(b) // of the longest datagram
	if info.Segment > 0 {
		size = min(size, info.Segment)
	}
	switch {
	case p.write.expired():
		return 0, errDeadline
	case !to.IsValid() || p.local.Addr().IsValid() && p.local.Addr().Is4() != to.Addr().Is4():
		return 0, errNotOurs
	case size > maxBody(to.Addr())-wire.UDPLen:
		return 0, errTooLong
	case info.Segment < 0:
		return 0, syscall.EINVAL
	}
	src := p.boundAddr()
	if info.Local.IsValid() {
		if src = info.Local.Unmap().WithZone(""); !p.maySendFrom(src, to.Addr()) {
			return 0, errNotOurs
		}
	}
	if !src.IsValid() || src.IsUnspecified() {
		var err error
		if src, err = p.stack.addresses.source(to.Addr()); err != nil {
			return 0, err
		}
	}
	if p.flow != nil {
		p.flow.touch()
	}
	info.TOS = orElse(info.TOS, uint8(p.tos.Load()))
	from := netip.AddrPortFrom(src, p.local.Port())
	if !to.Addr().IsMulticast() {
		info.TTL = orElse(info.TTL, uint8(p.ttl.Load()))
		return p.stack.sendDatagrams(from, to, info, b, false)
	}
	info.TTL = orElse(info.TTL, orElse(uint8(p.groupTTL.Load()), defaultGroupTTL))
	n, err := p.stack.sendDatagrams(from, to, info, b, false)
	if err != nil || p.noLoop.Load() || !p.stack.groups.hasJoined(to.Addr()) {
		return n, err
	}
	return p.stack.sendDatagrams(from, to, info, b, true)
}

// defaultGroupTTL is the TTL of datagrams to groups (RFC 1112 section 6.1).
const defaultGroupTTL = 1

// boundAddr returns the address of the stack to which the socket is bound. It is unspecified or
// invalid if there is none, as for a socket of ListenMulticastUDP.
func (p *PacketConn) boundAddr() netip.Addr {
	if a := p.local.Addr(); !a.IsMulticast() {
		return a
	}
	return netip.Addr{}
}

// maySendFrom tells whether a datagram of the socket may have the source address src: one of the
// stack or one that it may spoof, of the family of its destination, and the one to which the socket
// is bound if it is.
func (p *PacketConn) maySendFrom(src, to netip.Addr) bool {
	bound := p.boundAddr()
	foreign := bound == src && p.stack.forward.takes(src)
	return (p.stack.maySendFrom(src) || foreign) && src.Is4() == to.Is4() &&
		(!bound.IsValid() || bound.IsUnspecified() || bound == src)
}

// Close implements net.Conn.
func (p *PacketConn) Close() error {
	first := false
	p.once.Do(func() {
		first = true
		p.fail = errClosed
		close(p.closed)
	})
	p.read.stop()
	p.write.stop()
	if !first {
		return &net.OpError{Op: "close", Net: "udp", Source: p.LocalAddr(), Err: errClosed}
	}
	_ = p.stack.claim(func() { p.stack.removeSocket(p) }) // a stack that has ended has no sockets
	return nil
}

// removeSocket removes a socket from its table, unless another has its place already. Dealer only.
func (s *Stack) removeSocket(p *PacketConn) {
	if p.flow != nil {
		s.forward.flows.remove(p.flow)
	}
	if key := (peerKey{p.local, p.remote}); s.udp.peers[key] == p {
		delete(s.udp.peers, key)
	}
	s.udp.sockets.Remove(p.local, p)
	s.leaveGroups(p)
}

// closeWith ends a socket because the stack has ended.
func (p *PacketConn) closeWith(err error) {
	p.once.Do(func() {
		p.fail = err
		close(p.closed)
	})
}

// LocalAddr implements net.Conn.
func (p *PacketConn) LocalAddr() net.Addr { return udpAddr(p.local) }

// RemoteAddr implements net.Conn. It returns nil unless the socket was dialed.
func (p *PacketConn) RemoteAddr() net.Addr { return p.remoteOrNil() }

func (p *PacketConn) remoteOrNil() net.Addr {
	if !p.remote.IsValid() {
		return nil
	}
	return udpAddr(p.remote)
}

// SetDeadline implements net.Conn.
func (p *PacketConn) SetDeadline(t time.Time) error {
	p.read.set(t)
	p.write.set(t)
	return nil
}

// SetReadDeadline implements net.Conn.
func (p *PacketConn) SetReadDeadline(t time.Time) error { p.read.set(t); return nil }

// SetWriteDeadline implements net.Conn. Writes of datagrams never block.
func (p *PacketConn) SetWriteDeadline(t time.Time) error { p.write.set(t); return nil }

// SetReadBuffer sets the bound on the datagrams that wait to be read, in bytes; each counts
// datagramSize and its body. Datagrams that exceed it are dropped and counted.
func (p *PacketConn) SetReadBuffer(bytes int) error {
	if bytes <= 0 {
		return &net.OpError{Op: "set", Net: "udp", Source: p.LocalAddr(), Err: syscall.EINVAL}
	}
	p.in.setLimit(bytes)
	return nil
}

// SetWriteBuffer does nothing, as a write of a datagram does not wait.
func (p *PacketConn) SetWriteBuffer(int) error { return nil }

// SetTTL sets the TTL, or the hop limit of IPv6, of datagrams to hosts. 0 is the stack's.
func (p *PacketConn) SetTTL(ttl uint8) error { p.ttl.Store(uint32(ttl)); return nil }

// SetTOS sets the TOS, or the traffic class of IPv6, of datagrams.
func (p *PacketConn) SetTOS(tos uint8) error { p.tos.Store(uint32(tos)); return nil }
