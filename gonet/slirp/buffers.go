package slirp

import (
	"errors"
	"sync"
	"sync/atomic"

	"interleave/gonet"
)

// The bounds on the bytes that wait in each direction of a connection: that of one, and what all
// share. With 64 KiB at a time, windows of 4 MiB take a tenth less processor time than those of 512
// KiB. 4096 connections have 8 KiB each: little, but they go on.
const (
	maxBuffer    = 4 << 20
	sharedBuffer = 32 << 20
)

// buffers gives each connection its share of what may wait. The shares change when the connections
// have doubled, or when three of four have ended, so that a change of all costs little for each.
type buffers struct {
	mu    sync.Mutex
	conns map[*gonet.Conn]struct{}
	// most is for how many connections the shares are made: a power of two, or 0 at first. It is
	// changed under mu. The dealer reads it without: it must not wait for those who hold mu, since
	// they may wait for the dealer.
	most atomic.Int32
}

// share returns the bound for each of at most so many connections.
func share(most int) int { return min(maxBuffer, sharedBuffer/max(most, 1)) }

// first returns the bound for another connection before it is added. It does not block.
func (b *buffers) first(connections int) int {
	return share(max(int(b.most.Load()), connections))
}

// add bounds what waits in a connection. connections is their number, with this one and those that
// are still being opened.
func (b *buffers) add(c *gonet.Conn, connections int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conns == nil {
		b.conns = map[*gonet.Conn]struct{}{}
	}
	b.conns[c] = struct{}{}
	was := int(b.most.Load())
	most := max(was, 1)
	for most < connections {
		most *= 2
	}
	if most != was {
		b.change(most)
		return
	}
	bound(c, share(most))
}

// remove ends the bound of a connection that has ended. connections is their number without it.
func (b *buffers) remove(c *gonet.Conn, connections int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.conns, c)
	was := int(b.most.Load())
	most := was
	for most > 1 && 4*connections < most {
		most /= 2
	}
	if most != was {
		b.change(most)
	}
}

// change bounds all connections anew. The caller holds mu.
func (b *buffers) change(most int) {
	b.most.Store(int32(most))
	for c := range b.conns {
		bound(c, share(most))
	}
}

// bound sets the bounds of a connection. An error is that of one which has ended.
func bound(c *gonet.Conn, bytes int) {
	_ = errors.Join(c.SetReadBuffer(bytes), c.SetWriteBuffer(bytes))
}
