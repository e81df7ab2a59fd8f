package server

import (
	"errors"
	"net"
	"syscall"
)

// A few goroutines write to all clients, as much as each socket takes without blocking. A batch so
// wakes a few goroutines, not one for each client. A client whose socket is full gets a goroutine
// of its own, which writes until the send queue is empty. A connection that is no kernel socket
// always has one.

// maxWriters is the most deliver goroutines, if there are so many cores. A guess.
const maxWriters = 8

// scheduleWrite has another goroutine write to a client.
func (s *server) scheduleWrite(c *conn) {
	s.writers.Add(1)
	if c.raw == nil {
		go c.write(nil)
		return
	}
	s.unwritten.Add(1)
	s.ready <- c
}

// deliver is one of the goroutines that write to all clients.
func (s *server) deliver() {
	var w writer
	try := w.try // one allocation, not one for each client
	for c := range s.ready {
		for out := c.next(); ; out = c.next() {
			if out == nil {
				s.writers.Done()
				break
			}
			if err := w.send(c.raw, out, try); err != nil || out.size == 0 {
				c.sent(out, err)
				continue
			}
			c.unsent(out)
			go c.write(out)
			break
		}
		if s.unwritten.Add(-1) == 0 {
			select {
			case s.written <- struct{}{}:
			default:
			}
		}
	}
}

// write writes until the client's send queue is empty.
func (c *conn) write(out *sendQueue) {
	defer c.server.writers.Done()
	if out == nil {
		out = c.next()
	}
	for ; out != nil; out = c.next() {
		c.sent(out, out.send(c.net))
	}
}

// next takes the client's send queue, to be written. It returns nil if there is nothing to write;
// then no goroutine writes to the client any more.
func (c *conn) next() *sendQueue {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.out
	c.out = nil
	if out == nil || c.cut {
		c.writing = false
		if c.ended {
			c.finish()
		}
		out.release()
		return nil
	}
	c.inFlight = out.size
	if c.ended {
		c.limitWrite()
	}
	return out
}

// unsent notes how much of a send queue is not written yet.
func (c *conn) unsent(out *sendQueue) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight = out.size
}

// sent notes that a send queue was written, or that writing has failed.
func (c *conn) sent(out *sendQueue, err error) {
	c.mu.Lock()
	c.inFlight = 0
	if err != nil {
		c.cut = true
	}
	c.mu.Unlock()
	out.release()
}

// A writer writes to sockets without blocking.
type writer struct {
	queue *sendQueue
	err   error
}

// send writes as much of a send queue as the socket takes now, and removes that from the queue. It
// does so even after a deadline has passed.
func (w *writer) send(raw syscall.RawConn, p *sendQueue, try func(uintptr)) error {
	w.queue, w.err = p, nil
	if err := raw.Control(try); err != nil {
		return err
	}
	return w.err
}

// maxGather is how many pieces one system call may write (IOV_MAX).
const maxGather = 1024

func (w *writer) try(fd uintptr) {
	p := w.queue
	for p.size > 0 {
		var n, some int
		var err error
		if len(p.pieces) == 1 {
			piece := p.bytes(p.pieces[0])
			some = len(piece)
			n, err = syscall.Write(int(fd), piece)
		} else {
			all := p.all(maxGather)
			for _, piece := range all {
				some += len(piece)
			}
			n, err = writev(int(fd), all)
			clear(all)
		}
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			return
		case err != nil:
			w.err = err
			return
		}
		if p.skip(n); n < some {
			return
		}
	}
}

// all returns the first n pieces of a send queue, for one system call.
func (p *sendQueue) all(n int) net.Buffers {
	all := p.gather[:0]
	for _, c := range p.pieces[:min(n, len(p.pieces))] {
		all = append(all, p.bytes(c))
	}
	p.gather = all
	return all
}

// skip removes the first n bytes from a send queue.
func (p *sendQueue) skip(n int) {
	p.size -= n
	i := 0
	for ; i < len(p.pieces); i++ {
		c := &p.pieces[i]
		if n < c.to-c.from {
			c.from += n
			break
		}
		n -= c.to - c.from
		c.run = nil
	}
	p.pieces = p.pieces[:copy(p.pieces, p.pieces[i:])]
}
