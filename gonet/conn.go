package gonet

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"interleave/gonet/internal/demux"
	"interleave/gonet/internal/random"
	"interleave/gonet/neighbour"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// Conn is a TCP connection: a net.Conn. It has no goroutine of its own. Its machine runs under mu:
// in the dealer when segments arrive or the alarm goes off, and in the goroutine that reads or
// writes. The fields are grouped by their owners.
type Conn struct {
	connFixed
	connLocked
	dealer     connDealer
	*connUsers // nil in an AsyncConn
	// leftBacklog tells whether the connection does not count in its listener's unaccepted any
	// more. Any goroutine.
	leftBacklog atomic.Bool
	// alarm is the connection's index in the stack's heap of alarms, counted from 1; 0: no alarm.
	// The heap's mutex guards it.
	alarm int32
}

// connUsers has the parts of the goroutines that read and write.
type connUsers struct {
	reader connReader
	writer connWriter
}

// connFixed is the part of a connection that does not change any more once the connection is in the
// stack's table.
type connFixed struct {
	stack     *Stack
	listener  *Listener  // nil for a connection that was dialed or forwarded
	async     *AsyncConn // the AsyncConn that this is a part of; nil if it is a Conn alone
	flow      demux.Flow // the addresses of both ends
	pseudo    uint16     // the checksum of the pseudo header without the length
	clock     uint32     // the offset of its timestamps; the flow label of IPv6 is made of it
	isnOffset uint32     // the initial sequence number without its clock part (RFC 6528)
}

// connLocked is the part of a connection that mu guards: the dealer and the user's goroutines share
// it.
type connLocked struct {
	mu        sync.Mutex
	machine   *tcp.Conn
	cfg       *tcp.Config // shared with other connections, unless ownsConfig
	net       *network    // the snapshot in which neighbour was looked up
	neighbour *neighbour.Entry
	alarmAt   tcp.Time      // when the alarm goes off, or is set (unarmed.go); 0: never
	lastTime  tcp.Time      // the latest time that the machine was given
	stackErr  error         // why the stack has ended, or why no port can be dialed from
	linger    time.Duration // see SetLinger; negative: until the user timeout
	// The waiters, of capacity 1. Each is made by the first goroutine that waits.
	readable, writable chan struct{}
	packetID           uint16 // the last IPv4 identification
	ttl, tos           uint8  // see SetTTL and SetTOS; a ttl of 0 is the stack's
	delivered          bool   // it was given to its listener's accept queue, or has no listener
	closed             bool   // Close was called
	readClosed         bool   // CloseRead was called
	ownsConfig         bool   // cfg is its own: an option was set
	removed            bool   // removal from the dealer's table was requested, or is done
	holdsACK           bool   // it is in the stack's heldACKs
	hadAlarm           bool   // the alarm was set, and may be in the stack's heap
}

// connDealer is the part of a connection that only the dealer uses.
type connDealer struct {
	updateQueued  bool  // it is in the stack's toUpdate
	inAcceptQueue bool  // it was put in its listener's accept queue
	inTimeWait    bool  // it is in the stack's timeWaits
	wasUnarmed    bool  // it was put in the stack's unarmed
	unarmed       int32 // its index there, counted from 1; 0: it is not there any more
}

var _ net.Conn = (*Conn)(nil)

// newConn makes a connection for calls that block.
func (s *Stack) newConn(local, remote netip.AddrPort) (*Conn, error) {
	c, err := s.makeConn(remote)
	if err != nil {
		return nil, err
	}
	c.bind(local)
	return c, nil
}

// makeConn makes a connection to a peer that has no local address yet.
func (s *Stack) makeConn(remote netip.AddrPort) (*Conn, error) {
	whole := new(struct { // one allocation
		conn  Conn
		users connUsers
	})
	c := &whole.conn
	c.connUsers = &whole.users
	if err := s.initConn(c, remote); err != nil {
		return nil, err
	}
	return c, nil
}

// initConn fills in what does not depend on the local address of a connection.
func (s *Stack) initConn(c *Conn, remote netip.AddrPort) error {
	n := s.addresses.current()
	nb, err := s.neighbourFor(remote.Addr())
	if err != nil {
		return err
	}
	c.stack, c.flow = s, demux.FlowOf(netip.AddrPort{}, remote)
	c.net, c.neighbour, c.linger = n, nb, -1
	c.configure(&s.cfg.TCP, &s.tcp.configs)
	if nb != s.neighbours.self { // no header has it else
		c.packetID = uint16(s.random.Uint64())
	}
	return nil
}

