package load

// Sending: what is due by the schedule, or what a closed loop may send again. A request that the
// socket does not take waits, and its lateness shows it.

import "golang.org/x/sys/unix"

// sendDue sends all requests that are due by now in this stage. Those that become due meanwhile
// wait for the next call: an engine that is behind must still read.
func (w *worker) sendDue() {
	for until := min(w.now, w.deadline-1); w.schedule.next <= until; {
		due := w.schedule.next
		if due >= w.closeAt || w.counting && w.left == 0 {
			w.schedule.end()
			return
		}
		c := &w.conns[w.order[w.turn]]
		if w.turn++; w.turn == len(w.order) {
			w.turn = 0
		}
		w.schedule.advance()
		w.issueDue(c, due)
		w.now = nanotime()
	}
}

func (w *worker) issueDue(c *conn, due int64) {
	if due >= w.openAt {
		w.offered += w.batch
	}
	if c.state != connOpen {
		w.faults.add(Lost, 1, "a request was due on connection %d, which had failed", c.id)
		return
	}
	if c.issued-c.answered == w.rings.size {
		w.faults.add(Backlog, 1,
			"%d requests wait on connection %d: the server is too slow for this rate", w.rings.size,
			c.id)
		w.abandon()
		return
	}
	w.issue(c, due)
	if c.writable {
		w.driver.send(c)
	}
}

func (w *worker) issue(c *conn, due int64) {
	w.rings.at(c.index, c.issued).due = due
	c.issued++
	w.inFlight++
	w.driver.issued(c)
	if w.counting {
		c.left--
		w.left--
	}
}

// topUp issues what a closed loop may send now.
func (w *worker) topUp(c *conn) {
	if !w.sending {
		return
	}
	for c.issued-c.answered < w.pipeline && c.left > 0 {
		w.issue(c, w.now)
	}
	if c.writable {
		w.driver.send(c)
	}
}

// A source makes the bytes of requests, which are all of one length.
type source interface {
	requestBytes() uint64
	// fill writes what follows the bytes that c has sent.
	fill(c *conn, p []byte)
	// wrote is told that a request is wholly written.
	wrote(c *conn)
}

// write writes what has been issued, until it is out or the socket is full.
func (w *worker) write(s source, c *conn) {
	size := s.requestBytes()
	for {
		pending := (c.issued-c.sent)*size - c.sentPart
		if pending == 0 {
			return
		}
		p := w.out[:min(pending, uint64(len(w.out)))]
		s.fill(c, p)
		n, e := rawWrite(c.fd, p)
		switch e {
		case 0:
		case unix.EAGAIN:
			c.writable = false
			return
		default:
			w.fail(c, ioKind(e), "connection %d, writing request %d: %v", c.id, c.sent, e)
			return
		}
		w.bytesOut += int64(n)
		c.sentPart += uint64(n)
		for c.sentPart >= size && c.sent < c.issued {
			c.sentPart -= size
			w.noteSent(c)
			s.wrote(c)
		}
	}
}

// noteSent records that a request is wholly written.
func (w *worker) noteSent(c *conn) {
	f := w.rings.at(c.index, c.sent)
	f.sent = w.now
	c.sent++
	if w.scheduled && w.inWindow(f.due) {
		w.late.Record(w.now - f.due)
	}
}
