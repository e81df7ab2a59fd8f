package gonet

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// flow names a connection: both addresses, those of IPv4 in the form that IPv6 has for them, and both ports.
type flow struct {
	local, remote         [16]byte
	localPort, remotePort uint16
}

func flowOf(local, remote netip.AddrPort) flow {
	return flow{local.Addr().As16(), remote.Addr().As16(), local.Port(), remote.Port()}
}

// Conn is a connection of TCP: a net.Conn. It has no goroutine of its own. Its machine runs under mu: in the dealer when segments
// arrive, in the goroutine that reads or writes, and in a timer's.
type Conn struct {
	stack         *Stack
	flow          flow
	local, remote netip.AddrPort
	net           *network // in which hop was found; guarded by mu, as hop is
	hop           *hop
	pseudo        uint16 // the sum of the pseudo header, but for the length
	label         uint32 // of its packets of IPv6
	listener      *Listener

	mu       sync.Mutex
	machine  *tcp.Conn
	cfg      tcp.Config
	timer    *time.Timer
	timerAt  tcp.Time // when it will go off, 0 if it is not running
	dead     error    // the stack has ended
	accepted bool     // the listener has been told
	closed   bool     // Close was called
	gone     bool     // the dealer has been asked to forget it, or has

	readable, writable chan struct{} // bells of one place; made when somebody waits
	handed             bool          // to the backlog: the dealer's own
	counted            bool          // of the listener: the dealer's own
	touched            bool          // in the dealer's list: the dealer's own
	readBy, writeBy    deadline
	reading, writing   sync.Mutex // one at a time, as for a descriptor
}

var _ net.Conn = (*Conn)(nil)

func (s *Stack) newConn(local, remote netip.AddrPort) (*Conn, error) {
	n := s.net.Load()
	h, err := s.hop(remote.Addr())
	if err != nil {
		return nil, err
	}
	c := &Conn{
		stack: s, flow: flowOf(local, remote), local: local, remote: remote, net: n, hop: h, cfg: s.cfg.TCP,
		pseudo: wire.PseudoSum(local.Addr(), remote.Addr(), wire.ProtocolTCP, 0), readBy: makeDeadline(), writeBy: makeDeadline(),
	}
	header := headerLen(remote.Addr())
	c.cfg.MSS = s.mtu(remote.Addr()) - header - wire.TCPLen
	if remote.Addr().Is6() {
		c.cfg.PeerMSS = wire.IPv6MinMTU - wire.IPv6Len - wire.TCPLen // RFC 9293 section 3.7.1
	}
	if super := remote.Addr().Is4() && s.fast.TCPv4 || remote.Addr().Is6() && s.fast.TCPv6; !super {
		c.cfg.Burst = 0
	} else if c.cfg.Burst == 0 {
		c.cfg.Burst = s.fast.MaxSuper - max(header, wire.IPv4MaxLen) - wire.TCPMaxLen
	}
	c.cfg.Clock = s.hash(c.flow, "clock")
	c.label = c.cfg.Clock & 0xfffff // so that routers keep the packets of a connection on one way, and to nobody foretellable (RFC 6437)
	return c, nil
}

// transmit sends what is due. The caller has mu.
func (c *Conn) transmit(now tcp.Time) {
	var seg tcp.Segment
	for c.machine.Output(&seg, now) {
		if err := c.stack.sendSegment(c, &seg); err != nil {
			c.machine.Unreachable(translate(err), true)
		}
	}
}

// way is the neighbour to which packets of the connection go first. It is looked for again when the stack's network has changed, or when
// others have needed its place in the table. The caller has mu.
func (c *Conn) way() (*hop, error) {
	if n := c.stack.net.Load(); n != c.net || c.hop.dropped.Load() {
		h, err := c.stack.hop(c.remote.Addr())
		if err != nil {
			return nil, err
		}
		c.net, c.hop = n, h
	}
	return c.hop, nil
}

// sendSegment gives the header its ports and the packet its header, and leaves the checksum and the cutting to the link if it can.
func (s *Stack) sendSegment(c *Conn, seg *tcp.Segment) error {
	way, err := c.way()
	if err != nil {
		return err
	}
	h := &seg.Header
	h.SrcPort, h.DstPort = c.local.Port(), c.remote.Port()
	e := newEnvelope()
	defer e.free()
	header := &e.transport
	headerLen := h.Len()
	length := headerLen + seg.Len()
	ipLen, kind := c.putIP(e.ip[:], length)
	sum := wire.Sum([]byte{byte(length >> 8), byte(length)}, c.pseudo)
	var gso link.GSO
	if s.fast.Partial {
		h.Checksum = sum
		gso = link.GSO{Partial: true, Start: uint16(wire.EthernetLen + ipLen), Offset: 16}
		if seg.Len() > seg.MSS && seg.MSS > 0 {
			gso.Kind, gso.Size, gso.Header = kind, uint16(seg.MSS), uint16(wire.EthernetLen+ipLen+headerLen)
		}
		h.Put(header[:])
	} else {
		h.Put(header[:])
		sum = wire.Sum(header[:headerLen], sum)
		sum = wire.Sum(seg.Payload, sum)
		h.Checksum = ^wire.SumAt(seg.Payload2, len(seg.Payload), sum)
		h.Put(header[:])
	}
	e.pack(e.ip[:ipLen], header[:headerLen], seg.Payload, seg.Payload2)
	return s.send(way, gso, e)
}

