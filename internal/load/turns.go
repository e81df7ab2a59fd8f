package load

// Connections that follow each other in each place: connect, one request, and its reply or the
// server's end of file.

import "golang.org/x/sys/unix"

// turns drives a codec with a connection for each request.
//
// A transfer has no reply. Its client half-closes when the request is out, and the server's end of
// file tells that its application has read it all. The client closes first, so what rests in
// TIME-WAIT rests on the load's side: its addresses (Plan.Sources) must have ports enough.
type turns struct {
	requests
	transfers bool
	turn      []int // of each place: connections so far
}

func newTurns(d requests, transfers bool) *turns {
	return &turns{requests: d, transfers: transfers, turn: make([]int, len(d.conns))}
}

func (d *turns) connect(int64) {} // that is the load

func (d *turns) start() {
	for i := range d.conns {
		d.now = nanotime()
		d.begin(&d.conns[i])
	}
}

// begin opens the next connection in a place, which sends its request as soon as it stands.
func (d *turns) begin(c *conn) {
	if !d.sending || c.left <= 0 || c.state != connClosed {
		return
	}
	d.issue(c, d.now)
	d.open(c, d.turn[c.index])
}

func (d *turns) connected(c *conn) { d.send(c) }

func (d *turns) ready(c *conn, events uint32) { d.attend(d, c, events) }

func (d *turns) send(c *conn) { d.write(d, c) }

func (d *turns) wrote(c *conn) {
	if !d.transfers {
		return
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SHUTDOWN, uintptr(c.fd), unix.SHUT_WR, 0); e != 0 {
		kind := ioKind(e)
		if e == unix.ENOTCONN { // it was reset just now
			kind = Reset
		}
		d.fail(c, kind, "connection %d, turn %d: half-closing it: %v", c.id, d.turn[c.index], e)
	}
}

func (d *turns) arrived(c *conn, p []byte) {
	n, kind := d.codec.check(c, p)
	for range n {
		d.replied(c)
	}
	switch {
	case kind != "":
		d.failReply(c, kind)
	case n > 0:
		d.next(c)
	}
}

// replied records the time from the connection's beginning.
func (d *turns) replied(c *conn) {
	if f := d.answer(c); d.measuring {
		d.service.Record(d.now - f.due)
	}
}

func (d *turns) endOfFile(c *conn) {
	if d.transfers && c.issued > c.answered && c.sent == c.issued {
		d.replied(c)
		d.next(c)
		return
	}
	d.requests.endOfFile(c)
}

// next closes a connection whose request is served, and opens the next in its place.
func (d *turns) next(c *conn) {
	d.closeConn(c, connClosed)
	d.turn[c.index]++
	d.begin(c)
}

func (d *turns) part() Part {
	if d.transfers {
		return &Transfers{Done: d.served, Total: d.total, BytesOut: d.windowOut, Took: &d.service}
	}
	return &Turns{Answered: d.served, Total: d.total, BytesOut: d.windowOut, BytesIn: d.windowIn,
		Took: &d.service}
}
