package tcp

import "sync"

// receiveQueue has the bytes that have arrived in order and were not read: pieces, of which the
// reader takes one at a time. A large payload stays in the link's buffer in which it arrived, and
// is copied only once, to the user. An empty queue holds no memory.
type receiveQueue struct {
	head, tail *Piece
	n          int // bytes in the queue
}

// Loan is the link's buffer in which a segment has arrived. The link uses it again at its next
// read, unless Keep was called.
type Loan interface {
	Keep()   // to be called before the next read of the link
	Return() // to be called once, after Keep; any goroutine
}

// Piece is what Take returns: the next bytes of the peer's stream.
type Piece struct {
	Data   []byte
	next   *Piece
	buffer *[]byte // the pooled memory of Data; nil if Data has memory of its own
	loan   Loan    // the link's buffer that holds Data, if it was kept
	// borrowed: Data is in memory that is not the piece's, until settle
	borrowed bool
}

var pieces = sync.Pool{New: func() any { return new(Piece) }}

// Free gives the memory of Data back. Data must not be used afterwards.
func (p *Piece) Free() {
	switch {
	case p.borrowed:
	case p.loan != nil:
		p.loan.Return()
	default:
		freeBuffer(p.buffer)
	}
	*p = Piece{}
	pieces.Put(p)
}

// minLoan is the least payload, in bytes, that is left in the link's buffer. A smaller one would
// hold the memory of a whole super-frame for few bytes.
const minLoan = 32 << 10

// maxPiece is the largest piece of copied bytes, as a reader takes a piece as a whole.
const maxPiece = 64 << 10

// push appends b to the queue: in the link's buffer if loan allows it and b is large, or else as a
// copy.
func (q *receiveQueue) push(b []byte, loan Loan) {
	q.n += len(b)
	if loan != nil && len(b) >= minLoan {
		loan.Keep()
		p := pieces.Get().(*Piece)
		p.Data, p.loan = b, loan
		q.add(p)
		return
	}
	for len(b) > 0 {
		t := q.tail
		if t == nil || t.buffer == nil || len(t.Data) == cap(t.Data) {
			t = pieces.Get().(*Piece)
			t.buffer = newBuffer(min(max(len(b), q.n, minRing), maxPiece))
			t.Data = (*t.buffer)[:0]
			q.add(t)
		}
		n := min(cap(t.Data)-len(t.Data), len(b))
		t.Data = append(t.Data, b[:n]...)
		b = b[n:]
	}
}

// pushOwned appends b, which the queue owns from now on, without a copy. It is cut into pieces of
// at most maxPiece, since a reader takes a piece as a whole.
func (q *receiveQueue) pushOwned(b []byte) {
	q.n += len(b)
	for len(b) > 0 {
		n := min(len(b), maxPiece)
		p := pieces.Get().(*Piece)
		p.Data = b[:n:n]
		q.add(p)
		b = b[n:]
	}
}

func (q *receiveQueue) add(p *Piece) {
	if q.tail == nil {
		q.head = p
	} else {
		q.tail.next = p
	}
	q.tail = p
}

// take removes and returns the first piece, or nil.
func (q *receiveQueue) take() *Piece {
	p := q.detach()
	if p != nil {
		q.n -= len(p.Data)
	}
	return p
}

// pop moves bytes from the front of the queue to b and returns how many.
func (q *receiveQueue) pop(b []byte) int {
	done := 0
	for done < len(b) && q.head != nil {
		n := copy(b[done:], q.head.Data)
		done += n
		q.n -= n
		if q.head.Data = q.head.Data[n:]; len(q.head.Data) == 0 {
			q.take().Free()
		}
	}
	return done
}

// free empties the queue and gives its memory back.
func (q *receiveQueue) free() {
	for p := q.take(); p != nil; p = q.take() {
		p.Free()
	}
}
