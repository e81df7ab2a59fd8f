package account

import (
	"context"
	"errors"
	"sync"

	"interleave/papaya/irc"
)

// The devices of an account log in at the same moment when the server has been restarted. Their
// passwords are one, so one hash answers all of them: those that wait for it, and by remember.go
// those that come later.

// checks are the comparisons of a password with a hash that are under way.
type checks struct {
	mu  sync.Mutex
	own map[checkKey]*check
}

// A checkKey tells which logins have the same answer. It has the name, since all unknown names have
// the same hash: two of them must not cost less than two names that are known.
type checkKey struct{ name, password, hash string }

// A check is one comparison. The fields are set before done is closed.
type check struct {
	done chan struct{}
	same bool
	err  error
}

// verify compares the password of a name with its hash, or waits for a login that does the same.
// fresh says that the hash must be computed, even if the password was right a short time ago.
// computed says whether this login has computed it.
func (b *Book) verify(ctx context.Context, name string, password Secret, kept hash,
	fresh bool) (same, computed bool, err error) {
	key := checkKey{irc.Lower(name), password.text, kept.String()}
	for {
		if !fresh && b.right.has(key) {
			return true, false, nil
		}
		c, first := b.checks.begin(key)
		if first {
			c.same, c.err = b.hashes.verify(ctx, password, kept)
			if c.same && c.err == nil {
				b.right.add(key)
			}
			b.checks.end(key, c)
			return c.same, true, c.err
		}
		select {
		case <-c.done:
		case <-ctx.Done():
			return false, false, ErrBusy
		}
		// The other login may have run out of time, which this one still has.
		if !errors.Is(c.err, ErrBusy) || ctx.Err() != nil {
			return c.same, false, c.err
		}
	}
}

// begin returns the check of a key, and whether it is new. The caller of a new one calls end.
func (c *checks) begin(key checkKey) (x *check, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := c.own[key]; x != nil {
		return x, false
	}
	if c.own == nil {
		c.own = map[checkKey]*check{}
	}
	x = &check{done: make(chan struct{})}
	c.own[key] = x
	return x, true
}

func (c *checks) end(key checkKey, x *check) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.own, key)
	close(x.done)
}
