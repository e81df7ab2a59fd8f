package gonet

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"interleave/gonet/neighbour"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// flow identifies a connection: both addresses and both ports. IPv4 addresses are in their
// IPv4-mapped form.
type flow struct {
	local, remote         [16]byte
	localPort, remotePort uint16
}

func flowOf(local, remote netip.AddrPort) flow {
	return flow{local.Addr().As16(), remote.Addr().As16(), local.Port(), remote.Port()}
}

// Conn is a TCP connection: a net.Conn. It has no goroutine of its own. Its machine runs under mu:
// in the dealer when segments arrive or the alarm goes off, and in the goroutine that reads or
// writes.
type Conn struct {
	stack         *Stack
	flow          flow
	local, remote netip.AddrPort
	net           *network // the snapshot in which neighbour was looked up; both guarded by mu
	neighbour     *neighbour.Entry
	pseudo        uint16 // the checksum of the pseudo header without the length
	flowLabel     uint32 // of its IPv6 packets
	isnOffset     uint32 // the initial sequence number without its clock part (RFC 6528)
	listener      *Listener
	packetID      uint16 // the last IPv4 identification; guarded by mu

	mu        sync.Mutex
	machine   *tcp.Conn
	cfg       tcp.Config
	alarmAt   tcp.Time // when the alarm goes off, 0 if none is set
	lastTime  tcp.Time // the latest time that the machine was given
	stackErr  error    // why the stack has ended, nil while it runs
	delivered bool     // the connection was given to its listener's accept queue, or has none
	closed    bool     // Close was called
	// readClosed: CloseRead was called.
	readClosed bool
	linger     time.Duration // see SetLinger; negative: until the user timeout
	ttl, tos   uint8         // see SetTTL and SetTOS; a ttl of 0 is the stack's
	removed    bool          // removal from the dealer's table was requested, or is done

	readable, writable chan struct{} // capacity 1; made by the first goroutine that waits
	inAcceptQueue      bool          // it was put in the accept queue; dealer only
	leftBacklog        atomic.Bool   // it does not count in the listener's unaccepted any more
	updateQueued       bool          // it is in the stack's toUpdate; dealer only
	// alarm is the connection's index in the stack's heap of alarms, counted from 1; 0: no alarm.
	// It is guarded by the heap's mutex.
	alarm int
	// holdsACK tells whether the connection is in the stack's heldACKs; guarded by mu.
	holdsACK        bool
	inTimeWait      bool // it is in the stack's timeWaits; dealer only
	readBy, writeBy deadline
	readMu, writeMu sync.Mutex   // one reader and one writer at a time, as for a file descriptor
	piece           *tcp.Piece   // taken from the machine, not read to its end; guarded by readMu
	unread          []byte       // the rest of piece; guarded by readMu
	unreadLen       atomic.Int64 // len(unread), readable without readMu
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
		readBy: makeDeadline(), writeBy: makeDeadline(), linger: -1,
	}
	header := headerLen(remote.Addr())
	c.cfg.MSS = s.mtu(remote.Addr()) - header - wire.TCPLen
	if remote.Addr().Is6() {
		c.cfg.PeerMSS = wire.IPv6MinMTU - wire.IPv6Len - wire.TCPLen // RFC 9293 section 3.7.1
	}
	super := remote.Addr().Is4() && s.features.TCPv4 || remote.Addr().Is6() && s.features.TCPv6
	if !super {
		c.cfg.Burst = 0
	} else if c.cfg.Burst == 0 {
		c.cfg.Burst = s.features.MaxSuper - max(header, wire.IPv4MaxLen) - wire.TCPMaxLen
	}
	secret := s.hash(&c.flow, forConnection, 0)
	c.cfg.Clock, c.isnOffset = uint32(secret), uint32(secret>>32)
	// A flow label keeps the packets of a connection on one path. It must not be predictable (RFC
	// 6437 section 3).
	c.flowLabel = c.cfg.Clock & 0xfffff
	c.packetID = uint16(s.random())
	return c, nil
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	c.readMu.Lock()
	defer c.readMu.Unlock()
	for {
		if c.readBy.expired() {
			return 0, c.fail("read", errDeadline)
		}
		c.mu.Lock()
		m := c.machine
		switch {
		case c.closed:
			c.mu.Unlock()
			c.freePiece()
			return 0, c.fail("read", errClosed)
		case len(p) == 0:
			c.mu.Unlock()
			return 0, nil
		case c.readClosed:
			c.mu.Unlock()
			c.freePiece()
			return 0, io.EOF
		case len(c.unread) > 0:
			c.mu.Unlock()
			return c.copyUnread(p), nil
		case m.Readable() > 0:
			now := c.stack.clock()
			c.piece = m.Take(now)
			if len(c.piece.Data) >= largePiece {
				c.transmit(c.machineTime(now))
			}
			c.act(now)
			c.unread = c.piece.Data
			return c.copyUnread(p), nil
		case m.EndOfStream():
			c.mu.Unlock()
			return 0, io.EOF
		case c.stackErr != nil:
			c.mu.Unlock()
			return 0, c.fail("read", c.stackErr)
		case m.State() == tcp.Closed:
			err := m.Err()
			c.mu.Unlock()
			if err == nil {
				return 0, io.EOF
			}
			return 0, c.fail("read", translate(err))
		}
		if c.holdsACK {
			// A user who waits for more data sends nothing with which the acknowledgement could go.
			c.transmit(c.machineTime(c.stack.clock()))
		}
		if err := c.waitFor(&c.readable, &c.readBy); err != nil {
			return 0, c.fail("read", err)
		}
	}
}

