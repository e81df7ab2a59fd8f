package gonet

// Fill is a Write without a copy: f puts bytes where the stack will send them from. It gets room
// for at most size bytes in two slices, of which the second may be empty, and returns how many it
// has set, from the first one on. If there is little room, Fill returns 0 and does not call f:
// WaitWritable waits. f may block, but then others who write to c do, and it must not use c. Bytes
// of f are lost if the connection was closed meanwhile, which is an error.
func (c *Conn) Fill(size int, f func(a, b []byte) int) (int, error) {
	c.writer.mu.Lock()
	defer c.writer.mu.Unlock()
	if c.writer.deadline.expired() {
		return 0, c.fail("write", errDeadline)
	}
	var a, b []byte
	c.mu.Lock()
	err := c.writeError()
	if err == nil && c.hasRoom(size) {
		a, b = c.machine.Reserve(size)
	}
	c.mu.Unlock()
	if err != nil || len(a) == 0 {
		return 0, c.fail("write", err)
	}
	return c.commit(f(a, b))
}

// hasRoom tells whether there is room for size bytes, or as much as is worth a write. The caller
// holds mu.
func (c *Conn) hasRoom(size int) bool {
	return c.machine.Writable() >= min(size, c.writeThreshold())
}

// commit sends the bytes that were put into the room. The caller holds writer.mu.
func (c *Conn) commit(n int) (int, error) {
	over := false
	c.mu.Lock()
	err := c.writeError()
	if took := c.machine.Commit(n); err == nil && took > 0 {
		over = c.finishCall(c.stack.clock())
	}
	c.mu.Unlock()
	if over {
		c.postRemove()
	}
	if err != nil {
		return 0, c.fail("write", err)
	}
	return n, nil
}

// WaitWritable waits until Fill has room for size bytes, or for as many as are worth a write.
func (c *Conn) WaitWritable(size int) error {
	c.writer.mu.Lock()
	defer c.writer.mu.Unlock()
	for {
		if c.writer.deadline.expired() {
			return c.fail("write", errDeadline)
		}
		var waiter <-chan struct{}
		c.mu.Lock()
		err := c.writeError()
		if err == nil && !c.hasRoom(size) {
			waiter = makeWaiter(&c.writable)
		}
		c.mu.Unlock()
		if err != nil || waiter == nil {
			return c.fail("write", err)
		}
		if err := c.writer.deadline.await(waiter); err != nil {
			return c.fail("write", err)
		}
	}
}
