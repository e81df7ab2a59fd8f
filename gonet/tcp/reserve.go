package tcp

// Writing without a copy. A user reserves room behind the send buffer, fills it without the lock
// under which the machine runs, and then commits the bytes. Meanwhile acknowledgements may empty
// the buffer, and the connection may end.

// Reserve returns room for n bytes at most, in two slices of which the second may be empty: none if
// there is no room now, or if the sending direction is closed. The user may fill it until Commit,
// which must follow, and no Write may come in between. Room for more than the largest segment is
// for a number of those: who fills it again and again sends no small ones.
func (c *Conn) Reserve(n int) (a, b []byte) {
	if n = min(n, c.Writable()); n <= 0 {
		return nil, nil
	}
	if whole := c.burst(); n > whole {
		n -= n % whole
	}
	out := &c.send.out
	out.grow(n)
	c.reserved = true
	return out.view(out.n, n)
}

// Commit takes the first n bytes of the room into the send buffer, and gives the rest back. If the
// sending direction was closed meanwhile, it takes none. It returns how many it has taken.
func (c *Conn) Commit(n int) int {
	c.reserved = false
	if c.send.closing || c.state == Closed {
		n = 0
	}
	out := &c.send.out
	if out.n += n; out.n == 0 {
		out.free()
	}
	return n
}

// freeOut empties the send buffer. Memory that a user may be filling does not go back to the pool,
// where another connection would find it.
func (c *Conn) freeOut() {
	if c.reserved {
		c.send.out = ring{}
		return
	}
	c.send.out.free()
}
