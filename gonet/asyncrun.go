package gonet

import (
	"fmt"
	"sync"
	"sync/atomic"

	"interleave/gonet/tcp"
)

// How the dealer runs AsyncConns. Their machines, their place in the tables and the input of their
// segments are those of all connections. Only update is different, which runs after each batch: it
// calls the handler with what has happened, and then sends what is due, so that what the handler
// sends and closes goes with the acknowledgement. The segments of the batch are still in the memory
// in which they were read, and the handler is given the bytes there.
//
// A call runs without the connection's mu, so it can use all methods. What they change is sent when
// the call has returned. Other goroutines send at once, as those of a Conn do. Both leave to the
// dealer what a handler must be told of: they put the connection in the asyncQueue.

// asyncQueue has the connections that the dealer must look at: those that are to be dialed, and
// those of which a handler must be told something that no segment has caused.
type asyncQueue struct {
	waits atomic.Bool // conns is not empty, or will not be in a moment
	mu    sync.Mutex
	conns []*AsyncConn
	ended bool         // the stack has ended: nothing is queued any more
	taken []*AsyncConn // dealer only: the connections it has taken; conns gets the memory next
}

// addAsync queues a connection, and returns false if the stack has ended. Any goroutine.
func (s *Stack) addAsync(a *AsyncConn) bool {
	q := &s.tcp.async
	q.mu.Lock()
	if q.ended {
		q.mu.Unlock()
		return false
	}
	q.conns = append(q.conns, a)
	q.mu.Unlock()
	if !q.waits.Swap(true) {
		s.link.Interrupt()
	}
	return true
}

// enqueue has the dealer look at the connection. The caller holds mu.
func (a *AsyncConn) enqueue() {
	if !a.queued {
		a.queued = a.conn.stack.addAsync(a)
	}
}

// takeAsync has the next updateAll look at the connections of the queue. Dealer only.
func (s *Stack) takeAsync() {
	q := &s.tcp.async
	q.waits.Store(false)
	q.mu.Lock()
	q.conns, q.taken = q.taken[:0], q.conns
	q.mu.Unlock()
	s.dealer.now = max(s.dealer.now, s.clock())
	for i, a := range q.taken {
		q.taken[i] = nil
		a.conn.mu.Lock()
		a.queued = false
		if a.conn.machine == nil && !a.over {
			a.dial()
		}
		a.conn.mu.Unlock()
		s.queueUpdate(&a.conn)
	}
}

// end has addAsync refuse all that come later.
func (q *asyncQueue) end() {
	q.mu.Lock()
	q.ended = true
	q.mu.Unlock()
}

// endAsync tells the handlers of connections that were to be dialed that the stack has ended.
// Dealer only.
func (s *Stack) endAsync() {
	q := &s.tcp.async
	q.mu.Lock()
	waiting := q.conns
	q.conns = nil
	q.mu.Unlock()
	for _, a := range waiting {
		if a.conn.machine == nil && !a.over { // the others are in the table, or have ended
			a.conn.endWithStack(s.dealer.fail)
		}
	}
}

// takesNow tells whether the handler will be offered bytes that arrive in this batch before the
// batch ends. The caller holds mu.
func (a *AsyncConn) takesNow() bool { return !a.paused && !a.conn.closed }

// sooner returns the earlier one of the machine's deadline, if there is one, and the timer. The
// caller holds mu.
func (a *AsyncConn) sooner(at tcp.Time, ok bool) (tcp.Time, bool) {
	if a.timerAt != 0 && (!ok || a.timerAt < at) {
		return a.timerAt, true
	}
	return at, ok
}

// changed sends what a call of a method has made due, and has the dealer look at a connection that
// has ended. While a call of the handler runs, that is left to the dealer. The caller holds mu.
func (a *AsyncConn) changed(now tcp.Time) {
	c := &a.conn
	if a.running || c.machine == nil {
		return
	}
	if !c.removed {
		now = c.machineTime(now)
		c.transmit(now, false)
		c.arm(now)
	}
	if ended, _ := a.ended(); ended && !a.over {
		a.enqueue()
	}
}

// update calls the handler with what has happened, and sends what is due then. Dealer only; the
// caller does not hold mu.
func (a *AsyncConn) update(now tcp.Time) {
	c := &a.conn
	c.mu.Lock()
	a.runEvents(now)
	if c.machine == nil { // it could not be dialed, or has ended
		c.mu.Unlock()
		return
	}
	c.machine.Settle()
	if !c.removed {
		now = c.machineTime(now)
		c.transmitByDealer(now, false)
	}
	if left, ok := c.shrink(); ok {
		c.mu.Unlock()
		c.stack.keepRemnant(c, left, now)
		return
	}
	waits := c.machine.State() == tcp.TimeWait && !c.removed && !c.dealer.inTimeWait
	if waits {
		c.dealer.inTimeWait = true
		c.alarmAt = 0 // the alarm of what was sent would go off early, and for nothing
	}
	if !c.removed {
		c.armLater(now)
	}
	ended, _ := a.ended() // by what was sent: there is no route any more
	again := a.queued
	removed := a.over && c.newlyClosed()
	if removed {
		a.freeMachine()
	}
	c.mu.Unlock()
	switch {
	case ended && !a.over && !again:
		c.stack.queueUpdate(c)
	case removed:
		c.stack.removeConn(c)
	case waits:
		c.stack.enterTimeWait(c)
	}
}