// configure sets the options of a connection that has no machine yet. Those of the path are the
// stack's. shared has the configurations that were made of the same options.
func (c *Conn) configure(options *tcp.Config, shared *sharedConfigs) {
	s, remote := c.stack, c.flow.RemoteEnd().Addr()
	cfg, path := *options, 0
	header := headerLen(remote)
	cfg.MSS = s.mtu(remote) - header - wire.TCPLen
	if c.neighbour == s.neighbours.self {
		cfg.MSS = maxPacket - header - wire.TCPLen // no link carries the packets
		path++
	}
	if remote.Is6() {
		cfg.PeerMSS = wire.IPv6MinMTU - wire.IPv6Len - wire.TCPLen // RFC 9293 section 3.7.1
		path += 2
	}
	super := remote.Is4() && s.link.features.TCPv4 || remote.Is6() && s.link.features.TCPv6
	if !super {
		cfg.Burst = 0
	} else if cfg.Burst == 0 {
		cfg.Burst = s.link.features.MaxSuper - max(header, wire.IPv4MaxLen) - wire.TCPMaxLen
	}
	c.cfg, c.ownsConfig = shared[path].get(&cfg), false
}

// bind sets the local address of a connection, and what depends on it.
func (c *Conn) bind(local netip.AddrPort) {
	c.flow.SetLocal(local)
	c.pseudo = wire.PseudoSum(local.Addr(), c.flow.RemoteEnd().Addr(), wire.ProtocolTCP, 0)
	secret := c.flow.Hash(&c.stack.random, random.ForConnection, 0)
	c.clock, c.isnOffset = uint32(secret), uint32(secret>>32)
}

// run gives the connection its machine. The caller holds mu, or nobody else has the connection yet.
func (c *Conn) run(m *tcp.Conn) {
	m.SetClock(c.clock)
	c.machine = m
}

// call runs f, which changes the machine or the options for a user, and sends what is due then. mu
// is held meanwhile. If the connection was closed or its stack has ended, call returns the error
// and does not run f.
func (c *Conn) call(f func(now tcp.Time)) error {
	over := false
	c.mu.Lock()
	err := c.unusable()
	if err == nil {
		now := c.callTime()
		f(now)
		if c.async != nil {
			c.async.changed(now)
		} else {
			over = c.finishCall(now)
		}
	}
	c.mu.Unlock()
	if over {
		c.postRemove()
	}
	return err
}

// callTime returns the time for a user's call: the current one, or that of the batch in a call of a
// handler. The caller holds mu.
func (c *Conn) callTime() tcp.Time {
	if c.async != nil && c.async.running {
		return c.lastTime
	}
	return c.stack.clock()
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
	return c.fail("close", c.call(func(tcp.Time) { c.machine.CloseWrite() }))
}

// CloseRead ends reading: Read returns io.EOF from now on, and what the peer sends is discarded.
func (c *Conn) CloseRead() error {
	return c.fail("close", c.call(func(tcp.Time) {
		c.readClosed = true
		c.machine.CloseRead()
	}))
}

// Close implements net.Conn. Bytes that were written are still sent. Data that arrives from now on
// is answered by a reset.
func (c *Conn) Close() error {
	if err := c.call(c.closeMachine); err != nil {
		return c.closeFailed(err)
	}
	return nil
}

// closeFailed has the next call fail with net.ErrClosed, also if the stack has ended.
//
//go:noinline
func (c *Conn) closeFailed(err error) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return c.fail("close", err)
}

// closeMachine closes the machine as SetLinger says. The caller holds mu.
func (c *Conn) closeMachine(now tcp.Time) {
	c.markClosed()
	unread := c.connUsers != nil && c.reader.unreadLen.Load() > 0 && !c.readClosed
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
	return c.fail("close", c.call(func(tcp.Time) {
		c.markClosed()
		c.machine.Abort()
	}))
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return net.TCPAddrFromAddrPort(c.localAddr()) }

// localAddr returns the address of this end. That of an AsyncConn may change: the dealer gives it a
// port. The caller does not hold its mu.
func (c *Conn) localAddr() netip.AddrPort {
	if c.async != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
	}
	return c.flow.LocalEnd()
}

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.flow.RemoteEnd()) }

// State returns the state of RFC 9293 that the connection is in.
func (c *Conn) State() tcp.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.machine.State()
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t) // never fails
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.reader.deadline.set(t)
	c.signalIfMade(&c.readable)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.writer.deadline.set(t)
	c.signalIfMade(&c.writable)
	return nil
}

// signalIfMade has a goroutine that waits look again, if one ever has waited.
func (c *Conn) signalIfMade(waiter *chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *waiter != nil {
		signal(*waiter)
	}
}

// fail returns an error of package net for an error of a call, and nil for nil.
func (c *Conn) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}
