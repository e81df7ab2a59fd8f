package load

// Receiving: events, and the ends that connections come to.

import (
	"golang.org/x/sys/unix"
)

// The events of epoll for a connection that has something to read, and for one that has ended.
const (
	readable = unix.EPOLLIN | ended
	ended    = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
)

// handle takes an event of epoll.
func (w *worker) handle(ev *unix.EpollEvent) {
	if ev.Fd == driverTag {
		w.driver.ready(nil, ev.Events)
		return
	}
	c := &w.conns[ev.Fd]
	if c.state == connConnecting {
		w.finishConnect(c)
	}
	if c.state == connOpen || c.state == connEnding {
		w.driver.ready(c, ev.Events)
	}
}

// canWrite tells whether an event says that a connection, which did not, takes bytes again.
func (c *conn) canWrite(events uint32) bool {
	if events&unix.EPOLLOUT == 0 || c.writable {
		return false
	}
	c.writable = true
	return true
}

// A reader reads from a connection: so many bytes into the worker's buffer, or an error.
type reader interface {
	receive(c *conn) (int, unix.Errno)
	// arrived takes what has been read.
	arrived(c *conn, p []byte)
	// endOfFile takes the server's end.
	endOfFile(c *conn)
	// awaited names, for an error, the reply that a connection would read next.
	awaited(c *conn) string
}

// attend sends what a connection has waited with, if it takes bytes again, and reads what has come.
func (w *worker) attend(r reader, c *conn, events uint32) {
	if c.canWrite(events) {
		w.driver.send(c)
	}
	if events&readable != 0 {
		w.read(r, c, events)
	}
}

// read takes what has arrived. A read that does not fill the buffer has emptied the socket, unless
// an end or an error stands behind the bytes.
func (w *worker) read(r reader, c *conn, events uint32) {
	for c.state == connOpen || c.state == connEnding {
		n, e := r.receive(c)
		switch {
		case e == unix.EAGAIN:
			return
		case e != 0:
			w.fail(c, ioKind(e), "connection %d, reading %s: %v", c.id, r.awaited(c), e)
			return
		case n == 0 && c.state == connEnding:
			w.closeConn(c, connDead)
			w.inFlight--
			return
		case n == 0:
			r.endOfFile(c)
			return
		}
		w.bytesIn += int64(n)
		r.arrived(c, w.in[:n])
		if n < len(w.in) && events&ended == 0 {
			return
		}
	}
}

// answer counts the oldest request in flight as answered, and gives when it was due and sent.
func (w *worker) answer(c *conn) *flight {
	f := w.rings.at(c.index, c.answered)
	c.answered++
	w.inFlight--
	w.count(w.batch)
	return f
}

// fail gives a connection up. Its requests in flight are lost.
func (w *worker) fail(c *conn, kind, format string, args ...any) {
	w.faults.add(kind, 1, format, args...)
	switch c.state {
	case connEnding: // it waited for nothing but its end
		w.inFlight--
		w.closeConn(c, connDead)
		return
	case connOpen:
		w.faults.add(Lost, int64(c.issued-c.answered), "")
	}
	w.giveUp(c)
}

// giveUp forgets what is in flight on a connection and closes it.
func (w *worker) giveUp(c *conn) {
	w.driver.lost(c)
	w.inFlight -= int64(c.issued - c.answered)
	if w.counting {
		w.left -= c.left
	}
	c.left = 0
	c.answered, c.sent, c.sentPart = c.issued, c.issued, 0
	w.closeConn(c, connDead)
}

func (w *worker) closeConn(c *conn, state connState) {
	if c.fd >= 0 {
		unix.Close(int(c.fd))
		c.fd = -1
	}
	if c.state != connDead && state == connDead {
		w.living--
	}
	c.state = state
}
