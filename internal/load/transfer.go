package load

// Transfers: connect, send one message, half-close, and wait for the server's end of file, which tells that its
// application has read the client's. The client closes first, so what rests in TIME-WAIT rests on the load's side: its
// addresses (Plan.Sources) must have ports enough.

import "golang.org/x/sys/unix"

// transfer is the protocol: the bytes of a message are those of an echo's, and nothing comes back.
type transfer struct{ echo }

func (t *transfer) check(*conn, []byte) (int, string) { return 0, Extra }

// finishSending half-closes when the message is out.
func (w *worker) finishSending(c *conn) {
	if _, _, e := unix.RawSyscall(unix.SYS_SHUTDOWN, uintptr(c.fd), unix.SHUT_WR, 0); e != 0 {
		kind := ioKind(e)
		if e == unix.ENOTCONN { // it was reset just now
			kind = Reset
		}
		w.fail(c, kind, "connection %d, turn %d: half-closing it: %v", c.id, c.turns, e)
	}
}

// finished tells whether an end of file is what a transfer waits for: everything is sent.
func (w *worker) finished(c *conn) bool {
	return w.transfers && c.issued > c.answered && c.sent == c.issued
}
