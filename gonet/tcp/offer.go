package tcp

import "interleave/gonet/wire"

// This file is for a user who is called with the bytes that have arrived, and may take a part of
// them, in place of one who reads. Such a user takes most segments while they are still in the
// memory in which the link has read them, so they need no copy.

// InputBorrowed is InputLoan for a payload that the user may take before the link uses its memory
// again. Settle must be called before that.
func (c *Conn) InputBorrowed(h *wire.TCP, p []byte, loan Loan, now Time) {
	c.input(h, text{p, loan, true}, now)
}

// Settle takes memory for the bytes that InputBorrowed has left in the link's and that the user has
// not taken.
func (c *Conn) Settle() {
	if r := &c.receive; r.borrowed {
		r.borrowed = false
		r.in.settle()
	}
}

// Offer removes the first piece of the bytes that have arrived, for a user who may take a part of
// it. It returns nil when there are no bytes now. They count as unread until Took is called, which
// must happen before the next Offer.
func (c *Conn) Offer() *Piece { return c.receive.in.detach() }

// Took notes that the user has taken the first n bytes of the piece that Offer has returned. The
// others are offered again, unless the user reads no more. A window update may be due afterwards:
// call Output.
func (c *Conn) Took(p *Piece, n int, now Time) {
	q := &c.receive.in
	switch q.n -= n; {
	case n == len(p.Data):
		p.Free()
	case c.readClosed:
		q.n -= len(p.Data) - n
		p.Free()
	default:
		p.Data = p.Data[n:]
		q.attach(p)
	}
	if n > 0 {
		c.tune(n, now)
		c.announceWindow()
	}
}

// push appends bytes that have arrived in order to those that wait for the user.
func (r *receiver) push(t text) {
	if t.borrowed {
		r.borrowed = true
		r.in.pushBorrowed(t.data, t.loan)
		return
	}
	r.in.push(t.data, t.loan)
}

// pushBorrowed appends p to the queue without a copy. settle must be called before its memory is
// used again. loan is the link's buffer that has p, or nil.
func (q *receiveQueue) pushBorrowed(p []byte, loan Loan) {
	q.n += len(p)
	x := pieces.Get().(*Piece)
	x.Data, x.loan, x.borrowed = p[:len(p):len(p)], loan, true
	q.add(x)
}

// settle keeps the link's buffer for each large piece that is borrowed, and copies the small ones.
func (q *receiveQueue) settle() {
	for p := q.head; p != nil; p = p.next {
		if p.borrowed {
			p.settle()
		}
	}
}

func (p *Piece) settle() {
	p.borrowed = false
	if p.loan != nil && len(p.Data) >= minLoan {
		p.loan.Keep()
		return
	}
	p.loan = nil
	p.buffer = newBuffer(max(len(p.Data), minRing))
	p.Data = (*p.buffer)[:copy(*p.buffer, p.Data)]
}

// detach removes and returns the first piece, or nil. Its bytes still count as those of the queue.
func (q *receiveQueue) detach() *Piece {
	p := q.head
	if p == nil {
		return nil
	}
	if q.head = p.next; q.head == nil {
		q.tail = nil
	}
	p.next = nil
	return p
}

// attach puts the rest of a detached piece back as the first one.
func (q *receiveQueue) attach(p *Piece) {
	p.next = q.head
	q.head = p
	if q.tail == nil {
		q.tail = p
	}
}
