package server

import (
	"net"
	"sync"

	"interleave/papaya/hall"
)

// A sendQueue is what waits for one client: bytes of its own, and parts of runs, of which other
// clients write the same bytes.
type sendQueue struct {
	own    []byte
	pieces []piece
	size   int         // in bytes, of all pieces
	gather net.Buffers // room for write
}

// A piece is a part of a run, or of own where run is nil.
type piece struct {
	run      *hall.Run
	from, to int
}

// spares are send queues to be used again. There are never so many that what a burst has needed
// stays in memory: the rest goes to the collector.
var spares struct {
	mu     sync.Mutex
	queues []*sendQueue
	bytes  int
}

// What a spare send queue may hold in bytes and pieces, and all of them in bytes; a send queue
// begins with smallPile bytes. Guesses, of which the last lets a thousand clients be written to
// without a new send queue.
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
	spares.bytes -= p.room()
	return p
}

// pieceBytes is what a piece takes, and its place among those that are written at once.
const pieceBytes = 32 + 24

// room is what an empty send queue takes in memory.
func (p *sendQueue) room() int { return cap(p.own) + cap(p.pieces)*pieceBytes }

// release takes a send queue back; nil is fine.
func (p *sendQueue) release() {
	if p == nil || cap(p.own) > maxPooled || cap(p.pieces) > maxPieces {
		return
	}
	clear(p.pieces) // runs are not kept
	p.own, p.pieces, p.size = p.own[:0], p.pieces[:0], 0
	spares.mu.Lock()
	defer spares.mu.Unlock()
	if n := p.room(); spares.bytes+n <= maxSpares {
		spares.queues = append(spares.queues, p)
		spares.bytes += n
	}
}

// waiting is how many bytes are in the send queue, of which there may be none.
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

// extend adds a part of a run, to the last piece where it goes on with it.
func (p *sendQueue) extend(run *hall.Run, from, to int) {
	p.size += to - from
	if n := len(p.pieces) - 1; n >= 0 && p.pieces[n].run == run && p.pieces[n].to == from {
		p.pieces[n].to = to
		return
	}
	p.pieces = append(p.pieces, piece{run, from, to})
}

// A piece of a run is copied where it is not worth a place of its own: beside others if it is
// small, and where it would keep a run in memory that is more than four times as large. So what
// waits for a client takes four times of it at most.
const (
	smallPiece = 2 << 10
	worthOf    = 4
)

// add moves what is in q behind what is in p.
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

// alone says whether a send queue has nothing of a run.
func (p *sendQueue) alone() bool {
	return len(p.pieces) == 1 && p.pieces[0].run == nil
}

func (p *sendQueue) bytes(c piece) []byte {
	if c.run == nil {
		return p.own[c.from:c.to]
	}
	return c.run.Part(c.from, c.to)
}

// send writes everything: several pieces at once where the connection is the kernel's.
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