// largePiece is the size in bytes of a piece that only a bulk sender fills. The window update for
// it is sent at once, since such a sender may be waiting for room, and a user who reads that much
// rarely answers.
const largePiece = 32 << 10

// copyUnread copies bytes of the piece to the user. It runs without mu, so that a large copy delays
// no other goroutine. The caller holds readMu.
func (c *Conn) copyUnread(p []byte) int {
	n := copy(p, c.unread)
	if c.unread = c.unread[n:]; len(c.unread) == 0 {
		c.freePiece()
	} else {
		c.unreadLen.Store(int64(len(c.unread)))
	}
	return n
}

// freePiece gives the memory of the piece back. The caller holds readMu.
func (c *Conn) freePiece() {
	if c.piece != nil {
		c.piece.Free()
		c.piece, c.unread = nil, nil
		c.unreadLen.Store(0)
	}
}

// Write implements net.Conn. It returns when the send buffer has taken all of p.
func (c *Conn) Write(p []byte) (int, error) {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	for n := 0; ; {
		if c.writeBy.expired() {
			return n, c.fail("write", errDeadline)
		}
		c.mu.Lock()
		m := c.machine
		switch {
		case n == len(p) && n > 0: // all bytes were taken, even if the connection has failed since
			c.mu.Unlock()
			return n, nil
		case c.closed:
			c.mu.Unlock()
			return n, c.fail("write", errClosed)
		case c.stackErr != nil:
			c.mu.Unlock()
			return n, c.fail("write", c.stackErr)
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

// CloseWrite closes the sending direction. The peer reads an end of file, and may go on sending.
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

// unusable returns the error with which every call on a closed or failed connection ends, or nil.
// The caller holds mu.
func (c *Conn) unusable() error {
	switch {
	case c.closed:
		return errClosed
	case c.stackErr != nil:
		return c.stackErr
	}
	return nil
}

// Close implements net.Conn. Bytes that were written are still sent. Data that arrives from now on
// is answered by a reset.
func (c *Conn) Close() error {
	c.mu.Lock()
	if err := c.unusable(); err != nil {
		c.closed = true
		c.mu.Unlock()
		return c.fail("close", err)
	}
	now := c.stack.clock()
	c.markClosed()
	if c.linger == 0 {
		c.machine.Abort()
	} else if c.unreadLen.Load() > 0 && !c.readClosed {
		c.machine.Abort() // unread data is lost, so the peer gets a reset (RFC 2525 section 2.17)
	} else {
		c.machine.Close(now)
	}
	for _, waiter := range []chan struct{}{c.readable, c.writable} {
		if waiter != nil {
			signal(waiter)
		}
	}
	if c.linger > 0 {
		c.resetAfter(c.linger)
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
	c.markClosed()
	c.machine.Abort()
	c.act(c.stack.clock())
	return nil
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return net.TCPAddrFromAddrPort(c.local) }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.remote) }

// State returns the state of RFC 9293 that the connection is in.
func (c *Conn) State() tcp.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.machine.State()
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	c.readBy.set(t)
	c.writeBy.set(t)
	return nil
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { c.readBy.set(t); return nil }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error { c.writeBy.set(t); return nil }

func (c *Conn) fail(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}
