package gonet

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// flow names a connection: both addresses, those of IPv4 in the form that IPv6 has for them,
// and both ports.
type flow struct {
	local, remote         [16]byte
	localPort, remotePort uint16
}

func flowOf(local, remote netip.AddrPort) flow {
	return flow{local.Addr().As16(), remote.Addr().As16(), local.Port(), remote.Port()}
}

// Conn is a connection of TCP: a net.Conn. It has no goroutine of its own. Its machine runs under
// mu: in the dealer when segments arrive or its alarm has gone off, and in the goroutine that
// reads or writes.
type Conn struct {
	stack         *Stack
	flow          flow
	local, remote netip.AddrPort
	net           *network // in which neighbour was found; guarded by mu, as neighbour is
	neighbour     *neighbour
	pseudo        uint16 // the sum of the pseudo header, but for the length
	label         uint32 // of its packets of IPv6
	first         uint32 // where its sequence numbers begin, but for the clock
	listener      *Listener

	mu       sync.Mutex
	machine  *tcp.Conn
	cfg      tcp.Config
	alarmAt  tcp.Time // when its alarm will go off, 0 if none is set
	latest   tcp.Time // that the machine has heard of
	dead     error    // the stack has ended
	accepted bool     // the listener has been told
	closed   bool     // Close was called
	gone     bool     // the dealer has been asked to forget it, or has

	readable, writable chan struct{} // of one place, signalled; made when a goroutine waits
	handed             bool          // to the backlog: the dealer's own
	counted            atomic.Bool   // it is not in the listener's half any more
	touched            bool          // in the dealer's list: the dealer's own
	// its place among the stack's alarms, from 1 on, 0: none; guarded by their mutex
	alarm int
	// in the dealer's list of acknowledgements that wait; guarded by mu
	owes             bool
	waits            bool // in TIME-WAIT: the dealer's own
	readBy, writeBy  deadline
	reading, writing sync.Mutex   // one at a time, as for a descriptor
	piece            *tcp.Piece   // that Read has taken and not used up; guarded by reading
	unread           []byte       // of piece
	left             atomic.Int64 // len(unread), for who does not read
}

var _ net.Conn = (*Conn)(nil)

func (s *Stack) newConn(local, remote netip.AddrPort) (*Conn, error) {
	n := s.net.Load()
	nb, err := s.neighbourFor(remote.Addr())
	if err != nil {
		return nil, err
	}
	c := &Conn{
		stack: s, flow: flowOf(local, remote), local: local, remote: remote, net: n, neighbour: nb,
		cfg:    s.cfg.TCP,
		pseudo: wire.PseudoSum(local.Addr(), remote.Addr(), wire.ProtocolTCP, 0),
		readBy: makeDeadline(), writeBy: makeDeadline(),
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
	secret := s.hash(&c.flow, forConnection, 0)
	c.cfg.Clock, c.first = uint32(secret), uint32(secret>>32)
	// so that routers keep the packets of a connection on one way, and to nobody
	// foretellable (RFC 6437)
	c.label = c.cfg.Clock & 0xfffff
	return c, nil
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
			c.drop()
			return 0, c.fail("read", errClosed)
		case len(p) == 0:
			c.mu.Unlock()
			return 0, nil
		case len(c.unread) > 0:
			c.mu.Unlock()
			return c.use(p), nil
		case m.Readable() > 0:
			now := c.stack.clock()
			c.piece = m.Take(now)
			if len(c.piece.Data) >= large {
				c.transmit(c.at(now))
			}
			c.act(now)
			c.unread = c.piece.Data
			return c.use(p), nil
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
		if c.owes {
			// whoever waits for more sends nothing that the acknowledgement could go with
			c.transmit(c.at(c.stack.clock()))
		}
		if err := c.waitFor(&c.readable, &c.readBy); err != nil {
			return 0, c.fail("read", err)
		}
	}
}

// large is how many bytes of a piece tell of a sender that waits for room, so that it is told of it
// at once: little of what it is told goes along with an answer.
const large = 32 << 10

// use copies from the piece to the user, without mu: a large copy keeps nobody waiting. The
// caller has reading.
func (c *Conn) use(p []byte) int {
	n := copy(p, c.unread)
	if c.unread = c.unread[n:]; len(c.unread) == 0 {
		c.drop()
	} else {
		c.left.Store(int64(len(c.unread)))
	}
	return n
}

// drop gives the memory of the piece back. The caller has reading.
func (c *Conn) drop() {
	if c.piece != nil {
		c.piece.Free()
		c.piece, c.unread = nil, nil
		c.left.Store(0)
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
		case n == len(p) && n > 0: // all was taken, whatever has come between
			c.mu.Unlock()
			return n, nil
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
	c.finish()
	if c.left.Load() > 0 {
		c.machine.Abort() // as for all that was not read (RFC 2525 section 2.17)
	} else {
		c.machine.Close(now)
	}
	for _, waiter := range []chan struct{}{c.readable, c.writable} {
		if waiter != nil {
			signal(waiter)
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
	c.finish()
	c.machine.Abort()
	c.act(c.stack.clock())
	return nil
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
