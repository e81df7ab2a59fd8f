package load

// Requests and replies of known lengths, many on each connection: the driver of the protocols that
// need only say what the bytes are.

import (
	"fmt"

	"golang.org/x/sys/unix"

	"interleave/internal/manifest"
)

// A codec makes the bytes of requests and holds those of replies against them.
type codec interface {
	requestBytes() uint64
	// fill writes what follows the bytes that c has sent.
	fill(c *conn, p []byte)
	// check reads what follows the bytes that c has received, and counts the replies that end in
	// it. A kind that is not empty says what is wrong.
	check(c *conn, p []byte) (replies int, kind string)
	// lost is told that a connection is given up: it stays unknown which of its unanswered
	// requests the server has served.
	lost(c *conn)
}

// noReplies is the part of a codec whose requests have none.
type noReplies struct{}

func (noReplies) check(*conn, []byte) (int, string) { return 0, Extra }

func (noReplies) lost(*conn) {}

// requests drives a codec.
type requests struct {
	base
	codec   codec
	replies bool // else a request is over when it is written
}

// newRequests makes the driver that a shape needs.
func newRequests(w *worker, c codec) driver {
	d := requests{base: base{w}, codec: c, replies: w.plan.Load.Shape != manifest.Paced}
	if w.plan.Load.Shape == manifest.Connect {
		return newTurns(d, false)
	}
	return &d
}

func (d *requests) ready(c *conn, events uint32) { d.attend(d, c, events) }

func (d *requests) requestBytes() uint64 { return d.codec.requestBytes() }

func (d *requests) fill(c *conn, p []byte) { d.codec.fill(c, p) }

func (d *requests) wrote(c *conn) {
	if !d.replies {
		d.answer(c)
	}
}

func (d *requests) send(c *conn) { d.write(d, c) }

func (d *requests) receive(c *conn) (int, unix.Errno) { return rawRead(c.fd, d.in) }

func (d *requests) arrived(c *conn, p []byte) {
	n, kind := d.codec.check(c, p)
	for range n {
		d.replied(c)
	}
	switch {
	case kind != "":
		d.failReply(c, kind)
	case n > 0 && !d.scheduled:
		d.topUp(c)
	}
}

func (d *requests) failReply(c *conn, kind string) {
	d.fail(c, kind, "connection %d, reply %d of %d asked for: %s", c.id, c.answered, c.issued, kind)
}

func (d *requests) replied(c *conn) {
	f := d.answer(c)
	switch {
	case d.scheduled:
		if d.inWindow(f.due) {
			d.latency.Record(d.now - f.due)
			d.service.Record(d.now - f.sent)
		}
	case d.measuring:
		d.service.Record(d.now - f.sent)
	}
}

func (d *requests) awaited(c *conn) string { return fmt.Sprintf("reply %d", c.answered) }

func (d *requests) endOfFile(c *conn) {
	if c.part > 0 {
		d.fail(c, Short, "connection %d: the server ended it %d bytes into reply %d", c.id, c.part,
			c.answered)
		return
	}
	d.fail(c, Ended, "connection %d: the server ended it after %d of %d replies", c.id, c.answered,
		c.issued)
}

func (d *requests) expire() {
	what := "had no reply"
	if !d.replies {
		what = "could not be sent"
	}
	d.expireAll(what)
}

// end half-closes where there are no replies. The server closes its side when it has everything.
func (d *requests) end() {
	for i := range d.conns {
		if c := &d.conns[i]; !d.replies && c.state == connOpen {
			d.halfClose(c)
		}
	}
}

func (d *requests) unended() {
	for i := range d.conns {
		if c := &d.conns[i]; c.state == connEnding {
			d.failUnended(c)
		}
	}
}

func (d *requests) lost(c *conn) { d.codec.lost(c) }

func (d *requests) part() Part {
	if !d.replies {
		return &Messages{Sent: d.served, Total: d.total, Offered: d.offered, BytesOut: d.windowOut,
			Late: &d.late}
	}
	p := &Requests{Answered: d.served, Total: d.total, Offered: d.offered, BytesOut: d.windowOut,
		BytesIn: d.windowIn, Service: &d.service}
	if d.scheduled {
		p.Latency, p.Late = &d.latency, &d.late
	}
	return p
}
