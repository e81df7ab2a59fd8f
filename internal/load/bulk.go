package load

// Bulk: each connection carries as much as it can, one way. Into the server, what counts is what
// its stack has acknowledged: bytes that wait in a socket of ours have gone nowhere. Out of it, the
// byte at position i is i mod 251, so a byte that is lost or doubled shifts all that follow: the
// ends of each read are looked at, not all of it, for that would cost the load half as much again
// as reading does.

import (
	"bytes"
	"unsafe"

	"golang.org/x/sys/unix"

	"interleave/internal/manifest"
)

const (
	bulkBytes = 256 << 10 // of a read or a write
	bulkLook  = 512       // bytes at each end of a read that are looked at
	period    = 251       // of the pattern that servers send
)

// bulk drives the connections of one thread.
type bulk struct {
	base
	inward  bool // into the server
	pattern []byte
}

func newBulk(w *worker) driver {
	b := &bulk{base: base{w}, inward: w.plan.Load.Direction == "in",
		pattern: make([]byte, bulkLook+period)}
	for i := range b.pattern {
		b.pattern[i] = byte(i % period)
	}
	w.in, w.out = make([]byte, bulkBytes), make([]byte, bulkBytes)
	if !b.inward {
		w.addr.Port++
	}
	return b
}

// watch is by level: one read or write for each report, so that no connection keeps the
// others waiting.
func (b *bulk) watch() uint32 {
	if b.inward {
		return unix.EPOLLOUT | unix.EPOLLIN | unix.EPOLLRDHUP
	}
	return unix.EPOLLIN | unix.EPOLLRDHUP
}

// connected has close reset the connection: at the end of a bulk load the bytes that are still in
// sockets are not waited for.
func (b *bulk) connected(c *conn) {
	err := unix.SetsockoptLinger(int(c.fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	if err != nil {
		b.failConnect(c, err)
	}
}

func (b *bulk) start() {} // epoll tells at once what can be written or read

func (b *bulk) send(*conn) {} // nothing is issued

// ready writes what a connection can take, or reads what it has.
func (b *bulk) ready(c *conn, events uint32) {
	if b.inward && events&unix.EPOLLOUT != 0 && b.sending {
		b.writeOnce(c)
	}
	if c.state == connOpen && events&^unix.EPOLLOUT != 0 {
		b.readOnce(c)
	}
}

func (b *bulk) writeOnce(c *conn) {
	n, e := rawWrite(c.fd, b.out)
	switch e {
	case 0:
		b.bytesOut += int64(n)
		b.countBlocks(c, n)
	case unix.EAGAIN:
	default:
		b.fail(c, ioKind(e), "connection %d, after %d bytes to it: %v", c.id, c.part, e)
	}
}

func (b *bulk) readOnce(c *conn) {
	n, e := rawRead(c.fd, b.in)
	switch {
	case e == unix.EAGAIN:
		return
	case e != 0:
		b.fail(c, ioKind(e), "connection %d, after %d bytes from it: %v", c.id, c.part, e)
		return
	case n == 0:
		b.faults.add(Ended, 1, "connection %d: the server ended it after %d bytes", c.id, c.part)
		b.giveUp(c)
		return
	}
	b.bytesIn += int64(n)
	if kind := b.check(c.part, b.in[:n]); kind != "" {
		b.fail(c, kind, "connection %d, in %d bytes from %d on: %s", c.id, n, c.part, kind)
		return
	}
	b.countBlocks(c, n)
}

// check looks at what was read from a position of the stream on. A kind that is not empty
// says what is wrong.
func (b *bulk) check(position uint64, p []byte) (kind string) {
	if b.inward {
		return Extra
	}
	first := p[:min(len(p), bulkLook)]
	last := p[max(0, len(p)-bulkLook):]
	if !b.matches(position, first) || !b.matches(position+uint64(len(p)-len(last)), last) {
		return WrongReply
	}
	return ""
}

// matches tells whether p are the bytes from a position on.
func (b *bulk) matches(position uint64, p []byte) bool {
	i := position % period
	return bytes.Equal(p, b.pattern[i:i+uint64(len(p))])
}

// countBlocks counts the blocks that n more bytes have completed.
func (b *bulk) countBlocks(c *conn, n int) {
	blocks := int64((c.part+uint64(n))/manifest.BulkBlock - c.part/manifest.BulkBlock)
	c.part += uint64(n)
	b.count(blocks)
}

// unsent is how many bytes wait in sockets of this machine or are not acknowledged yet.
func (b *bulk) unsent() (total int64) {
	if !b.inward {
		return 0
	}
	for i := range b.conns {
		if c := &b.conns[i]; c.state == connOpen {
			var n int32
			_, _, e := unix.RawSyscall(unix.SYS_IOCTL, uintptr(c.fd), unix.SIOCOUTQ,
				uintptr(unsafe.Pointer(&n)))
			if e == 0 {
				total += int64(n)
			}
		}
	}
	return total
}

func (b *bulk) part() Part {
	p := &Bulk{Blocks: b.served, Total: b.total}
	if b.inward {
		p.Acknowledged = b.windowOut
	} else {
		p.Received = b.windowIn
	}
	return p
}
