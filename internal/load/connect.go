package load

// Opening connections: all before the load, or in shape connect one after the other as the load itself.

import (
	"time"

	"golang.org/x/sys/unix"
)

// connectTime bounds one connection attempt, a guess: a SYN that a full backlog dropped is sent again after 1, 3 and
// 7 s.
const connectTime = 10 * time.Second

// source is the address that the n-th connection in a place binds to, or nil.
func (w *worker) source(c *conn) unix.Sockaddr {
	if len(w.sources) == 0 {
		return nil
	}
	i := (int(c.id) + c.turns*w.plan.Load.Connections) % len(w.sources)
	return &w.sources[i]
}

// open begins to connect. The connection is watched from now on.
func (w *worker) open(c *conn) {
	fd, done, err := connectFrom(w.source(c), &w.addr)
	if err != nil {
		c.state = connConnecting
		w.failConnect(c, err)
		return
	}
	c.fd, c.state, c.writable = fd, connConnecting, false
	if done {
		c.state, c.writable = connOpen, true
	}
	watch := uint32(edge)
	if w.bulk != nil {
		watch = w.bulk.events()
		if err := linger(fd); err != nil {
			w.failConnect(c, err)
			return
		}
	}
	if e := w.poll.add(fd, c.index, watch); e != 0 {
		w.fail(c, ioKind(e), "connection %d: watching it: %v", c.id, e)
	}
}

func (w *worker) failConnect(c *conn, err error) {
	w.fail(c, "connect "+errnoName(err), "connection %d to %v: %v", c.id, w.plan.Addr, err)
}

// finishConnect learns how a connection attempt has ended.
func (w *worker) finishConnect(c *conn) {
	if err := connectError(c.fd); err != nil {
		w.failConnect(c, err)
		return
	}
	c.state, c.writable = connOpen, true
	switch {
	case w.stream != nil:
		w.askForStream(c)
		return
	case w.chat != nil:
		w.register(c)
	}
	w.flush(c)
}

// underWay is how many of the first connections do not stand yet, or in a chat are not greeted; and how many of these do not stand.
func (w *worker) underWay(begun int) (n, connecting int) {
	for i := range w.conns[:begun] {
		switch w.conns[i].state {
		case connConnecting:
			n++
			connecting++
		case connOpen:
			if w.chat != nil && !w.chat.guests[i].done {
				n++
			}
		}
	}
	return n, connecting
}

// connectAll opens every connection, as fast as the ramp allows, and returns when none is under way.
func (w *worker) connectAll(limitAt int64) {
	r := newRamp(nanotime(), w.shared.parts)
	begun, last := 0, nanotime()
	d := door{places: atTheDoor, since: last}
	for {
		w.now = nanotime()
		under, connecting := w.underWay(begun)
		for ; begun < min(len(w.conns), r.allowed(w.now)) && (w.chat == nil || d.open(under, connecting, begun-under, w.now)); begun++ {
			c := &w.conns[begun]
			w.open(c)
			if w.chat != nil && c.state == connOpen {
				w.register(c)
			}
			last = w.now
			under++
		}
		if begun == len(w.conns) && under == 0 {
			return
		}
		if w.now > limitAt || (begun == len(w.conns) || w.chat != nil) && w.now > last+int64(connectTime) {
			w.giveUpConnecting()
			return
		}
		n, e := w.poll.wait(int64(time.Millisecond))
		if e != 0 {
			w.faults.add(ioKind(e), 1, "waiting for connections: %v", e)
			return
		}
		for i := range n {
			ev := w.poll.events[i]
			if ev.Fd == stopTag {
				return // the caller sees it
			}
			w.handle(&w.conns[ev.Fd], ev.Events)
		}
	}
}

func (w *worker) giveUpConnecting() {
	for i := range w.conns {
		switch c := &w.conns[i]; {
		case c.state == connConnecting || c.state == connClosed:
			w.failConnect(c, unix.ETIMEDOUT)
		case w.chat != nil && !w.chat.guests[i].done:
			w.fail(c, "connect "+errnoName(unix.ETIMEDOUT), "client %d was not greeted within %v", c.id, connectTime)
		}
	}
}

// beginTurn opens the next connection in a place and sends its message as soon as it stands.
func (w *worker) beginTurn(c *conn) {
	if !w.sending || c.left <= 0 || c.state != connClosed {
		return
	}
	c.turnBegins = w.now
	w.issue(c)
	w.open(c)
	if c.state == connOpen {
		w.flush(c)
	}
}

// endTurn closes a connection that has answered and opens the next.
func (w *worker) endTurn(c *conn) {
	w.closeConn(c, connClosed)
	c.turns++
	w.beginTurn(c)
}

// halfClose tells the server that nothing more comes.
func (w *worker) halfClose(c *conn) {
	c.state = connEnding
	w.inFlight++
	if err := unix.Shutdown(int(c.fd), unix.SHUT_WR); err != nil {
		w.fail(c, "io "+errnoName(err), "connection %d: half-closing it: %v", c.id, err)
	}
}
