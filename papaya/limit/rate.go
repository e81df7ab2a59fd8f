// Package limit says no before a client can cost more than its share: how often an address may try,
// and how many connections it may hold. Both tables are bounded, so that a flood of addresses
// cannot fill the memory.
package limit

import (
	"net/netip"
	"sync"
	"time"
)

// maxKeys bounds a table of rates. 16,384 keys of about 100 bytes are under 2 MB.
const maxKeys = 16_384

// A Rate is a leaky bucket for each key: Burst at once, then one each Every. Any
// goroutine may use it.
type Rate struct {
	burst int
	every time.Duration
	now   func() time.Time

	mu     sync.Mutex
	levels map[string]level
}

// level is how full a bucket was at a time.
type level struct {
	fill float64 // in takes
	at   time.Time
}

// NewRate makes a rate; a burst of 0 or less never says no. The clock is passed in for tests.
func NewRate(burst int, every time.Duration, now func() time.Time) *Rate {
	return &Rate{burst: burst, every: every, now: now, levels: map[string]level{}}
}

// Take counts one for each key if all have room, and none otherwise: then wait is how long
// until they have.
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

// Spend counts n for a key in any case, and says how long until it has room for the next: who has
// taken more than its share is to wait.
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

// Back undoes a Take that need not have been counted.
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

// fill is how full the bucket of key is now. The caller holds mu.
func (r *Rate) fill(key string, now time.Time) float64 {
	l, ok := r.levels[key]
	if !ok {
		return 0
	}
	// a clock that was set back fills no bucket
	return max(0, l.fill-float64(max(0, now.Sub(l.at)))/float64(r.every))
}

// forget removes buckets that have run dry and, if the table is full of others, the emptiest
// quarter's worth in no order: who floods with many keys thereby gains a try for each, and no
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
		if r.fill(k, now) <= 1 { // one take: most of a flood of keys
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

// Key is what an address is counted as: itself in IPv4, its network of 64 bits in IPv6, of which
// a home has one.
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