// putIP writes the header of IP for a segment, and tells its length and how super-frames of it are cut.
func (c *Conn) putIP(b []byte, length int) (int, link.Kind) {
	if c.remote.Addr().Is4() {
		ip := wire.IPv4{
			Length: uint16(wire.IPv4Len + length), TTL: defaultTTL, DontFragment: true, Protocol: wire.ProtocolTCP,
			Src: c.local.Addr(), Dst: c.remote.Addr(), ID: uint16(c.stack.ids.Add(1)),
		}
		return ip.Put(b), link.TCPv4
	}
	ip := wire.IPv6{
		Length: uint16(length), NextHeader: wire.ProtocolTCP, HopLimit: c.net.hopLimit, FlowLabel: c.label,
		Src: c.local.Addr(), Dst: c.remote.Addr(),
	}
	return ip.Put(b), link.TCPv6
}

// settle sends what is due, arms the timer, and wakes users, after something has happened to the machine. The dealer's.
func (c *Conn) settle(now tcp.Time) {
	c.touched = false
	c.mu.Lock()
	c.transmit(now)
	c.arm(now)
	c.wake()
	over := c.over()
	accept := c.machine.State() >= tcp.Established && !c.accepted
	c.accepted = c.accepted || accept
	c.mu.Unlock()
	if accept && c.listener != nil {
		c.listener.deliver(c)
	}
	if over {
		c.stack.remove(c)
	}
}

// act sends, arms and wakes after a user or a timer has done something. The caller has mu, which act gives back.
func (c *Conn) act(now tcp.Time) {
	c.transmit(now)
	c.arm(now)
	c.wake()
	over := c.over()
	c.mu.Unlock()
	if over {
		_ = c.stack.post(func() { c.stack.remove(c) }) // a stack that has ended has forgotten it
	}
}

// over tells, once, that the connection is to be forgotten. The caller has mu.
func (c *Conn) over() bool {
	if c.gone || c.machine.State() != tcp.Closed {
		return false
	}
	c.gone = true
	if c.timer != nil {
		c.timer.Stop()
	}
	return true
}

// remove takes a connection out of the table. The dealer's.
func (s *Stack) remove(c *Conn) {
	if s.conns[c.flow] == c {
		delete(s.conns, c.flow)
	}
	if l := c.listener; l != nil && !c.counted {
		c.counted = true
		l.half--
	}
}

// arm sees to it that the timer goes off in time. One that goes off early looks again: it is never stopped for an acknowledgement.
func (c *Conn) arm(now tcp.Time) {
	at, ok := c.machine.Deadline()
	if !ok || c.timerAt != 0 && c.timerAt <= at {
		return
	}
	c.timerAt = at
	wait := max(at.Sub(now), 0)
	if c.timer == nil {
		c.timer = time.AfterFunc(wait, c.expire)
		return
	}
	c.timer.Reset(wait)
}

// expire is the timer's goroutine.
func (c *Conn) expire() {
	now := c.stack.clock()
	c.mu.Lock()
	c.timerAt = 0
	if c.dead != nil {
		c.mu.Unlock()
		return
	}
	c.machine.Expire(now)
	c.act(now)
}

// wake rings the bells of those who wait for what there is now.
func (c *Conn) wake() {
	over := c.machine.State() == tcp.Closed || c.dead != nil
	if c.readable != nil && (over || c.machine.Readable() > 0 || c.machine.EndOfStream()) {
		ring(c.readable)
	}
	// A writer that is woken for a few bytes soon sleeps again.
	if c.writable != nil && (over || c.machine.Writable() >= writeWorth && c.machine.State() >= tcp.Established) {
		ring(c.writable)
	}
}

// writeWorth is how much room in bytes a blocked writer is woken for.
const writeWorth = 16 << 10

func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default: // it rings already
	}
}

// waitFor waits for a bell, a deadline, or the end of the stack. The caller has mu, which waitFor gives back.
func (c *Conn) waitFor(bell *chan struct{}, d *deadline) error {
	if *bell == nil {
		*bell = make(chan struct{}, 1)
	}
	b := *bell
	c.mu.Unlock()
	select {
	case <-b:
		return nil
	case <-d.wait():
		return errDeadline
	}
}

