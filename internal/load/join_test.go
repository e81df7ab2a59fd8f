package load

import (
	"testing"
	"time"
)

// Before a full queue nobody else comes.
func TestLimiterOfFullQueue(t *testing.T) {
	l := limiter{places: clientsAtOnce}
	for now := int64(0); now < int64(time.Minute); now += int64(time.Millisecond) {
		if l.admits(clientsAtOnce, 1, 0, now) {
			t.Fatalf("another is let in after %v", time.Duration(now))
		}
	}
}

// A server that greets once a second is met by more clients each time; one that greets as they come
// never by more than a few.
func TestLimiter(t *testing.T) {
	const clients, tick = 5000, int64(time.Millisecond)
	for _, test := range []struct {
		name        string
		every       int64 // between two greetings of all that are there
		most        int   // under way at once
		least, last time.Duration
	}{
		{"as they come", tick, clientsAtOnce, 0, time.Second},
		{"slowly", stuckTime - tick, clientsAtOnce, 0, 65 * time.Second},
		{"once a second", int64(time.Second), 2000, 5 * time.Second, 15 * time.Second},
	} {
		l := limiter{places: clientsAtOnce}
		under, greeted, most, now := 0, 0, 0, int64(0)
		for ; greeted < clients && now < int64(5*time.Minute); now += tick {
			if now%test.every == 0 {
				greeted, under = greeted+under, 0
			}
			for greeted+under < clients && l.admits(under, 0, greeted, now) {
				under++
			}
			most = max(most, under)
		}
		if took := time.Duration(now); greeted < clients || most > test.most || took < test.least ||
			took > test.last {
			t.Errorf("%s: %d of %d are in after %v, at most %d were under way; want %v to %v, "+
				"at most %d", test.name, greeted, clients, took, most, test.least, test.last,
				test.most)
		}
	}
}
