package tcp

import "sync"

// inbox is a queue of bytes in pieces, of which the reader takes one at a time. What has arrived
// in memory that may be kept is kept, and copied but once more, to the user. An empty inbox
// holds no memory.
type inbox struct {
	head, tail *Piece
	n          int // bytes in the queue
}

// Loan is memory in which a segment has arrived. It is the link's again at its next read,
// unless it was kept.
type Loan interface {
	Keep()   // before the next read of the link
	Return() // once, after Keep; any goroutine
}

// Piece is what one Take gives: the next bytes of the peer's stream.
type Piece struct {
	Data []byte
	next *Piece
	room *[]byte // of a pool, in which Data stands; nil if it has memory of its own
	loan Loan    // or in which it has arrived
}

var pieces = sync.Pool{New: func() any { return new(Piece) }}

// Free gives the memory of Data back.
func (p *Piece) Free() {
	if p.loan != nil {
		p.loan.Return()
	} else {
		freeRoom(p.room)
	}
	*p = Piece{}
	pieces.Put(p)
}

// worthLending is the least payload in bytes that is kept as it has arrived: less would hold a
// super-frame's room for little.
const worthLending = 32 << 10

// maxPiece is the largest room in bytes for what is copied: a reader takes it at once.
const maxPiece = 64 << 10

// push puts b at the end of the queue: as it stands in what is lent, or as a copy.
func (q *inbox) push(b []byte, loan Loan) {
	q.n += len(b)
	if loan != nil && len(b) >= worthLending {
		loan.Keep()
		p := pieces.Get().(*Piece)
		p.Data, p.loan = b, loan
		q.add(p)
		return
	}
	for len(b) > 0 {
		t := q.tail
		if t == nil || t.room == nil || len(t.Data) == cap(t.Data) {
			t = pieces.Get().(*Piece)
			t.room = newRoom(min(max(len(b), q.n, minRing), maxPiece))
			t.Data = (*t.room)[:0]
			q.add(t)
		}
		n := min(cap(t.Data)-len(t.Data), len(b))
		t.Data = append(t.Data, b[:n]...)
		b = b[n:]
	}
}

// own puts b at the end of the queue as it stands, for it is nobody else's any more: in pieces,
// since a reader takes one as a whole.
func (q *inbox) own(b []byte) {
	q.n += len(b)
	for len(b) > 0 {
		n := min(len(b), maxPiece)
		p := pieces.Get().(*Piece)
		p.Data = b[:n:n]
		q.add(p)
		b = b[n:]
	}
}

func (q *inbox) add(p *Piece) {
	if q.tail == nil {
		q.head = p
	} else {
		q.tail.next = p
	}
	q.tail = p
}

// take takes the first piece, nil if there is none.
func (q *inbox) take() *Piece {
	p := q.head
	if p == nil {
		return nil
	}
	if q.head = p.next; q.head == nil {
		q.tail = nil
	}
	p.next = nil
	q.n -= len(p.Data)
	return p
}

// pop moves bytes from the start of the queue to b and returns how many.
func (q *inbox) pop(b []byte) int {
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

// free forgets the queue.
func (q *inbox) free() {
	for p := q.take(); p != nil; p = q.take() {
		p.Free()
	}
}
