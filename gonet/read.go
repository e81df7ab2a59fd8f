package gonet

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"interleave/gonet/tcp"
)

// connReader is the part of a connection that belongs to the goroutine that reads.
type connReader struct {
	mu        sync.Mutex   // one reader at a time, as for a file descriptor
	deadline  deadline     // it has a lock of its own
	piece     *tcp.Piece   // what was taken from the machine and not read, or nil; guarded by mu
	unreadLen atomic.Int64 // len(piece.Data), readable without mu
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	c.reader.mu.Lock()
	defer c.reader.mu.Unlock()
	if err := c.awaitBytes(len(p)); err != nil {
		return 0, err
	}
	return c.reader.copyTo(p), nil
}

// WriteTo implements io.WriterTo, so that io.Copy from a connection needs no buffer: w is given the
// bytes where the stack has them, at most 64 KiB by each call. WriteTo ends with the stream, which
// is no error. Bytes that w has not taken when it fails are left to the next Read.
func (c *Conn) WriteTo(w io.Writer) (sent int64, err error) {
	r := &c.reader
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		if err := c.awaitBytes(1); errors.Is(err, io.EOF) {
			return sent, nil
		} else if err != nil {
			return sent, err
		}
		given := len(r.piece.Data)
		r.unreadLen.Store(int64(given)) // a Close before w has them must not look like an end
		n, err := w.Write(r.piece.Data)
		r.consume(n)
		sent += int64(n)
		switch {
		case err != nil:
			return sent, err
		case n < given:
			return sent, io.ErrShortWrite
		}
	}
}

// awaitBytes waits until the reader has a piece with bytes. If there will be none, or the caller
// wants none, it returns the error, io.EOF included, with which a Read of size bytes ends. The
// caller holds reader.mu.
func (c *Conn) awaitBytes(size int) error {
	r := &c.reader
	for {
		if r.deadline.expired() {
			return c.fail("read", errDeadline)
		}
		var waiter <-chan struct{}
		over := false
		c.mu.Lock()
		err := c.readError(size)
		switch {
		case err != nil || size == 0 || r.piece != nil:
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
			r.free()
			return err
		case waiter == nil:
			return nil
		}
		if err := r.deadline.await(waiter); err != nil {
			return c.fail("read", err)
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
	case c.reader.piece != nil || m.Readable() > 0:
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
	p := c.machine.Take(now)
	c.reader.piece = p
	if len(p.Data) >= largePiece {
		c.transmit(c.machineTime(now), false)
	}
}

// largePiece is the size in bytes of a piece that only a bulk sender fills. The window update for
// it is sent at once, since such a sender may be waiting for room, and a user who reads that much
// rarely answers.
const largePiece = 32 << 10

// copyTo copies bytes of the piece to the user. It runs without the connection's mu, so that a
// large copy delays no other goroutine. The caller holds r.mu, as for consume and free.
func (r *connReader) copyTo(p []byte) int {
	if r.piece == nil { // a Read of no bytes
		return 0
	}
	n := copy(p, r.piece.Data)
	r.consume(n)
	return n
}

// consume notes that the user has n bytes of the piece.
func (r *connReader) consume(n int) {
	if r.piece.Data = r.piece.Data[n:]; len(r.piece.Data) == 0 {
		r.free()
	} else {
		r.unreadLen.Store(int64(len(r.piece.Data)))
	}
}

// free gives the memory of the piece back.
func (r *connReader) free() {
	if r.piece != nil {
		r.piece.Free()
		r.piece = nil
		r.unreadLen.Store(0)
	}
}
