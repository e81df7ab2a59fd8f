package gonet

import (
	"net"
	"net/netip"
	"time"

	"interleave/gonet/tcp"
)

// AsyncHandler has a method for each event of a connection, which the stack calls: nobody waits in
// a Read, Write or Accept. [Stack.ListenAsync] and [Stack.DialAsync] make such connections, without
// a goroutine or a channel for each. One handler may serve many.
//
// All calls of a stack come from one goroutine, its dealer, one after the other. So a handler needs
// no lock for what only its calls use. While it runs, the stack processes nothing else: no
// connection, no ping, no timer. A handler that has much to do hands it to another goroutine. What
// other peers send meanwhile waits at the link, or is dropped there when the link is full.
//
// A handler may call all methods of all AsyncConns, and DialAsync. None of these blocks. It must
// not call what waits for the dealer (Dial, Listen, Ping, Shutdown and the like) or for a peer
// (reads and writes of a Conn): it starts a goroutine for that. A panic in a handler ends the
// program, as it does in each goroutine that does not recover.
//
// AsyncBase has all methods, for a handler that needs only some.
type AsyncHandler interface {
	// Connected is the first call: the handshake has ended.
	Connected(c *AsyncConn)
	// Received offers bytes of the peer's stream, in order, and returns how many of them it has
	// taken. They are in the stack's memory: they must not be changed, nor used after the return.
	// If it has not taken all, the connection is paused, and the others are offered again after
	// Resume. Meanwhile the window of the peer fills: it may send as many bytes as SetReadBuffer
	// allows, and then waits.
	Received(c *AsyncConn, data []byte) int
	// Finished tells that the peer has closed its direction, and that all bytes before were taken.
	// The connection stays open until this end closes its own.
	Finished(c *AsyncConn)
	// Writable tells that there is room in the send buffer, after a Send that had too little.
	Writable(c *AsyncConn)
	// Timer tells that the time of SetTimer is over.
	Timer(c *AsyncConn)
	// Closed is the last call. The error is nil if both directions have ended in order and the peer
	// has acknowledged all that was sent. It is net.ErrClosed after Abort, after a Close that had
	// to reset the connection, and after the end of the stack; and else what a Conn would report,
	// such as syscall.ECONNREFUSED, ECONNRESET or ETIMEDOUT.
	Closed(c *AsyncConn, err error)
}

// AsyncBase is a handler that takes all bytes and discards them, closes its direction after its
// peer has, and aborts when a timer expires. Handlers embed it, and have methods of their own for
// what they do otherwise.
type AsyncBase struct{}

// Connected does nothing.
func (AsyncBase) Connected(*AsyncConn) {}

// Received takes all bytes.
func (AsyncBase) Received(_ *AsyncConn, data []byte) int { return len(data) }

// Finished closes the connection.
func (AsyncBase) Finished(c *AsyncConn) { _ = c.Close() } // it may be closed already

// Writable does nothing.
func (AsyncBase) Writable(*AsyncConn) {}

// Timer aborts the connection.
func (AsyncBase) Timer(c *AsyncConn) { _ = c.Abort() } // likewise

// Closed does nothing.
func (AsyncBase) Closed(*AsyncConn, error) {}

// AsyncConn is a TCP connection whose user is an AsyncHandler. No method blocks, and any goroutine
// may call each, also within the calls of a handler. Calls of one connection's handler do not nest:
// what a method causes is told after the current call has returned.
type AsyncConn struct {
	conn    Conn         // its mu guards the fields below without a note
	handler AsyncHandler // dealer only; nil before the listener has accepted, and after Closed

	running    bool // a call of the handler for this connection runs
	queued     bool // it is in the stack's asyncQueue
	paused     bool // Received has not taken all
	resumed    bool // Resume was called while a call ran
	wantsRoom  bool // a Send had too little room
	wantsFIN   bool // CloseWrite was called before the handshake had ended
	wantsClose bool // Close was called while a call ran, or before the SYN was sent
	wantsAbort bool // Abort was called then

	connected bool     // Connected was called
	finished  bool     // Finished was called
	over      bool     // Closed was called
	failure   error    // why there is no connection any more, if the machine does not know
	timerAt   tcp.Time // when Timer is called; 0: never
}

// Send takes bytes of p into the send buffer, and returns how many. They are sent at once, or after
// the current call of the connection's handler. If the buffer has too little room, Send takes less,
// and Writable is called when there is some again. Before Connected it may take nothing.
//
// Send is no io.Writer, whose Write takes all or fails.
func (a *AsyncConn) Send(p []byte) (int, error) {
	c := &a.conn
	c.mu.Lock()
	n, err := a.send(p)
	c.mu.Unlock()
	return n, c.fail("write", err)
}

