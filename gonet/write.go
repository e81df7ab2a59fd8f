package gonet

import (
	"cmp"
	"sync"

	"interleave/gonet/tcp"
)

// connWriter is the part of a connection that belongs to the goroutine that writes.
type connWriter struct {
	mu       sync.Mutex // one writer at a time, as for a file descriptor
	deadline deadline   // it has a lock of its own
}

// Write implements net.Conn. It returns when the send buffer has taken all of p.
func (c *Conn) Write(p []byte) (int, error) {
	c.writer.mu.Lock()
	defer c.writer.mu.Unlock()
	for n := 0; ; {
		if c.writer.deadline.expired() {
			return n, c.fail("write", errDeadline)
		}
		var waiter <-chan struct{}
		took, over := 0, false
		c.mu.Lock()
		err := c.writeError()
		if err == nil && n < len(p) {
			if took = c.machine.Write(p[n:]); took > 0 {
				over = c.finishCall(c.stack.clock())
			} else {
				waiter = makeWaiter(&c.writable)
			}
		}
		c.mu.Unlock()
		if over {
			c.postRemove()
		}
		n += took
		switch {
		case err != nil:
			return n, c.fail("write", err)
		case n == len(p):
			return n, nil
		case took > 0:
			continue
		}
		if err := c.writer.deadline.await(waiter); err != nil {
			return n, c.fail("write", err)
		}
	}
}

// writeError returns the error with which a Write ends, or nil if bytes can be sent now or later.
// The caller holds mu.
func (c *Conn) writeError() error {
	switch m := c.machine; {
	case c.closed:
		return errClosed
	case c.stackErr != nil:
		return c.stackErr
	case m.State() == tcp.Closed:
		return translate(cmp.Or(m.Err(), errPipe))
	case m.Finished():
		return errPipe
	}
	return nil
}
