package load

// Bulk: each connection carries as much as it can, one way. Into the server, what counts is what its stack has
// acknowledged: bytes that wait in a socket of ours have gone nowhere. Out of it, the byte at position i is i mod 251, so a
// byte that is lost or doubled shifts all that follow: the ends of each read are looked at, not all of it, for that would
// cost the load half as much again as reading does.

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

// bulk is what the connections of a thread share.
type bulk struct {
	in      bool // into the server
	pattern []byte
}

func newBulk(l *manifest.Load) *bulk {
	b := &bulk{in: l.Direction == "in", pattern: make([]byte, bulkLook+period)}
	for i := range b.pattern {
		b.pattern[i] = byte(i % period)
	}
	return b
}

func (b *bulk) requestBytes() uint64 { return manifest.BulkBlock }

func (b *bulk) fill(*conn, []byte) {}

func (b *bulk) increments(*conn, uint64) uint64 { return 0 }

// check looks at what was read from position c.part of the stream on.
func (b *bulk) check(c *conn, p []byte) (int, string) {
	if b.in {
		return 0, Extra
	}
	first := p[:min(len(p), bulkLook)]
	last := p[max(0, len(p)-bulkLook):]
	if !b.at(c.part, first) || !b.at(c.part+uint64(len(p)-len(last)), last) {
		return 0, WrongReply
	}
	return 0, ""
}

// at tells whether p are the bytes from a position on.
func (b *bulk) at(position uint64, p []byte) bool {
	i := position % period
	return bytes.Equal(p, b.pattern[i:i+uint64(len(p))])
}

// bulkEvents are by level: one read or write for each report, so that no connection keeps the others waiting.
func (b *bulk) events() uint32 {
	if b.in {
		return unix.EPOLLOUT | unix.EPOLLIN | unix.EPOLLRDHUP
	}
	return unix.EPOLLIN | unix.EPOLLRDHUP
}

// carry moves what a connection can take or has.
func (w *worker) carry(c *conn, events uint32) {
	if w.bulk.in && events&unix.EPOLLOUT != 0 && w.sending {
		w.pour(c)
	}
	if c.state == connOpen && events&^unix.EPOLLOUT != 0 {
		w.scoop(c)
	}
}

func (w *worker) pour(c *conn) {
	n, e := rawWrite(c.fd, w.out)
	switch e {
	case 0:
		w.bytesOut += int64(n)
		w.noteBulk(c, n)
	case unix.EAGAIN:
	default:
		w.fail(c, ioKind(e), "connection %d, after %d bytes to it: %v", c.id, c.part, e)
	}
}

func (w *worker) scoop(c *conn) {
	n, e := rawRead(c.fd, w.in)
	switch {
	case e == unix.EAGAIN:
		return
	case e != 0:
		w.fail(c, ioKind(e), "connection %d, after %d bytes from it: %v", c.id, c.part, e)
		return
	case n == 0:
		w.faults.add(Ended, 1, "connection %d: the server ended it after %d bytes", c.id, c.part)
		w.giveUp(c)
		return
	}
	w.bytesIn += int64(n)
	if _, kind := w.bulk.check(c, w.in[:n]); kind != "" {
		w.fail(c, kind, "connection %d, in %d bytes from %d on: %s", c.id, n, c.part, kind)
		return
	}
	w.noteBulk(c, n)
}

// noteBulk counts blocks.
func (w *worker) noteBulk(c *conn, n int) {
	blocks := int64((c.part+uint64(n))/manifest.BulkBlock - c.part/manifest.BulkBlock)
	c.part += uint64(n)
	w.result.Total += blocks
	if w.measuring {
		w.result.Requests += blocks
		w.timeline.add(w.now-w.opened, blocks)
	}
}

// queued is how many bytes wait in our sockets or are not acknowledged yet.
func (w *worker) queued() (total int64) {
	if w.bulk == nil || !w.bulk.in {
		return 0
	}
	for i := range w.conns {
		if c := &w.conns[i]; c.state == connOpen {
			var n int32
			_, _, e := unix.RawSyscall(unix.SYS_IOCTL, uintptr(c.fd), unix.SIOCOUTQ, uintptr(unsafe.Pointer(&n)))
			if e == 0 {
				total += int64(n)
			}
		}
	}
	return total
}

// linger has closing a connection reset it: at the end of a bulk load nobody waits for what is still in sockets.
func linger(fd int32) error {
	return unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
}
