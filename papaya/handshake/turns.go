// Package handshake has the handshakes of TLS take turns: as many at a time as there are cores.
//
// A handshake costs half a millisecond. When thousands of clients connect at the same moment, and
// all handshakes go on side by side, none is done before nearly all are. All other goroutines wait
// behind them, too, since Go's scheduler has no priorities: those that bring a message to the log
// wait at each step. With turns the first clients are in at once, and the others wait without cost.
package handshake

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"interleave/papaya/limit"
	"interleave/papaya/log"
)

// Turns bound how many handshakes compute at the same time. Addresses take turns, too: an address
// that begins many handshakes makes each other one wait for one of them. Any goroutine may use it.
type Turns struct {
	wait    time.Duration
	crowded func() bool

	mu      sync.Mutex
	free    int
	waiting map[string][]chan struct{} // by the key of an address, the first one first
	order   []string                   // the keys of waiting; the next one first
}

// NewTurns makes turns for so many handshakes at once. One that waits for longer than wait is
// given up; 0: it waits for ever. While crowded says so, handshakes are slowed down; nil: they
// never are.
func NewTurns(atOnce int, wait time.Duration, crowded func() bool) *Turns {
	return &Turns{wait: wait, crowded: crowded, free: atOnce,
		waiting: map[string][]chan struct{}{}}
}

// ErrBusy reports a handshake whose turn has not come in time.
var ErrBusy = errors.New("too many handshakes are under way")

// While it is crowded a turn lasts up to crowdSteps of crowdStep longer, until it is not. Others
// than those who make the crowd so still come in, some slowly. Both are guesses.
const (
	crowdStep  = 10 * time.Millisecond
	crowdSteps = 4
)

// take waits for a turn. After an error the caller has none.
func (t *Turns) take(ctx context.Context, from net.Addr) error {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	key := keyOf(from)
	if len(t.waiting[key]) == 0 {
		t.order = append(t.order, key)
	}
	turn := make(chan struct{})
	t.waiting[key] = append(t.waiting[key], turn)
	t.mu.Unlock()
	if t.wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = log.WithRunningTime(ctx, t.wait)
		defer cancel()
	}
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.waiting[key], turn)
	if i < 0 { // it has come at the same moment
		return nil
	}
	t.remove(key, i)
	return ErrBusy
}

// remove removes one that waits. The caller holds mu.
func (t *Turns) remove(key string, i int) {
	t.waiting[key] = slices.Delete(t.waiting[key], i, i+1)
	if len(t.waiting[key]) == 0 {
		delete(t.waiting, key)
		t.order = slices.DeleteFunc(t.order, func(k string) bool { return k == key })
	}
}

// give ends a turn. The next one is that of another address, if one waits.
func (t *Turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.order) == 0 {
		t.free++
		return
	}
	key := t.order[0]
	close(t.waiting[key][0])
	if len(t.waiting[key]) > 1 {
		t.waiting[key] = t.waiting[key][1:]
		t.order = append(t.order[1:], key)
	} else {
		delete(t.waiting, key)
		t.order = t.order[1:]
	}
}

// slow lets a turn last while it is crowded.
func (t *Turns) slow(ctx context.Context) {
	for n := 0; n < crowdSteps && t.crowded != nil && t.crowded() && ctx.Err() == nil; n++ {
		select {
		case <-time.After(crowdStep):
		case <-ctx.Done():
		}
	}
}

// keyOf returns the key of a limit for an address.
func keyOf(a net.Addr) string {
	if t, ok := a.(interface{ AddrPort() netip.AddrPort }); ok {
		return limit.Key(t.AddrPort().Addr())
	}
	if p, err := netip.ParseAddrPort(a.String()); err == nil {
		return limit.Key(p.Addr())
	}
	return a.String()
}
