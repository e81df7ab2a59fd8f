// Package synqueue decides what a listener does with SYNs when it has many connections that Accept
// has not returned (RFC 4987). It is given the time, and does no I/O.
//
// A connection is half-open from the peer's SYN to the end of the handshake. The half-open
// connections of a listener, its SYN queue, share the bound of its backlog with the accept queue:
// those that wait for Accept. Beyond it a SYN is answered by a SYN cookie, and costs no memory. But
// a cookie loses the peer's options unless that sends timestamps, and a half-open connection lasts
// for three minutes: six forged SYNs a second would keep a queue of 1024 full for ever. So the old
// ones are evicted first (RFC 4987 section 3.4). The queue is a number, and no list: its
// connections are those of the stack's table that are in SYN-RECEIVED.
package synqueue

import (
	"sync/atomic"
	"time"

	"interleave/gonet/tcp"
)

// Queue is that of one listener. Its zero value has room for none: see SetLimit. Methods without a
// note are for the owner of the table of connections.
type Queue struct {
	limit        int
	n            atomic.Int32
	evictedAt    tcp.Time // of the last walk, 0: there was none
	cookiesUntil tcp.Time
}

const (
	// HalfOpenTime is for how long a half-open connection is not evicted. A round trip takes less,
	// and by then the SYN-ACK was sent a second and a third time.
	HalfOpenTime = 3 * time.Second
	// evictInterval is the least time between two walks over the connections for one listener. A
	// walk over 10,000 takes about a millisecond.
	evictInterval = time.Second
	// cookieTime is how long a listener accepts cookies after it has sent one: as long as a cookie
	// is valid.
	cookieTime = 2 * time.Minute
)

// SetLimit sets the bound, before the first connection.
func (q *Queue) SetLimit(n int) { q.limit = n }

// Limit returns the bound.
func (q *Queue) Limit() int { return q.limit }

// Enter counts a connection. Any goroutine, as for Leave, Len and IsFull.
func (q *Queue) Enter() { q.n.Add(1) }

// Leave counts a connection no more.
func (q *Queue) Leave() { q.n.Add(-1) }

// Len returns the number of connections.
func (q *Queue) Len() int { return int(q.n.Load()) }

// IsFull tells whether there is no room for another connection.
func (q *Queue) IsFull() bool { return q.Len() >= q.limit }

// BeginEviction tells whether it is time to evict the old half-open connections: those for which
// IsOld is true.
func (q *Queue) BeginEviction(now tcp.Time) bool {
	if q.evictedAt != 0 && now.Sub(q.evictedAt) < evictInterval {
		return false
	}
	q.evictedAt = now
	return true
}

// IsOld tells whether a connection that is half-open since then may be evicted.
func IsOld(since, now tcp.Time) bool { return now.Sub(since) >= HalfOpenTime }

// SentCookie notes that a SYN was answered by a cookie.
func (q *Queue) SentCookie(now tcp.Time) { q.cookiesUntil = now.Add(cookieTime) }

// TakesCookies tells whether a segment may acknowledge a cookie that is valid.
func (q *Queue) TakesCookies(now tcp.Time) bool { return now <= q.cookiesUntil }
