package account

import (
	"context"
	"slices"
	"sync"

	"interleave/papaya/limit"
)

// A login counts as a failure until it is done, so that many at once cannot exceed the limits.
// After a restart of the server all devices of a home log in at the same moment. Those beyond the
// limit have not failed: they wait until one of the others is done.

// attempts are the logins under way, by the key of a limit. Any goroutine may use it.
type attempts struct {
	mu   sync.Mutex
	busy map[string]*underWay
}

// underWay are the logins of one key: how many have entered, and those that wait for them.
type underWay struct {
	entered int
	waiting []chan struct{} // each is closed when its login may try again
}

// enter takes one from the bucket of a key. If the bucket is full and logins of that key are under
// way, it waits until they are done. The caller calls leave afterwards.
func (a *attempts) enter(ctx context.Context, r *limit.Rate, key string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		wait, ok := r.Take(key)
		u := a.busy[key]
		switch {
		case ok && u == nil:
			if a.busy == nil {
				a.busy = map[string]*underWay{}
			}
			a.busy[key] = &underWay{entered: 1}
			return nil
		case ok:
			u.entered++
			return nil
		case u == nil:
			return &LimitError{wait}
		}
		again := make(chan struct{})
		u.waiting = append(u.waiting, again)
		a.mu.Unlock()
		select {
		case <-again:
			a.mu.Lock()
		case <-ctx.Done():
			a.mu.Lock()
			i := slices.Index(u.waiting, again)
			if i < 0 { // it was woken at the same moment: the next one takes its turn
				u.wake(1)
				return ErrBusy
			}
			u.waiting = slices.Delete(u.waiting, i, i+1)
			return ErrBusy
		}
	}
}

// leave ends a login that has entered. back says that it was no failure.
func (a *attempts) leave(r *limit.Rate, key string, back bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.busy[key]
	u.entered--
	if back {
		r.Back(key)
		u.wake(1)
	}
	if u.entered == 0 { // nobody else would wake those that still wait
		delete(a.busy, key)
		u.wake(len(u.waiting))
	}
}

// wake lets the first n of those that wait try again. The caller holds mu.
func (u *underWay) wake(n int) {
	for range min(n, len(u.waiting)) {
		close(u.waiting[0])
		u.waiting = u.waiting[1:]
	}
}
