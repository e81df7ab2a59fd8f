package load

// A client of an image service: what it writes and reads, and how its operations follow each other.

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// send goes on with what a client has to write: the rest of a request, or the next operation.
func (m *images) send(c *conn) {
	v := &m.clients[c.index]
	if v.step == stepRest {
		if c.sent == c.issued {
			return
		}
		f := m.rings.at(c.index, c.sent)
		v.due, v.post, v.fetched, v.gets, v.etag = f.due, 0, 0, 0, v.etag[:0]
		v.picture = &m.pictures[(uint64(c.id)+c.sent)%uint64(len(m.pictures))]
		c.sent++
		m.ask(c, v, stepPost)
		f.sent = v.began
		return
	}
	m.writeRequest(c, v)
}

// ask makes the next request of an operation and begins to write it.
func (m *images) ask(c *conn, v *imageClient, s step) {
	v.step, v.out, v.body, v.asked = s, 0, nil, true
	v.began, v.wrote, v.first = nanotime(), 0, 0
	v.head = m.request(v.head[:0], v)
	if s == stepPost {
		v.body = v.picture.bytes
	}
	m.writeRequest(c, v)
}

// writeRequest writes what is left of a request.
func (m *images) writeRequest(c *conn, v *imageClient) {
	for c.writable && v.asked && v.out < len(v.head)+len(v.body) {
		n, e := m.writev(c.fd, v)
		switch e {
		case 0:
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			c.writable = false
			return
		default:
			m.fail(c, ioKind(e), "connection %d, writing the %s of operation %d: %v", c.id,
				stepNames[v.step], c.answered, e)
			return
		}
		m.bytesOut += int64(n)
		v.out += n
	}
	if v.asked && v.wrote == 0 && v.out == len(v.head)+len(v.body) {
		v.wrote = nanotime()
	}
}

// endOfFile gives up a client whose server has ended its connection.
func (m *images) endOfFile(c *conn) {
	v := &m.clients[c.index]
	kind := Ended
	if len(v.carry) > 0 || v.inBody {
		kind = Short
	}
	m.fail(c, kind, "connection %d: the server ended it, %d bytes into %s", c.id,
		max(v.at, len(v.carry)), m.awaited(c))
}

// arrived takes bytes of an answer.
func (m *images) arrived(c *conn, p []byte) {
	v := &m.clients[c.index]
	if v.first == 0 {
		v.first = m.readAt
	}
	m.now = nanotime()
	if kind, what := m.partOfAnswer(c, v, p); kind != "" {
		m.fail(c, kind, "connection %d, %s: %s", c.id, m.awaited(c), what)
	}
}

// partOfAnswer reads bytes of one answer: the next request is sent after the last answer has ended.
func (m *images) partOfAnswer(c *conn, v *imageClient, p []byte) (kind, what string) {
	if !v.inBody {
		var n int
		if n, kind, what = m.readHead(v, p); kind != "" || n < 0 {
			return kind, what
		}
		p = p[n:]
	}
	rest, ended, what := m.readBody(v, p)
	switch {
	case what != "":
		return WrongReply, what
	case !ended:
		return "", ""
	case len(rest) > 0:
		return Extra, fmt.Sprintf("%d bytes follow it that nobody asked for", len(rest))
	}
	v.inBody, v.asked = false, false
	m.goOn(c, v)
	return "", ""
}

// goOn goes on with an operation: one of its requests has its answer.
func (m *images) goOn(c *conn, v *imageClient) {
	took := m.now - v.began
	counts := m.measuring
	if m.scheduled {
		counts = m.inWindow(v.due)
	}
	switch v.step {
	case stepPost:
		v.post = took
		if counts {
			m.times.Post.record(v, m.now)
		}
		m.ask(c, v, stepGet)
		return
	case stepGet:
		v.gets++
		v.fetched += took
		if counts {
			m.times.Get.record(v, m.now)
		}
		if v.gets < m.reads {
			m.ask(c, v, stepGet)
			return
		}
		if counts {
			m.recordOperation(v)
		}
		if !m.keeps {
			m.ask(c, v, stepDelete)
			return
		}
	}
	m.endOperation(c, v)
}

// recordOperation records an operation whose image has come back.
func (m *images) recordOperation(v *imageClient) {
	t := &m.times
	t.Response.Record(v.post + v.fetched)
	if m.scheduled {
		m.latency.Record(m.now - v.due)
	}
	if len(t.FirstPost) < cap(t.FirstPost) {
		t.FirstPost, t.FirstGet = append(t.FirstPost, v.post), append(t.FirstGet, v.fetched)
	}
}

// endOperation counts an operation. A cold one has nothing to delete.
func (m *images) endOperation(c *conn, v *imageClient) {
	v.step = stepRest
	f := m.answer(c)
	if m.scheduled && m.inWindow(f.due) || !m.scheduled && m.measuring {
		m.service.Record(m.now - f.sent)
	}
	if !m.scheduled {
		m.topUp(c)
		return
	}
	m.send(c)
}
