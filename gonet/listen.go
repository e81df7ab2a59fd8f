package gonet

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// Listener takes connections: a net.Listener.
type Listener struct {
	stack  *Stack
	local  netip.AddrPort
	ready  chan *Conn // the backlog: connections that are established and wait for Accept
	once   sync.Once
	closed chan struct{}
	fail   error
	// flooded is until when cookies are taken: the dealer's own, as is half.
	flooded tcp.Time
	half    int // connections in the table that came by this listener and are not accepted
}

var _ net.Listener = (*Listener)(nil)

// defaultBacklog is in connections.
const defaultBacklog = 1024

// Listen takes connections at an address: network is "tcp" or "tcp4", address as for net.Listen.
func (s *Stack) Listen(network, address string) (*Listener, error) {
	local, err := s.parseOurs(network, "tcp", address)
	if err == nil {
		backlog := s.cfg.Backlog
		if backlog == 0 {
			backlog = defaultBacklog
		}
		l := &Listener{stack: s, ready: make(chan *Conn, backlog), closed: make(chan struct{})}
		var failed error
		err = s.claim(func() {
			local, failed = s.freePort(local, func(a netip.AddrPort) bool { return s.listeners[a] == nil })
			if failed == nil {
				l.local = local
				s.listeners[local] = l
			}
		})
		if err = errors.Join(err, failed); err == nil {
			return l, nil
		}
	}
	return nil, &net.OpError{Op: "listen", Net: network, Addr: net.TCPAddrFromAddrPort(local), Err: err}
}

// parse reads an address of package net: "host:port" with an address or nothing as the host.
func (s *Stack) parse(network, want, address string) (netip.AddrPort, error) {
	if network != want && network != want+"4" {
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
	if host == "" {
		return netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(number)), nil
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return netip.AddrPort{}, &net.AddrError{Err: "not an address: names are the resolver's", Addr: address}
	}
	if a = a.Unmap(); !a.Is4() {
		return netip.AddrPort{}, &net.AddrError{Err: "not an address of IPv4", Addr: address}
	}
	return netip.AddrPortFrom(a, uint16(number)), nil
}

// parseOurs is parse for an address to listen at.
func (s *Stack) parseOurs(network, want, address string) (netip.AddrPort, error) {
	a, err := s.parse(network, want, address)
	if err == nil && !a.Addr().IsUnspecified() && !s.isOurs(a.Addr()) && !s.isBroadcast(a.Addr()) {
		err = errNotOurs
	}
	return a, err
}

// Accept is net.Listener's.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, l.failure()
	default:
	}
	select {
	case c := <-l.ready:
		_ = l.stack.post(func() { l.stack.uncount(c) }) // a stack that has ended counts nothing
		return c, nil
	case <-l.closed:
		return nil, l.failure()
	}
}

func (l *Listener) failure() error {
	return &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: l.fail}
}

// uncount notes that a connection does not wait for Accept any more. The dealer's.
func (s *Stack) uncount(c *Conn) {
	if !c.counted {
		c.counted = true
		c.listener.half--
	}
}

// Addr is net.Listener's.
func (l *Listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.local) }

// Close is net.Listener's. Connections that wait for Accept are reset.
func (l *Listener) Close() error {
	if !l.shut(errClosed) {
		return &net.OpError{Op: "close", Net: "tcp", Addr: l.Addr(), Err: errClosed}
	}
	s := l.stack
	_ = s.claim(func() { // a stack that has ended has forgotten it
		delete(s.listeners, l.local)
		for _, c := range s.conns {
			if c.listener == l && !c.counted && !c.handed {
				s.discard(c)
			}
		}
	})
	for {
		select {
		case c := <-l.ready:
			_ = c.Abort() // it may have ended
		default:
			return nil
		}
	}
}

// discard resets a connection that nobody will accept. The dealer's.
func (s *Stack) discard(c *Conn) {
	c.mu.Lock()
	c.machine.Abort()
	c.mu.Unlock()
	s.touch(c)
}

func (l *Listener) shut(err error) (first bool) {
	l.once.Do(func() {
		first, l.fail = true, err
		close(l.closed)
	})
	return first
}

// deliver puts an established connection in the backlog. The dealer's.
func (l *Listener) deliver(c *Conn) {
	select {
	case <-l.closed:
	default:
		select {
		case l.ready <- c:
			c.handed = true
			return
		default:
		}
	}
	l.stack.stats.droppedBacklog.Add(1)
	l.stack.discard(c)
}

