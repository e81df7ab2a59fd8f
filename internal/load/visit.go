package load

// A client's visit to an image service: what it writes and reads, and how its operations follow each other.

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// visit goes on with what a client has to write: the rest of a request, or the next operation.
func (w *worker) visit(c *conn) {
	v := &w.images.guests[c.index]
	if v.step == stepRest {
		if c.sent == c.issued {
			return
		}
		f := w.rings.at(c.index, c.sent)
		v.due, v.post, v.fetched, v.gets, v.etag = f.due, 0, 0, 0, v.etag[:0]
		v.picture = &w.images.pictures[(uint64(c.id)+c.sent)%uint64(len(w.images.pictures))]
		c.sent++
		w.ask(c, v, stepPost)
		f.sent = v.began
		return
	}
	w.write(c, v)
}

// ask makes the next request of an operation and begins to write it.
func (w *worker) ask(c *conn, v *visitor, s step) {
	v.step, v.out, v.body, v.asked = s, 0, nil, true
	v.began, v.wrote, v.first = nanotime(), 0, 0
	v.head = w.images.request(v.head[:0], v)
	if s == stepPost {
		v.body = v.picture.bytes
	}
	w.write(c, v)
}

// write writes what is left of a request.
func (w *worker) write(c *conn, v *visitor) {
	for c.writable && v.asked && v.out < len(v.head)+len(v.body) {
		n, e := w.images.writev(c.fd, v)
		switch e {
		case 0:
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			c.writable = false
			return
		default:
			w.fail(c, ioKind(e), "connection %d, writing the %s of operation %d: %v", c.id, stepNames[v.step], c.answered, e)
			return
		}
		w.bytesOut += int64(n)
		v.out += n
	}
	if v.asked && v.wrote == 0 && v.out == len(v.head)+len(v.body) {
		v.wrote = nanotime()
	}
}

// endOfAnswer gives up a client whose server has ended its connection.
func (w *worker) endOfAnswer(c *conn) {
	v := &w.images.guests[c.index]
	kind := Ended
	if len(v.carry) > 0 || v.inBody {
		kind = Short
	}
	w.fail(c, kind, "connection %d: the server ended it, %d bytes into %s", c.id, max(v.at, len(v.carry)), w.awaited(c))
}

// takeAnswer takes bytes of an answer.
func (w *worker) takeAnswer(c *conn, p []byte) {
	v := &w.images.guests[c.index]
	if v.first == 0 {
		v.first = w.images.readAt
	}
	w.now = nanotime()
	if kind, what := w.partOfAnswer(c, v, p); kind != "" {
		w.fail(c, kind, "connection %d, %s: %s", c.id, w.awaited(c), what)
	}
}

// partOfAnswer reads bytes of an answer, of one at most: nothing is asked before the last answer has ended.
func (w *worker) partOfAnswer(c *conn, v *visitor, p []byte) (kind, what string) {
	if !v.inBody {
		var n int
		if n, kind, what = w.images.readHead(v, p); kind != "" || n < 0 {
			return kind, what
		}
		p = p[n:]
	}
	rest, ended, what := w.images.readBody(v, p)
	switch {
	case what != "":
		return WrongReply, what
	case !ended:
		return "", ""
	case len(rest) > 0:
		return Extra, fmt.Sprintf("%d bytes follow it that nobody asked for", len(rest))
	}
	v.inBody, v.asked = false, false
	w.answered(c, v)
	return "", ""
}

// answered goes on with an operation: one of its requests has its answer.
func (w *worker) answered(c *conn, v *visitor) {
	m := w.images
	took := w.now - v.began
	counts := w.measuring
	if w.scheduled {
		counts = v.due >= w.openAt && v.due < w.closeAt
	}
	switch v.step {
	case stepPost:
		v.post = took
		if counts {
			m.times.Post.record(v, w.now)
		}
		w.ask(c, v, stepGet)
		return
	case stepGet:
		v.gets++
		v.fetched += took
		if counts {
			m.times.Get.record(v, w.now)
		}
		if v.gets < m.reads {
			w.ask(c, v, stepGet)
			return
		}
		if counts {
			w.recordImage(v)
		}
		if !m.keeps {
			w.ask(c, v, stepDelete)
			return
		}
	}
	w.endVisit(c, v)
}

// recordImage records an operation whose image has come back.
func (w *worker) recordImage(v *visitor) {
	t := &w.images.times
	t.Response.Record(v.post + v.fetched)
	if w.scheduled {
		w.latency.Record(w.now - v.due)
	}
	if len(t.FirstPost) < cap(t.FirstPost) {
		t.FirstPost, t.FirstGet = append(t.FirstPost, v.post), append(t.FirstGet, v.fetched)
	}
}

// endVisit counts an operation. A cold one has nothing to delete.
func (w *worker) endVisit(c *conn, v *visitor) {
	v.step = stepRest
	f := w.rings.at(c.index, c.answered)
	c.answered++
	w.inFlight--
	w.result.Total++
	if w.measuring {
		w.result.Requests++
		w.timeline.add(w.now-w.opened, 1)
	}
	if w.scheduled && f.due >= w.openAt && f.due < w.closeAt || !w.scheduled && w.measuring {
		w.service.Record(w.now - f.sent)
	}
	if !w.scheduled {
		w.topUp(c)
		return
	}
	w.visit(c)
}
