package load

// Connections are opened before the load, a few at a time.

import (
	"time"

	"golang.org/x/sys/unix"
)

// connectTime bounds one connection attempt, a guess: a SYN that a full backlog dropped is sent
// again after 1, 3 and 7 s.
const connectTime = 10 * time.Second

// An admission lets connections in before a load begins: no more at a time than a
// server has room for.
type admission interface {
	// admits tells whether one more connection may be begun, where begun have been and the load
	// waits for some of them.
	admits(begun, waiting int) bool
	// waiting is how many of the first connections the load must still wait for.
	waiting(begun int) int
	// hopeless tells whether to give up those that the load waits for: for so long, in ns,
	// nothing has changed.
	hopeless(begun int, quiet int64) bool
	// giveUp gives them up.
	giveUp()
}

// admit opens every connection, and returns when the load waits for none any more.
func (w *worker) admit(a admission, limitAt int64) {
	w.now = nanotime()
	begun, changed, before := 0, w.now, 0
	for {
		waiting := a.waiting(begun)
		if begun == len(w.conns) && waiting == 0 {
			return
		}
		if come := begun - waiting; come != before {
			before, changed = come, w.now
		}
		for ; begun < len(w.conns) && a.admits(begun, waiting); begun++ {
			w.open(&w.conns[begun], 0)
			changed = w.now
			waiting++
		}
		if w.now > limitAt || a.hopeless(begun, w.now-changed) {
			a.giveUp()
			return
		}
		if !w.listenAWhile("connections") {
			return
		}
		w.now = nanotime()
	}
}

// listenAWhile handles the events of a millisecond, before the load. It returns false if the load
// was stopped.
func (w *worker) listenAWhile(awaited string) bool {
	n, e := w.poll.wait(int64(time.Millisecond))
	if e != 0 {
		w.faults.add(ioKind(e), 1, "waiting for %s: %v", awaited, e)
		return false
	}
	for i := range n {
		ev := &w.poll.events[i]
		if ev.Fd == stopTag {
			return false
		}
		w.now = nanotime()
		w.handle(ev)
	}
	return true
}

// source is the address that a connection binds to, or nil. A place takes another one for
// each of its turns.
func (w *worker) source(c *conn, turn int) unix.Sockaddr {
	if len(w.sources) == 0 {
		return nil
	}
	return &w.sources[(int(c.id)+turn*w.plan.Load.Connections)%len(w.sources)]
}

// open begins to connect. The connection is watched from now on.
func (w *worker) open(c *conn, turn int) {
	fd, done, err := connectFrom(w.source(c, turn), &w.addr)
	c.state = connConnecting
	if err != nil {
		w.failConnect(c, err)
		return
	}
	c.fd, c.writable = fd, false
	if e := w.poll.add(fd, c.index, w.driver.watch()); e != 0 {
		w.fail(c, ioKind(e), "connection %d: watching it: %v", c.id, e)
		return
	}
	if done {
		w.stands(c)
	}
}

// finishConnect learns how a connection attempt has ended.
func (w *worker) finishConnect(c *conn) {
	if err := connectError(c.fd); err != nil {
		w.failConnect(c, err)
		return
	}
	w.stands(c)
}

func (w *worker) stands(c *conn) {
	c.state, c.writable = connOpen, true
	w.driver.connected(c)
}

func (w *worker) failConnect(c *conn, err error) {
	w.fail(c, "connect "+errnoName(err), "connection %d to %v: %v", c.id, w.plan.Addr, err)
}

// standing admits connections as fast as a ramp allows, and waits until they stand.
type standing struct {
	*worker
	ramp ramp
}

func (s *standing) admits(begun, _ int) bool { return begun < s.ramp.allowed(s.now) }

func (s *standing) waiting(begun int) (n int) {
	for i := range s.conns[:begun] {
		if s.conns[i].state == connConnecting {
			n++
		}
	}
	return n
}

func (s *standing) hopeless(begun int, quiet int64) bool {
	return begun == len(s.conns) && quiet > int64(connectTime)
}

func (s *standing) giveUp() {
	for i := range s.conns {
		if c := &s.conns[i]; c.state == connConnecting || c.state == connClosed {
			s.failConnect(c, unix.ETIMEDOUT)
		}
	}
}

// connectAll opens every connection, as fast as the ramp allows, and returns when none
// is under way.
func (w *worker) connectAll(limitAt int64) {
	w.admit(&standing{w, newRamp(nanotime(), w.shared.parts)}, limitAt)
}

// halfClose tells the server that nothing more comes, and waits for its end.
func (w *worker) halfClose(c *conn) {
	c.state = connEnding
	w.inFlight++
	if err := unix.Shutdown(int(c.fd), unix.SHUT_WR); err != nil {
		w.fail(c, "io "+errnoName(err), "connection %d: half-closing it: %v", c.id, err)
	}
}

// failUnended gives a connection up that the server had not ended in time.
func (w *worker) failUnended(c *conn) {
	w.fail(c, Undrained,
		"connection %d: the server had not ended it, or answered a last PING, %v after the "+
			"client's last message",
		c.id, w.endingTime())
}
