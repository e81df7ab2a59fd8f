package gonet

import (
	"cmp"
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
		var waiter <-chan struct{}
		over := false
		c.mu.Lock()
		err := c.readError(len(p))
		switch {
		case err != nil || len(p) == 0 || len(c.unread) > 0:
		case c.machine.Readable() > 0:
			over = c.takePiece()
		default:
			waiter = c.awaitData()
		}
		c.mu.Unlock()
		if over {
			c.postRemove()
		}
		switch {
		case err != nil:
			c.freePiece()
			return 0, err
		case waiter == nil:
			return c.copyUnread(p), nil
		}
		if err := c.readBy.await(waiter); err != nil {
			return 0, c.fail("read", err)
		}
	}
}

// readError returns the error with which a Read of so many bytes ends, io.EOF included. It returns
// nil if there are bytes, or may be some later. The caller holds mu and readMu.
func (c *Conn) readError(size int) error {
	switch m := c.machine; {
	case c.closed:
		return c.fail("read", errClosed)
	case size == 0:
		return nil
	case c.readClosed:
		return io.EOF
	case len(c.unread) > 0 || m.Readable() > 0:
		return nil
	case m.EndOfStream():
		return io.EOF
	case c.stackErr != nil:
		return c.fail("read", c.stackErr)
	case m.State() == tcp.Closed && m.Err() == nil:
		return io.EOF
	case m.State() == tcp.Closed:
		return c.fail("read", translate(m.Err()))
	}
	return nil
}

// takePiece takes the next bytes from the machine. It returns what finishCall does. The caller
// holds mu and readMu.
func (c *Conn) takePiece() (over bool) {
	now := c.stack.clock()
	c.piece = c.machine.Take(now)
	c.unread = c.piece.Data
	if len(c.unread) >= largePiece {
		c.transmit(c.machineTime(now))
	}
	return c.finishCall(now)
}

// awaitData returns the reader's waiter. A user who waits for more data sends nothing with which
// the acknowledgement could go, so it is sent now. The caller holds mu.
func (c *Conn) awaitData() <-chan struct{} {
	if c.holdsACK {
		c.transmit(c.machineTime(c.stack.clock()))
	}
	return makeWaiter(&c.readable)
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
		var waiter <-chan struct{}
		took, over := 0, false
		c.mu.Lock()
		err := c.writeError()
		if err == nil && n < len(p) {
			if took = c.machine.Write(p[n:]); took > 0 {
				over = c.finishCall(c.stack.clock())
			} else {
				waiter = makeWaiter(&c.writable)
			}
		}
		c.mu.Unlock()
		if over {
			c.postRemove()
		}
		n += took
		switch {
		case err != nil:
			return n, c.fail("write", err)
		case n == len(p):
			return n, nil
		case took > 0:
			continue
		}
		if err := c.writeBy.await(waiter); err != nil {
			return n, c.fail("write", err)
		}
	}
}

// writeError returns the error with which a Write ends, or nil if bytes can be sent now or later.
// The caller holds mu.
func (c *Conn) writeError() error {
	switch m := c.machine; {
	case c.closed:
		return errClosed
	case c.stackErr != nil:
		return c.stackErr
	case m.State() == tcp.Closed:
		return translate(cmp.Or(m.Err(), errPipe))
	case m.Finished():
		return errPipe
	}
	return nil
}

// call runs f, which changes the machine or the options for a user, and sends what is due then. mu
// is held meanwhile. If the connection was closed or its stack has ended, call returns the error
// and does not run f.
func (c *Conn) call(op string, f func(now tcp.Time)) error {
	over := false
	c.mu.Lock()
	err := c.unusable()
	if err == nil {
		now := c.stack.clock()
		f(now)
		over = c.finishCall(now)
	}
	c.mu.Unlock()
	if over {
		c.postRemove()
	}
	if err != nil {
		return c.fail(op, err)
	}
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

// CloseWrite closes the sending direction. The peer reads an end of file, and may go on sending.
func (c *Conn) CloseWrite() error {
	return c.call("close", func(tcp.Time) { c.machine.CloseWrite() })
}

// CloseRead ends reading: Read returns io.EOF from now on, and what the peer sends is discarded.
func (c *Conn) CloseRead() error {
	return c.call("close", func(tcp.Time) {
		c.readClosed = true
		c.machine.CloseRead()
	})
}

// Close implements net.Conn. Bytes that were written are still sent. Data that arrives from now on
// is answered by a reset.
func (c *Conn) Close() error {
	err := c.call("close", c.closeMachine)
	if err != nil { // the next call fails with net.ErrClosed, also if the stack has ended
		c.mu.Lock()
		c.closed = true
		c.mu.Unlock()
	}
	return err
}

// closeMachine closes the machine as SetLinger says. The caller holds mu.
func (c *Conn) closeMachine(now tcp.Time) {
	c.markClosed()
	unread := c.unreadLen.Load() > 0 && !c.readClosed
	if c.linger == 0 || unread { // unread data is lost: the peer gets a reset (RFC 2525, 2.17)
		c.machine.Abort()
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
}

// Abort ends the connection with a reset.
func (c *Conn) Abort() error {
	return c.call("close", func(tcp.Time) {
		c.markClosed()
		c.machine.Abort()
	})
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
