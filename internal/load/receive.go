package load

// Receiving: events, replies, and the ends that connections come to.

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// handle takes what epoll says of a connection.
func (w *worker) handle(c *conn, events uint32) {
	switch c.state {
	case connConnecting:
		w.finishConnect(c)
	case connOpen, connEnding:
	default:
		return
	}
	if w.bulk != nil {
		if c.state == connOpen {
			w.carry(c, events)
		}
		return
	}
	if events&unix.EPOLLOUT != 0 && !c.writable {
		c.writable = true
		w.flush(c)
	}
	if events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		if w.chat != nil {
			w.hear(c, events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0)
			return
		}
		w.read(c, events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0)
	}
}

// read takes what has arrived. A read that does not fill the buffer has emptied the socket, unless an end or an error
// stands behind the bytes.
func (w *worker) read(c *conn, toTheEnd bool) {
	for c.state == connOpen || c.state == connEnding {
		n, e := w.receive(c)
		switch {
		case e == unix.EAGAIN:
			return
		case e != 0:
			w.fail(c, ioKind(e), "connection %d, reading %s: %v", c.id, w.awaited(c), e)
			return
		case n == 0:
			w.endOfFile(c)
			return
		}
		w.bytesIn += int64(n)
		w.arrived(c, w.in[:n])
		if n < len(w.in) && !toTheEnd {
			return
		}
	}
}

// receive reads once.
func (w *worker) receive(c *conn) (int, syscall.Errno) {
	switch {
	case w.images != nil:
		w.images.readAt = nanotime()
	case w.stream != nil && w.stream.stamps.of(c):
		return w.receiveStamped(c)
	}
	return rawRead(c.fd, w.in)
}

// awaited is what a connection would read next, in the words of an error.
func (w *worker) awaited(c *conn) string {
	switch {
	case w.stream != nil:
		return fmt.Sprintf("text %d", w.stream.hearing[c.index].next)
	case w.images != nil:
		return fmt.Sprintf("the answer to the %s of operation %d", stepNames[w.images.guests[c.index].step], c.answered)
	}
	return fmt.Sprintf("reply %d", c.answered)
}

func (w *worker) arrived(c *conn, p []byte) {
	switch {
	case w.stream != nil:
		w.hearTexts(c, p)
		return
	case w.images != nil:
		w.takeAnswer(c, p)
		return
	}
	n, kind := w.proto.check(c, p)
	for range n {
		w.noteReply(c)
	}
	if kind != "" {
		w.fail(c, kind, "connection %d, reply %d of %d asked for: %s", c.id, c.answered, c.issued, kind)
		return
	}
	if n == 0 {
		return
	}
	switch {
	case w.perTurn:
		w.endTurn(c)
	case !w.scheduled:
		w.topUp(c)
	}
}

// noteReply records that the oldest request in flight is answered.
func (w *worker) noteReply(c *conn) {
	f := w.rings.at(c.index, c.answered)
	c.answered++
	w.inFlight--
	w.result.Total++
	if w.measuring {
		w.result.Requests++
		w.timeline.add(w.now-w.opened, 1)
	}
	switch {
	case w.scheduled:
		if f.due >= w.openAt && f.due < w.closeAt {
			w.latency.Record(w.now - f.due)
			w.service.Record(w.now - f.sent)
		}
	case w.perTurn && w.measuring:
		w.service.Record(w.now - c.turnBegins)
	case w.measuring:
		w.service.Record(w.now - f.sent)
	}
}

func (w *worker) endOfFile(c *conn) {
	switch {
	case c.state == connEnding:
		w.closeConn(c, connDead)
		w.inFlight--
	case w.finished(c):
		w.noteReply(c)
		w.endTurn(c)
	case w.stream != nil:
		w.fail(c, Ended, "connection %d: the server ended it before %s", c.id, w.awaited(c))
	case w.images != nil:
		w.endOfAnswer(c)
	case c.part > 0:
		w.fail(c, Short, "connection %d: the server ended it %d bytes into reply %d", c.id, c.part, c.answered)
	default:
		w.fail(c, Ended, "connection %d: the server ended it after %d of %d replies", c.id, c.answered, c.issued)
	}
}

// fail gives a connection up. What was in flight on it is lost.
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

// expire gives a connection up that did not answer in time.
func (w *worker) expire(c *conn) {
	if w.ping != nil {
		return // nobody promised to answer
	}
	n := int64(c.issued - c.answered)
	if n == 0 {
		return
	}
	what := "had no reply"
	if !w.replies {
		what = "could not be sent"
	}
	w.faults.add(Timeout, n, "connection %d: %d requests %s when the load had ended for %v", c.id, n, what, w.drainTime())
	w.giveUp(c)
}

// giveUp forgets what is in flight on a connection and closes it.
func (w *worker) giveUp(c *conn) {
	w.inFlight -= int64(c.issued - c.answered)
	if w.chat != nil && w.stage == stageEnding && !w.chat.guests[c.index].done {
		w.chat.guests[c.index].done = true
		w.inFlight--
	}
	if w.stream != nil && w.stream.hearing[c.index].next == 0 {
		w.stream.waiting--
	}
	w.maybe += w.proto.increments(c, c.answered)
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
