package load

// Sending: what is due, or what a closed loop may send again. A request that the socket does not take waits, and its
// lateness shows it.

import "golang.org/x/sys/unix"

// sendDue sends all that is due by now in this stage. What becomes due meanwhile waits for the next call: an engine that
// is behind must still read.
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
		w.result.Offered += w.each()
	}
	if c.state != connOpen {
		w.faults.add(Lost, 1, "a request was due on connection %d, which had failed", c.id)
		return
	}
	if c.issued-c.answered == w.rings.size {
		w.faults.add(Backlog, 1, "%d requests wait on connection %d: the server is too slow for this rate", w.rings.size, c.id)
		w.abandon()
		return
	}
	w.rings.at(c.index, c.issued).due = due
	w.issue(c)
	if w.images != nil && due >= w.openAt && due < w.closeAt {
		w.late.Record(w.now - due) // a client that is busy may send later, and its server answers for that
	}
	if c.writable {
		w.flush(c)
	}
}

func (w *worker) issue(c *conn) {
	c.issued++
	w.inFlight++
	if w.chat != nil {
		w.chat.begun(c)
	}
	if w.counting {
		c.left--
		w.left--
	}
}

// topUp issues what a closed loop may send now.
func (w *worker) topUp(c *conn) {
	if !w.sending || w.chat != nil && !w.chat.mayTalk(c) {
		return
	}
	for c.issued-c.answered < w.pipeline && c.left > 0 {
		w.rings.at(c.index, c.issued).due = w.now
		w.issue(c)
	}
	if c.writable {
		w.flush(c)
	}
}

// flush writes what was issued, until it is out or the socket is full.
func (w *worker) flush(c *conn) {
	if w.ping != nil {
		w.flushPings(c)
		return
	}
	if w.images != nil {
		w.visit(c)
		return
	}
	for {
		if w.chat != nil && c.sentPart == 0 && !w.flushAside(c) {
			return
		}
		pending := (c.issued-c.sent)*w.size - c.sentPart
		if pending == 0 {
			return
		}
		p := w.out[:min(pending, uint64(len(w.out)))]
		w.proto.fill(c, p)
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
		if w.chat != nil && !w.scheduled {
			ackAtOnce(c.fd)
		}
		w.bytesOut += int64(n)
		c.sentPart += uint64(n)
		for c.sentPart >= w.size && c.sent < c.issued {
			c.sentPart -= w.size
			w.noteSent(c)
		}
	}
}

// noteSent records that a request is wholly written.
func (w *worker) noteSent(c *conn) {
	f := w.rings.at(c.index, c.sent)
	f.sent = w.now
	c.sent++
	if w.transfers {
		w.finishSending(c)
	}
	if !w.scheduled {
		return
	}
	if f.due >= w.openAt && f.due < w.closeAt {
		w.late.Record(w.now - f.due)
	}
	if w.replies {
		return
	}
	c.answered++
	w.inFlight--
	if w.chat != nil {
		w.countMessages()
		return
	}
	w.result.Total++
	if w.measuring {
		w.result.Requests++
		w.timeline.add(w.now-w.opened, 1)
	}
}
