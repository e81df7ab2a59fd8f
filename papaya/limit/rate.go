// Package limit has limits of what one client may use: how often an address may try something, and
// how many connections it may hold. Its tables are bounded, so a flood of addresses cannot fill the
// memory.
package limit

import (
	"net/netip"
	"sync"
	"time"
)

// maxKeys bounds a table of rates. 16,384 keys of about 100 bytes are under 2 MB.
const maxKeys = 16_384

// A Rate is a leaky bucket for each key: burst takes at once, then one in every period. Any
// goroutine may use it.
type Rate struct {
	burst int
	every time.Duration
	now   func() time.Time

	mu     sync.Mutex
	levels map[string]level
}

// level is the state of a bucket at a time.
type level struct {
	fill float64 // in takes
	at   time.Time
}

// NewRate makes a Rate; a burst of 0 or less is no limit. Tests pass a clock of their own.
func NewRate(burst int, every time.Duration, now func() time.Time) *Rate {
	return &Rate{burst: burst, every: every, now: now, levels: map[string]level{}}
}

// Take takes one from the bucket of each key if all have room. Otherwise it takes nothing and
// returns how long until they have.
func (r *Rate) Take(keys ...string) (wait time.Duration, ok bool) {
	if r.burst <= 0 {
		return 0, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for _, k := range keys {
		if over := r.fill(k, now) + 1 - float64(r.burst); over > 0 {
			wait = max(wait, time.Duration(over*float64(r.every)))
		}
	}
	if wait > 0 {
		return wait, false
	}
	for _, k := range keys {
		if _, known := r.levels[k]; !known && len(r.levels) >= maxKeys {
			r.forget(now)
		}
		r.levels[k] = level{r.fill(k, now) + 1, now}
	}
	return 0, true
}

// Spend takes n from the bucket of a key, even if there is no room. It returns how long until there
// is room for the next: that long the caller should make the client wait.
func (r *Rate) Spend(key string, n int) (wait time.Duration) {
	if r.burst <= 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if _, known := r.levels[key]; !known && len(r.levels) >= maxKeys {
		r.forget(now)
	}
	fill := r.fill(key, now) + float64(n)
	r.levels[key] = level{fill, now}
	return time.Duration(max(0, fill-float64(r.burst)) * float64(r.every))
}

// Back undoes a Take.
func (r *Rate) Back(keys ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for _, k := range keys {
		if fill := r.fill(k, now) - 1; fill > 0 {
			r.levels[k] = level{fill, now}
		} else {
			delete(r.levels, k)
		}
	}
}

// fill returns how full the bucket of a key is. The caller holds mu.
func (r *Rate) fill(key string, now time.Time) float64 {
	l, ok := r.levels[key]
	if !ok {
		return 0
	}
	// If the clock was set back, the bucket stays as it is.
	return max(0, l.fill-float64(max(0, now.Sub(l.at)))/float64(r.every))
}

// forget removes empty buckets. If the table is still full, it removes a quarter of it, beginning
// with buckets of one take. A client that floods with many keys so gains one try for each, but no
// memory. The caller holds mu.
func (r *Rate) forget(now time.Time) {
	for k := range r.levels {
		if r.fill(k, now) == 0 {
			delete(r.levels, k)
		}
	}
	for k := range r.levels {
		if len(r.levels) <= maxKeys*3/4 {
			return
		}
		if r.fill(k, now) <= 1 { // one take, as most keys of a flood have
			delete(r.levels, k)
		}
	}
	for k := range r.levels {
		if len(r.levels) <= maxKeys*3/4 {
			return
		}
		delete(r.levels, k)
	}
}

// Key returns the key of an address: the address itself for IPv4, and the /64 network for IPv6,
// since a home has at least one.
func Key(a netip.Addr) string {
	a = a.Unmap()
	if a.Is6() {
		p, err := a.WithZone("").Prefix(64)
		if err == nil {
			return p.String()
		}
	}
	return a.String()
}