// send is Send. The caller holds mu.
func (a *AsyncConn) send(p []byte) (n int, err error) {
	c := &a.conn
	switch {
	case a.wantsFIN:
		return 0, errPipe
	case c.machine == nil:
		err = c.unusable()
	default:
		err = c.writeError()
	}
	if err != nil {
		return 0, err
	}
	if c.machine != nil {
		n = c.machine.Write(p)
	}
	a.wantsRoom = a.wantsRoom || n < len(p)
	if n > 0 && !a.running {
		a.changed(c.stack.clock())
	}
	return n, nil
}

// Resume has the bytes offered that Received has not taken, and those that have come since.
func (a *AsyncConn) Resume() {
	a.conn.mu.Lock()
	defer a.conn.mu.Unlock()
	switch {
	case a.running:
		a.resumed = true
	case a.paused:
		a.paused = false
		a.enqueue()
	}
}

// SetTimer has Timer called after d, by the clock of the stack. A connection has one timer: a later
// call sets it anew, and one with a d of 0 or less stops it.
func (a *AsyncConn) SetTimer(d time.Duration) {
	c := &a.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	a.timerAt = 0
	if d <= 0 || a.over {
		return
	}
	now := c.stack.clock()
	a.timerAt = now.Add(d)
	if c.machine != nil && !a.running && !c.removed {
		c.arm(now)
	}
}

// CloseWrite closes the sending direction behind the bytes that were sent. The peer may go on.
func (a *AsyncConn) CloseWrite() error {
	c := &a.conn
	return c.fail("close", c.call(func(tcp.Time) {
		if c.machine == nil || c.machine.State() == tcp.SynSent {
			a.wantsFIN = true
		} else {
			c.machine.CloseWrite()
		}
	}))
}

// CloseRead ends reading: Received and Finished are not called any more, and what the peer sends is
// discarded.
func (a *AsyncConn) CloseRead() error {
	c := &a.conn
	return c.fail("close", c.call(func(tcp.Time) {
		c.readClosed = true
		if c.machine != nil {
			c.machine.CloseRead()
		}
	}))
}

// Close closes both directions, as that of Conn: what was sent still arrives, but bytes that were
// not taken, or that come later, are answered by a reset. Received, Finished and Writable are not
// called any more. Closed is, when the peer has acknowledged all.
func (a *AsyncConn) Close() error { return a.end(&a.wantsClose) }

// Abort ends the connection with a reset, also one that Close has not ended yet.
func (a *AsyncConn) Abort() error { return a.end(&a.wantsAbort) }

// end notes a wish to close, and closes unless that must wait.
func (a *AsyncConn) end(wish *bool) error {
	c := &a.conn
	c.mu.Lock()
	err := c.stackErr
	switch {
	case a.over, c.closed && wish == &a.wantsClose:
		err = errClosed
	case err == nil:
		c.closed, *wish = true, true
		if c.machine != nil && !a.running {
			now := c.machineTime(c.stack.clock())
			a.grantWishes(now)
			a.changed(now)
		}
	}
	c.mu.Unlock()
	return c.fail("close", err)
}

// LocalAddr returns the address of this end. Its port is 0 until a dialed connection has one.
func (a *AsyncConn) LocalAddr() netip.AddrPort { return a.conn.localAddr() }

// RemoteAddr returns the address of the peer.
func (a *AsyncConn) RemoteAddr() netip.AddrPort { return a.conn.flow.RemoteEnd() }

// Info describes the connection now. Before the SYN was sent, and soon after the return of Closed,
// it has only the addresses.
func (a *AsyncConn) Info() ConnInfo { return a.conn.Info() }

// SetKeepAliveConfig is that of Conn, as are the options below.
func (a *AsyncConn) SetKeepAliveConfig(k net.KeepAliveConfig) error {
	return a.conn.SetKeepAliveConfig(k)
}

// SetNoDelay switches Nagle's algorithm off. It is off at first.
func (a *AsyncConn) SetNoDelay(on bool) error { return a.conn.SetNoDelay(on) }

// SetReadBuffer sets the bound on received bytes that are not taken.
func (a *AsyncConn) SetReadBuffer(bytes int) error { return a.conn.SetReadBuffer(bytes) }

// SetWriteBuffer sets the bound on sent bytes that are not acknowledged.
func (a *AsyncConn) SetWriteBuffer(bytes int) error { return a.conn.SetWriteBuffer(bytes) }

// SetUserTimeout sets how long sent bytes may wait for an acknowledgement.
func (a *AsyncConn) SetUserTimeout(d time.Duration) error { return a.conn.SetUserTimeout(d) }

// SetLinger sets what Close does with bytes that are not acknowledged.
func (a *AsyncConn) SetLinger(seconds int) error { return a.conn.SetLinger(seconds) }

// SetTTL sets the TTL, or the hop limit of IPv6, of the packets.
func (a *AsyncConn) SetTTL(ttl uint8) error { return a.conn.SetTTL(ttl) }

// SetTOS sets the TOS, or the traffic class of IPv6, of the packets.
func (a *AsyncConn) SetTOS(tos uint8) error { return a.conn.SetTOS(tos) }
