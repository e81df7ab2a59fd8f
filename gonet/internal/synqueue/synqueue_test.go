package synqueue

import (
	"testing"
	"time"

	"interleave/gonet/tcp"
)

const start = tcp.Time(time.Hour)

func TestFull(t *testing.T) {
	var q Queue
	if !q.IsFull() {
		t.Error("a queue without a limit has room")
	}
	q.SetLimit(2)
	for i, step := range []struct {
		do   func()
		n    int
		full bool
	}{{q.Enter, 1, false}, {q.Enter, 2, true}, {q.Enter, 3, true}, {q.Leave, 2, true},
		{q.Leave, 1, false}} {
		if step.do(); q.Len() != step.n || q.IsFull() != step.full {
			t.Errorf("step %d: %d connections, full: %v", i, q.Len(), q.IsFull())
		}
	}
}

func TestEviction(t *testing.T) {
	var q, other Queue
	for _, c := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {0, false}, {evictInterval - 1, false}, {evictInterval, true},
		{2*evictInterval - 1, false}, {2 * evictInterval, true}} {
		if got := q.BeginEviction(start.Add(c.after)); got != c.want {
			t.Errorf("after %v: %v", c.after, got)
		}
	}
	if !other.BeginEviction(start) {
		t.Error("another listener's walk counts")
	}
	if IsOld(start, start.Add(HalfOpenTime-1)) || !IsOld(start, start.Add(HalfOpenTime)) {
		t.Error("a connection is old too early or too late")
	}
}

func TestCookies(t *testing.T) {
	var q Queue
	if q.TakesCookies(start) {
		t.Error("cookies are taken and none was sent")
	}
	q.SentCookie(start)
	if !q.TakesCookies(start.Add(cookieTime)) || q.TakesCookies(start.Add(cookieTime+1)) {
		t.Error("cookies are valid for too short or too long a time")
	}
}