// inputTCP finds the connection of a segment, or makes one of a SYN, or answers that there is none.
func (s *Stack) inputTCP(p *packet) {
	h, body, err := wire.ParseTCP(p.body)
	if err != nil || p.group || !p.valid && wire.Sum(p.body, wire.PseudoSum(p.src, p.dst, wire.ProtocolTCP, len(p.body))) != 0xffff {
		s.stats.malformed.Add(1)
		return
	}
	local, remote := netip.AddrPortFrom(p.dst, h.DstPort), netip.AddrPortFrom(p.src, h.SrcPort)
	key := flowOf(local, remote)
	c := s.conns[key]
	if c != nil && h.Flags&(wire.SYN|wire.ACK|wire.RST) == wire.SYN {
		c.mu.Lock()
		again := c.machine.Reusable(&h)
		c.mu.Unlock()
		if again {
			s.forsake(c)
			c = nil
		}
	}
	if c != nil {
		c.mu.Lock()
		c.machine.Input(&h, body, s.now)
		c.mu.Unlock()
		s.touch(c)
		return
	}
	switch h.Flags & (wire.SYN | wire.ACK | wire.RST) {
	case wire.SYN:
		if s.knock(local, remote, &h) {
			return
		}
	case wire.ACK:
		if s.redeem(local, remote, &h, body) {
			return
		}
	}
	s.refuse(p, &h, len(body))
}

// touch puts a connection in the list of those that flush looks at. The dealer's.
func (s *Stack) touch(c *Conn) {
	if !c.touched {
		c.touched = true
		s.touched = append(s.touched, c)
	}
}

// forsake ends a connection in TIME-WAIT whose place is wanted. The dealer's.
func (s *Stack) forsake(c *Conn) {
	c.mu.Lock()
	c.gone = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	s.remove(c)
}

// knock makes a connection of a SYN for a listener. The dealer's.
func (s *Stack) knock(local, remote netip.AddrPort, h *wire.TCP) bool {
	l := s.listenerAt(local)
	if l == nil {
		return false
	}
	c, err := s.newConn(local, remote)
	if err != nil {
		return true // there is no way back
	}
	if l.half >= cap(l.ready) {
		s.bake(l, c, h)
		return true
	}
	c.machine = tcp.Accept(&c.cfg, s.isn(c.flow), h, s.now)
	s.admit(l, c)
	return true
}

// listenerAt is who takes connections at an address. The dealer's.
func (s *Stack) listenerAt(local netip.AddrPort) *Listener {
	if l := s.listeners[local]; l != nil {
		return l
	}
	return s.listeners[netip.AddrPortFrom(netip.IPv4Unspecified(), local.Port())]
}

// admit puts a connection of a listener in the table. The dealer's.
func (s *Stack) admit(l *Listener, c *Conn) {
	c.listener = l
	l.half++
	s.conns[c.flow] = c
	s.touch(c)
}

// cookieTime is for how long after a flood cookies are taken: as long as they are good.
const cookieTime = 2 * time.Minute

// bake answers a SYN for which there is no room with a cookie, and keeps nothing. Where the backlog itself is full a connection would
// find no place: the SYN is dropped, and the peer tries again. The dealer's.
func (s *Stack) bake(l *Listener, c *Conn, h *wire.TCP) {
	s.flush() // connections that this batch has established go to the backlog first
	if len(l.ready) >= cap(l.ready) {
		s.stats.droppedBacklog.Add(1)
		return
	}
	s.stats.cookies.Add(1)
	l.flooded = s.now.Add(cookieTime)
	seg := tcp.Segment{Header: tcp.CookieAnswer(&c.cfg, tcp.Cookie(s.keyed(c.flow, h.Seq), h, s.now), h)}
	_ = s.sendSegment(c, &seg) // the peer asks again
}

// keyed is the hash of cookies for a flow and the peer's first sequence number.
func (s *Stack) keyed(f flow, seq uint32) tcp.Keyed {
	return func(part uint32) uint32 {
		return s.hash(f, "cookie"+string(binary.BigEndian.AppendUint64(nil, uint64(part)<<32|uint64(seq))))
	}
}

// redeem makes a connection of a segment that acknowledges a cookie. The dealer's.
func (s *Stack) redeem(local, remote netip.AddrPort, h *wire.TCP, body []byte) bool {
	l := s.listenerAt(local)
	if l == nil || s.now > l.flooded {
		return false
	}
	c, err := s.newConn(local, remote)
	if err != nil {
		return false
	}
	if c.machine = tcp.AcceptCookie(&c.cfg, s.keyed(c.flow, h.Seq-1), h, s.now); c.machine == nil {
		return false
	}
	if len(l.ready) >= cap(l.ready) {
		s.stats.droppedBacklog.Add(1)
		return true // its next segment asks again
	}
	s.admit(l, c)
	c.machine.Input(h, body, s.now)
	return true
}

