package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"time"
)

// Rates of a rush. All are guesses: a hundred messages a second, of which one is for all.
const (
	talkEvery = 10 * time.Millisecond
	talkToAll = 100 // one of so many messages
	pingEvery = 100 * time.Millisecond
	lookEvery = 10 * time.Millisecond // how often this program looks how late it is
)

// talk has sessions say messages, one after the other, until ctx ends. A session that has no
// connection says nothing.
func (r *rush) talk(ctx context.Context) {
	for n := 1; rest(ctx, talkEvery); n++ {
		d := r.devices[rand.IntN(len(r.devices))]
		room := d.who.rooms[0]
		if n%talkToAll == 0 {
			room = d.who.rooms[len(d.who.rooms)-1]
		}
		d.say(room)
	}
}

// ping has the onlooker send PINGs until ctx ends.
func (r *rush) ping(ctx context.Context) {
	for n := 0; rest(ctx, pingEvery); n++ {
		if token := fmt.Sprint("p", n); r.onlooker.mark(token, "") {
			r.onlooker.send("PING", token)
		}
	}
}

// watchItself notes, until ctx ends, how much later than it wants a goroutine of this program goes
// on: it waits for a core behind the clients, and behind other programs.
func (r *rush) watchItself(ctx context.Context) {
	for at := time.Now(); rest(ctx, lookEvery); at = time.Now() {
		late := max(0, time.Since(at)-lookEvery)
		r.mu.Lock()
		r.lates = append(r.lates, late)
		r.mu.Unlock()
	}
}

// slowAsks is how often the slow reader asks for the names in its largest room, which it then does
// not read. A device may send 256 lines at once.
const slowAsks = 200

// talkWithSlowReader has all talk for half of the time, and for the other half with a client that
// has asked for much and does not read.
func (r *rush) talkWithSlowReader(ctx context.Context) error {
	if !r.talkFor(ctx, r.For/2, "all talk") {
		return ctx.Err()
	}
	slow := r.devices[len(r.devices)-1]
	slow.mu.Lock()
	slow.dialing = func(c *net.TCPConn) error { return c.SetReadBuffer(4096) }
	changed := slow.changed
	slow.mu.Unlock()
	slow.conn.Drop() // it comes back with a small buffer of the kernel
	select {
	case <-changed:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := slow.up(ctx); err != nil {
		return err
	}
	stall := make(chan struct{})
	defer close(stall)
	room := slow.who.rooms[len(slow.who.rooms)-1]
	for range slowAsks {
		slow.send("NAMES", room)
	}
	slow.mu.Lock()
	slow.stall, slow.dialing = stall, nil
	slow.mu.Unlock()
	defer func() {
		slow.mu.Lock()
		slow.stall = nil
		slow.mu.Unlock()
	}()
	if !r.talkFor(ctx, r.For/2, "the same while a client does not read what it has asked for") {
		return ctx.Err()
	}
	return nil
}

// talkFor tells how long messages took to be acknowledged in a time, and the onlooker's PINGs.
func (r *rush) talkFor(ctx context.Context, d time.Duration, what string) bool {
	r.mu.Lock()
	r.waits, r.pings, r.lates = nil, nil, nil
	r.mu.Unlock()
	if !rest(ctx, d) {
		return false
	}
	r.mu.Lock()
	waits := r.waits
	r.waits = nil
	r.mu.Unlock()
	r.Tell(fmt.Sprintf("%s for %v: %d messages were acknowledged, %s", what, round(d), len(waits),
		spread(waits)))
	r.tellPings()
	return true
}