// Read is net.Conn's.
func (c *Conn) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	for {
		if c.readBy.expired() {
			return 0, c.fail("read", errDeadline)
		}
		c.mu.Lock()
		m := c.machine
		switch {
		case c.closed:
			c.mu.Unlock()
			return 0, c.fail("read", errClosed)
		case len(p) == 0:
			c.mu.Unlock()
			return 0, nil
		case m.Readable() > 0:
			now := c.stack.clock()
			n := m.Read(p, now)
			c.act(now)
			return n, nil
		case m.EndOfStream():
			c.mu.Unlock()
			return 0, io.EOF
		case c.dead != nil:
			c.mu.Unlock()
			return 0, c.fail("read", c.dead)
		case m.State() == tcp.Closed:
			err := m.Err()
			c.mu.Unlock()
			if err == nil {
				return 0, io.EOF
			}
			return 0, c.fail("read", translate(err))
		}
		if err := c.waitFor(&c.readable, &c.readBy); err != nil {
			return 0, c.fail("read", err)
		}
	}
}

// Write is net.Conn's: it returns when all of p has been taken to be sent.
func (c *Conn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	for n := 0; ; {
		if c.writeBy.expired() {
			return n, c.fail("write", errDeadline)
		}
		c.mu.Lock()
		m := c.machine
		switch {
		case c.closed:
			c.mu.Unlock()
			return n, c.fail("write", errClosed)
		case c.dead != nil:
			c.mu.Unlock()
			return n, c.fail("write", c.dead)
		case m.State() == tcp.Closed:
			err := m.Err()
			c.mu.Unlock()
			if err == nil {
				err = errPipe
			}
			return n, c.fail("write", translate(err))
		case m.Finished():
			c.mu.Unlock()
			return n, c.fail("write", errPipe)
		case n == len(p):
			c.mu.Unlock()
			return n, nil
		}
		if took := m.Write(p[n:]); took > 0 {
			n += took
			c.act(c.stack.clock())
			continue
		}
		if err := c.waitFor(&c.writable, &c.writeBy); err != nil {
			return n, c.fail("write", err)
		}
	}
}

// CloseWrite ends our direction: the peer reads an end of file, and may go on to send.
func (c *Conn) CloseWrite() error {
	c.mu.Lock()
	if err := c.unusable(); err != nil {
		c.mu.Unlock()
		return c.fail("close", err)
	}
	c.machine.CloseWrite()
	c.act(c.stack.clock())
	return nil
}

// unusable tells why nothing can be done any more. The caller has mu.
func (c *Conn) unusable() error {
	switch {
	case c.closed:
		return errClosed
	case c.dead != nil:
		return c.dead
	}
	return nil
}

// Close is net.Conn's. What was written is still sent; what arrives from now on is refused.
func (c *Conn) Close() error {
	c.mu.Lock()
	if err := c.unusable(); err != nil {
		c.closed = true
		c.mu.Unlock()
		return c.fail("close", err)
	}
	now := c.stack.clock()
	c.closed = true
	c.machine.Close(now)
	for _, bell := range []chan struct{}{c.readable, c.writable} {
		if bell != nil {
			ring(bell)
		}
	}
	c.act(now)
	return nil
}

// Abort ends the connection with a reset.
func (c *Conn) Abort() error {
	c.mu.Lock()
	if err := c.unusable(); err != nil {
		c.mu.Unlock()
		return c.fail("close", err)
	}
	c.closed = true
	c.machine.Abort()
	c.act(c.stack.clock())
	return nil
}

// kill ends the connection of a stack that has ended. The dealer's.
func (c *Conn) kill(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead, c.gone = err, true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.wake()
}

// trouble tells the machine what ICMP says, if the segment that it quotes may be one of ours (RFC 5927). The dealer's.
func (c *Conn) trouble(t trouble, seq uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.machine.Sent(seq) {
		return
	}
	if t.mtu != 0 {
		c.machine.PathMTU(t.mtu - headerLen(c.remote.Addr()) - wire.TCPLen)
	} else {
		c.machine.Unreachable(t.err, t.hard)
	}
	c.stack.touch(c)
}

// LocalAddr is net.Conn's.
func (c *Conn) LocalAddr() net.Addr { return net.TCPAddrFromAddrPort(c.local) }

// RemoteAddr is net.Conn's.
func (c *Conn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.remote) }

// State is that of the connection's machine.
func (c *Conn) State() tcp.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.machine.State()
}

// SetDeadline is net.Conn's.
func (c *Conn) SetDeadline(t time.Time) error {
	c.readBy.set(t)
	c.writeBy.set(t)
	return nil
}

// SetReadDeadline is net.Conn's.
func (c *Conn) SetReadDeadline(t time.Time) error { c.readBy.set(t); return nil }

// SetWriteDeadline is net.Conn's.
func (c *Conn) SetWriteDeadline(t time.Time) error { c.writeBy.set(t); return nil }

func (c *Conn) fail(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}