// refuse answers a segment for which there is no connection (RFC 9293 section 3.10.7.1).
func (s *Stack) refuse(p *packet, h *wire.TCP, n int) {
	if h.Flags&wire.RST != 0 {
		return
	}
	s.stats.resets.Add(1)
	out := wire.TCP{SrcPort: h.DstPort, DstPort: h.SrcPort, Flags: wire.RST}
	if h.Flags&wire.ACK != 0 {
		out.Seq = h.Ack
	} else {
		out.Flags |= wire.ACK
		out.Ack = h.Seq + uint32(n)
		if h.Flags&wire.SYN != 0 {
			out.Ack++
		}
		if h.Flags&wire.FIN != 0 {
			out.Ack++
		}
	}
	var b [wire.TCPLen]byte
	out.Put(b[:])
	out.Checksum = ^wire.Sum(b[:], wire.PseudoSum(p.dst, p.src, wire.ProtocolTCP, len(b)))
	out.Put(b[:])
	s.reply(p, wire.ProtocolTCP, b[:])
}

// hash is a number that only this stack can foretell, for a flow and a purpose.
func (s *Stack) hash(f flow, purpose string) uint32 {
	b := make([]byte, 0, 128)
	b = append(append(append(append(b, s.secret[:]...), f.local[:]...), f.remote[:]...), purpose...)
	b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, f.localPort), f.remotePort)
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint32(sum[:])
}

// isn is an initial sequence number: a clock of 4 us, from a start that is secret for each flow (RFC 6528).
func (s *Stack) isn(f flow) uint32 {
	return s.hash(f, "isn") + uint32(s.clock()/4000)
}

// Dial connects: network is "tcp", "tcp4", "udp" or "udp4".
func (s *Stack) Dial(network, address string) (net.Conn, error) {
	return s.DialContext(context.Background(), network, address)
}

// DialContext is Dial that ends with a context.
func (s *Stack) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	fail := func(to netip.AddrPort, err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: net.TCPAddrFromAddrPort(to), Err: translate(err)}
	}
	kind := "tcp"
	if network == "udp" || network == "udp4" {
		kind = "udp"
	}
	to, err := s.parse(network, kind, address)
	if err != nil {
		return fail(to, err)
	}
	if to.Addr().IsUnspecified() { // as package net has it: this host
		to = netip.AddrPortFrom(loopbackAddr, to.Port())
	}
	src, err := s.source(to.Addr())
	if err != nil {
		return fail(to, err)
	}
	if kind == "udp" {
		p, err := s.bind(netip.AddrPortFrom(src, 0), to)
		if err != nil {
			return fail(to, err)
		}
		return p, nil
	}
	if s.isBroadcast(to.Addr()) || to.Addr().IsMulticast() || to.Port() == 0 {
		return fail(to, errUnreachable)
	}
	c, err := s.connect(src, to)
	if err != nil {
		return fail(to, err)
	}
	if err := c.established(ctx); err != nil {
		_ = c.Abort() // it may have ended
		return fail(to, err)
	}
	return c, nil
}

// connect claims a port and sends a SYN from it.
func (s *Stack) connect(src netip.Addr, to netip.AddrPort) (*Conn, error) {
	var c *Conn
	var failed error
	err := s.claim(func() {
		local, err := s.freePort(netip.AddrPortFrom(src, 0), func(a netip.AddrPort) bool { return s.conns[flowOf(a, to)] == nil })
		if err == nil {
			c, err = s.newConn(local, to)
		}
		if failed = err; err != nil {
			return
		}
		c.accepted = true // there is no listener to tell
		s.now = s.clock()
		c.machine = tcp.Dial(&c.cfg, s.isn(c.flow), s.now)
		s.conns[c.flow] = c
		c.settle(s.now)
	})
	return c, errors.Join(err, failed)
}

// established waits for the handshake.
func (c *Conn) established(ctx context.Context) error {
	for {
		c.mu.Lock()
		switch state := c.machine.State(); {
		case c.dead != nil:
			defer c.mu.Unlock()
			return c.dead
		case state == tcp.Closed:
			defer c.mu.Unlock()
			if err := c.machine.Err(); err != nil {
				return err
			}
			return errClosed
		case state >= tcp.Established:
			c.mu.Unlock()
			return nil
		}
		if c.writable == nil {
			c.writable = make(chan struct{}, 1)
		}
		bell := c.writable
		c.mu.Unlock()
		select {
		case <-bell:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
