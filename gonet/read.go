package gonet

import (
	"io"
	"sync"
	"sync/atomic"

	"interleave/gonet/tcp"
)

// connReader is the part of a connection that belongs to the goroutine that reads.
type connReader struct {
	mu        sync.Mutex   // one reader at a time, as for a file descriptor
	deadline  deadline     // it has a lock of its own
	piece     *tcp.Piece   // taken from the machine, not read to its end; guarded by mu
	unread    []byte       // the rest of piece; guarded by mu
	unreadLen atomic.Int64 // len(unread), readable without mu
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	c.reader.mu.Lock()
	defer c.reader.mu.Unlock()
	for {
		if c.reader.deadline.expired() {
			return 0, c.fail("read", errDeadline)
		}
		var waiter <-chan struct{}
		over := false
		c.mu.Lock()
		err := c.readError(len(p))
		switch {
		case err != nil || len(p) == 0 || len(c.reader.unread) > 0:
		case c.machine.Readable() > 0:
			now := c.stack.clock()
			c.takePiece(now)
			over = c.finishCall(now)
		default:
			waiter = c.awaitData()
		}
		c.mu.Unlock()
		if over {
			c.postRemove()
		}
		switch {
		case err != nil:
			c.reader.free()
			return 0, err
		case waiter == nil:
			return c.reader.copyTo(p), nil
		}
		if err := c.reader.deadline.await(waiter); err != nil {
			return 0, c.fail("read", err)
		}
	}
}

// readError returns the error with which a Read of so many bytes ends, io.EOF included. It returns
// nil if there are bytes, or may be some later. The caller holds mu and reader.mu.
func (c *Conn) readError(size int) error {
	switch m := c.machine; {
	case c.closed:
		return c.fail("read", errClosed)
	case size == 0:
		return nil
	case c.readClosed:
		return io.EOF
	case len(c.reader.unread) > 0 || m.Readable() > 0:
		return nil
	case m.EndOfStream():
		return io.EOF
	case c.stackErr != nil:
		return c.fail("read", c.stackErr)
	case m.State() == tcp.Closed && m.Err() == nil:
		return io.EOF
	case m.State() == tcp.Closed:
		return c.fail("read", translate(m.Err()))
	}
	return nil
}

// takePiece takes the next bytes from the machine. The caller holds mu and reader.mu.
func (c *Conn) takePiece(now tcp.Time) {
	r := &c.reader
	r.piece = c.machine.Take(now)
	r.unread = r.piece.Data
	if len(r.unread) >= largePiece {
		c.transmit(c.machineTime(now), false)
	}
}

// largePiece is the size in bytes of a piece that only a bulk sender fills. The window update for
// it is sent at once, since such a sender may be waiting for room, and a user who reads that much
// rarely answers.
const largePiece = 32 << 10

// copyTo copies bytes of the piece to the user. It runs without the connection's mu, so that a
// large copy delays no other goroutine. The caller holds r.mu, as for free.
func (r *connReader) copyTo(p []byte) int {
	n := copy(p, r.unread)
	if r.unread = r.unread[n:]; len(r.unread) == 0 {
		r.free()
	} else {
		r.unreadLen.Store(int64(len(r.unread)))
	}
	return n
}

// free gives the memory of the piece back.
func (r *connReader) free() {
	if r.piece != nil {
		r.piece.Free()
		r.piece, r.unread = nil, nil
		r.unreadLen.Store(0)
	}
}
