package server

import (
	"net"
	"sync"

	"interleave/papaya/hall"
)

// A sendQueue is what waits to be written to one client: bytes of its own, and parts of runs, which
// several clients share.
type sendQueue struct {
	own    []byte
	pieces []piece
	size   int         // in bytes, of all pieces
	gather net.Buffers // reused by all
}

// A piece is a part of a run, or of the queue's own bytes if run is nil.
type piece struct {
	run      *hall.Run
	from, to int
}

// spares are send queues that are used again. Their total size is bounded, so the memory that a
// burst has needed is freed.
var spares struct {
	mu     sync.Mutex
	queues []*sendQueue
	bytes  int
}

// The first two bound one spare send queue in bytes and pieces. maxSpares bounds all of them in
// bytes. A new send queue has room for smallQueue bytes. All are guesses; with the third, a
// thousand clients can be written to without allocating a queue.
const (
	maxPooled  = 16 << 10
	maxPieces  = 256
	maxSpares  = 4 << 20
	smallQueue = 1 << 10
)

func newSendQueue() *sendQueue {
	spares.mu.Lock()
	defer spares.mu.Unlock()
	n := len(spares.queues) - 1
	if n < 0 {
		return &sendQueue{own: make([]byte, 0, smallQueue)}
	}
	p := spares.queues[n]
	spares.queues, spares.queues[n] = spares.queues[:n], nil
	spares.bytes -= p.capacity()
	return p
}

// pieceBytes is the memory for a piece, and for its element in gather.
const pieceBytes = 32 + 24

// capacity returns how much memory an empty send queue has.
func (p *sendQueue) capacity() int { return cap(p.own) + cap(p.pieces)*pieceBytes }

// release returns a send queue to the spares; nil is allowed.
func (p *sendQueue) release() {
	if p == nil || cap(p.own) > maxPooled || cap(p.pieces) > maxPieces {
		return
	}
	clear(p.pieces) // do not keep the runs alive
	p.own, p.pieces, p.size = p.own[:0], p.pieces[:0], 0
	spares.mu.Lock()
	defer spares.mu.Unlock()
	if n := p.capacity(); spares.bytes+n <= maxSpares {
		spares.queues = append(spares.queues, p)
		spares.bytes += n
	}
}

// waiting returns how many bytes are in the send queue, which may be nil.
func (p *sendQueue) waiting() int {
	if p == nil {
		return 0
	}
	return p.size
}

// write adds a copy of b.
func (p *sendQueue) write(b []byte) {
	from := len(p.own)
	p.own = append(p.own, b...)
	p.extend(nil, from, len(p.own))
}

// extend adds a part of a run. It lengthens the last piece if the part follows directly.
func (p *sendQueue) extend(run *hall.Run, from, to int) {
	p.size += to - from
	if n := len(p.pieces) - 1; n >= 0 && p.pieces[n].run == run && p.pieces[n].to == from {
		p.pieces[n].to = to
		return
	}
	p.pieces = append(p.pieces, piece{run, from, to})
}

// A small piece of a run is copied if the queue has other pieces. A piece is also copied if its run
// takes more than four times its size in memory. A send queue therefore never keeps more than four
// times its size in memory.
const (
	smallPiece = 2 << 10
	worthOf    = 4
)

// add appends the content of q.
func (p *sendQueue) add(q *sendQueue) {
	only := len(p.pieces) == 0 && len(q.pieces) == 1
	for _, c := range q.pieces {
		n := c.to - c.from
		if c.run == nil || n*worthOf < c.run.Size() || n < smallPiece && !only {
			p.write(q.bytes(c))
		} else {
			p.extend(c.run, c.from, c.to)
		}
	}
}

// alone says whether a send queue has only bytes of its own.
func (p *sendQueue) alone() bool {
	return len(p.pieces) == 1 && p.pieces[0].run == nil
}

func (p *sendQueue) bytes(c piece) []byte {
	if c.run == nil {
		return p.own[c.from:c.to]
	}
	return c.run.Part(c.from, c.to)
}

// send writes everything. On a kernel socket it writes several pieces with one system call.
func (p *sendQueue) send(c net.Conn) error {
	if len(p.pieces) == 1 {
		_, err := c.Write(p.bytes(p.pieces[0]))
		return err
	}
	all := p.all(len(p.pieces))
	_, err := all.WriteTo(c)
	clear(p.gather)
	return err
}
