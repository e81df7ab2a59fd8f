package load

// One request of an open loop, step by step, on a thread without a server or a clock.

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"interleave/internal/manifest"
)

// loneOpen makes a thread of one connection in the window of an open loop of echo. Its times are
// those that the test sets.
func loneOpen(t *testing.T) *requests {
	t.Helper()
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	p := plan("echo", netip.MustParseAddrPort("127.0.0.1:1"), manifest.Load{Shape: manifest.Open,
		Connections: 1, SizeBytes: 16, Rate: 1000})
	echoes := independent(func(w *worker) driver { return newRequests(w, newEcho(&p)) })
	w, err := newWorker(&shared{parts: 1, stopFD: fd, emit: func(Event) {}, job: echoes,
		scheduled: true}, &p, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.poll.close)
	w.openAt, w.closeAt, w.measuring = 0, never, true
	return w.driver.(*requests)
}

// TestCountsFromDue sends a request 4 µs late, and has the reply 3 µs after that. The latency
// counts from the time at which the request was due.
func TestCountsFromDue(t *testing.T) {
	d := loneOpen(t)
	c := &d.conns[0]
	c.state = connOpen // its socket takes nothing
	d.issueDue(c, 1000)
	d.now = 5000
	d.noteSent(c)
	d.now = 8000
	d.replied(c)
	for _, got := range []struct {
		name       string
		n          uint64
		took, want int64
	}{
		{"lateness", d.late.Count(), d.late.Min(), 4000},
		{"latency", d.latency.Count(), d.latency.Min(), 7000},
		{"service", d.service.Count(), d.service.Min(), 3000},
	} {
		if got.n != 1 || got.took != got.want {
			t.Errorf("%s: got %d of %d ns, want one of %d", got.name, got.n, got.took, got.want)
		}
	}
	if d.offered != 1 || d.served != 1 || d.inFlight != 0 {
		t.Errorf("got %d offered, %d answered, %d in flight, want 1, 1, 0", d.offered,
			d.served, d.inFlight)
	}
}

// TestDueOnDeadConnection: a request that cannot be sent was offered, and is lost.
func TestDueOnDeadConnection(t *testing.T) {
	d := loneOpen(t)
	d.closeConn(&d.conns[0], connDead)
	d.issueDue(&d.conns[0], 1000)
	if d.offered != 1 || d.faults.kinds[Lost] != 1 || d.inFlight != 0 {
		t.Errorf("got %d offered, %v, %d in flight, want one that is lost", d.offered,
			d.faults.kinds, d.inFlight)
	}
}