// runEvents calls the handler with all that it must be told. Dealer only; the caller holds mu.
func (a *AsyncConn) runEvents(now tcp.Time) {
	c := &a.conn
	for !a.over {
		now = c.machineTime(now)
		a.grantWishes(now)
		if a.resumed {
			a.resumed, a.paused = false, false
		}
		ended, err := a.ended()
		switch {
		case a.hasBytes():
			if !a.offer(now) {
				return
			}
		case ended:
			a.closeHandler(err)
		case a.timerAt != 0 && a.timerAt <= now:
			a.timerAt = 0
			a.call(func(h AsyncHandler) { h.Timer(a) })
		case !a.connected:
			if c.machine == nil || c.machine.State() < tcp.Established {
				return
			}
			a.connect()
		case c.machine.EndOfStream() && !a.finished && !a.deaf():
			a.finished = true
			a.call(func(h AsyncHandler) { h.Finished(a) })
		case a.wantsRoom && !c.closed && c.machine.Writable() >= c.writeThreshold():
			a.wantsRoom = false
			a.call(func(h AsyncHandler) { h.Writable(a) })
		default:
			return
		}
	}
}

// call calls the handler without mu. The caller holds mu.
func (a *AsyncConn) call(f func(h AsyncHandler)) {
	h := a.handler
	a.running = true
	a.conn.mu.Unlock()
	f(h)
	a.conn.mu.Lock()
	a.running = false
}

// grantWishes closes or aborts the connection, if that was called for and had to wait. The caller
// holds mu.
func (a *AsyncConn) grantWishes(now tcp.Time) {
	c := &a.conn
	switch {
	case !a.wantsAbort && !a.wantsClose:
		return
	case c.machine == nil:
		a.failure = errClosed
	case a.wantsAbort:
		c.machine.Abort()
	default:
		c.closeMachine(now)
	}
	a.wantsAbort, a.wantsClose = false, false
}

// deaf tells whether the handler is not told any more of what the peer sends.
func (a *AsyncConn) deaf() bool { return a.conn.closed || a.conn.readClosed }

// hasBytes tells whether there are bytes to be offered.
func (a *AsyncConn) hasBytes() bool {
	return a.connected && !a.paused && !a.deaf() && a.conn.stackErr == nil &&
		a.conn.machine.Readable() > 0
}

// ended tells whether the connection has ended for its handler, and with which error. One that has
// ended in order has not before all bytes of the peer were taken. The caller holds mu.
func (a *AsyncConn) ended() (bool, error) {
	c, m := &a.conn, a.conn.machine
	switch {
	case a.failure != nil:
		return true, a.failure
	case c.stackErr != nil:
		return true, c.stackErr
	case m == nil:
		return false, nil
	case m.State() == tcp.Closed && m.Err() != nil:
		return true, translate(m.Err())
	case m.State() == tcp.Closed, m.State() == tcp.TimeWait:
		return a.finished || a.deaf(), nil
	}
	return false, nil
}

// closeHandler tells the handler that the connection has ended. The caller holds mu.
func (a *AsyncConn) closeHandler(err error) {
	c := &a.conn
	a.over, c.closed, a.timerAt = true, true, 0
	if c.machine != nil {
		c.machine.CloseRead() // frees what was not taken
	}
	if a.handler != nil {
		a.call(func(h AsyncHandler) { h.Closed(a, err) })
		a.handler = nil // TIME-WAIT need not keep what it holds
	}
}

// connect tells the handler that the handshake has ended. That of a new connection of a listener is
// what accept returns. The caller holds mu.
func (a *AsyncConn) connect() {
	c := &a.conn
	a.connected = true
	if l := c.listener; l != nil {
		c.leaveBacklog()
		if !isClosed(l.closed) {
			a.call(func(AsyncHandler) { a.handler = l.accept(a) })
		}
		if a.handler == nil {
			c.closed, a.wantsAbort = true, true
			return
		}
	}
	if a.wantsFIN {
		a.wantsFIN = false
		c.machine.CloseWrite()
	}
	if !c.closed {
		a.call(func(h AsyncHandler) { h.Connected(a) })
	}
}

// offer offers the handler the next bytes. It returns false if no more must be offered before the
// next batch: the handler has not taken all, but Resume was called meanwhile. A handler that always
// does so would else keep the dealer here for ever. The caller holds mu.
func (a *AsyncConn) offer(now tcp.Time) bool {
	c := &a.conn
	p := c.machine.Offer()
	n, offered := 0, len(p.Data)
	a.resumed = false
	a.call(func(h AsyncHandler) { n = h.Received(a, p.Data) })
	if n < 0 || n > offered {
		panic(fmt.Sprintf("gonet: Received has returned %d for %d bytes", n, offered))
	}
	c.machine.Took(p, n, c.machineTime(now))
	switch {
	case n == offered:
		return true
	case a.resumed:
		a.resumed = false
		a.enqueue()
		return false
	}
	a.paused = true
	return true
}

// evicted ends a connection that was removed from the table. If its handler was not told of its end
// yet, it is told now: the connection has left TIME-WAIT for another one. Dealer only; the caller
// holds mu.
func (a *AsyncConn) evicted() {
	if a.over {
		a.freeMachine()
		return
	}
	a.failure = errClosed
	a.conn.stack.queueUpdate(&a.conn)
}

// freeMachine gives the machine of a connection that has ended to the next one. The user may keep
// the AsyncConn for as long as it likes, but all its methods look for a machine first. The caller
// holds mu.
func (a *AsyncConn) freeMachine() {
	a.conn.machine.Free()
	a.conn.machine = nil
}
