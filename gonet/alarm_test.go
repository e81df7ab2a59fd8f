package gonet

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/tcp"
)

// TestAlarmsAgreeWithASlice sets, moves and removes alarms at random, and compares the heap with a
// search through all.
func TestAlarmsAgreeWithASlice(t *testing.T) {
	a := alarms{ended: true} // no timer
	random := rand.New(rand.NewPCG(1, 2))
	conns := make([]*Conn, 300)
	at := map[*Conn]tcp.Time{}
	for i := range conns {
		conns[i] = &Conn{}
	}
	now := tcp.Time(0)
	for range 20_000 {
		switch c := conns[random.IntN(len(conns))]; random.IntN(8) {
		case 0:
			a.remove(c)
			delete(at, c)
		case 1:
			now += tcp.Time(random.IntN(30))
			due := a.popDue(nil, now)
			for i, c := range due {
				if at[c] == 0 || at[c] > now || i > 0 && at[c] < at[due[i-1]] {
					t.Fatalf("at %d the alarm of %d goes off", now, at[c])
				}
			}
			for _, c := range due {
				delete(at, c)
			}
		default:
			at[c] = now + 1 + tcp.Time(random.IntN(1000))
			a.set(c, at[c], now)
		}
		if len(a.heap) != len(at) {
			t.Fatalf("%d alarms, not %d", len(a.heap), len(at))
		}
		var want tcp.Time
		for _, x := range at {
			if want == 0 || x < want {
				want = x
			}
		}
		if first, _ := a.earliest(); first != want {
			t.Fatalf("the first is at %d, not %d", first, want)
		}
	}
	for _, c := range conns {
		a.remove(c)
	}
	if len(a.heap) != 0 || cap(a.heap) > 64 ||
		slices.ContainsFunc(conns, func(c *Conn) bool { return c.alarm != 0 }) {
		t.Errorf("%d alarms are left, in room for %d", len(a.heap), cap(a.heap))
	}
}

// TestOneTimerForAllAlarms sets alarms for later and sooner instants, moves and removes some: each
// goes off at its instant.
func TestOneTimerForAllAlarms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a alarms
		start := time.Now()
		clock := func() tcp.Time { return tcp.Time(time.Since(start)) + 1 }
		var mu sync.Mutex
		heard := map[*Conn]tcp.Time{}
		a.onTimer = func() {
			mu.Lock()
			defer mu.Unlock()
			if a.timerFired(clock()) {
				for _, c := range a.popDue(nil, clock()) {
					heard[c] = clock()
				}
			}
		}
		late, soon, moved, dropped := &Conn{}, &Conn{}, &Conn{}, &Conn{}
		second := tcp.Time(time.Second)
		a.set(late, 50*second, clock())
		a.set(moved, 5*second, clock())
		a.set(dropped, 3*second, clock())
		a.set(soon, 10*second, clock())
		a.remove(dropped)
		a.set(moved, 20*second, clock())
		time.Sleep(time.Minute)
		synctest.Wait()
		for c, want := range map[*Conn]tcp.Time{late: 50 * second, soon: 10 * second,
			moved: 20 * second, dropped: 0} {
			if heard[c] != want {
				t.Errorf("it went off at %v, not at %v", time.Duration(heard[c]),
					time.Duration(want))
			}
		}
		a.end()
		a.set(late, clock()+second, clock())
		time.Sleep(time.Minute)
		synctest.Wait()
		if heard[late] != 50*second {
			t.Error("an alarm goes off after the end")
		}
	})
}

// TestAReaderSendsTheHeldACK holds that an acknowledgement is held while the user might answer, and
// sent as soon as the user waits for more data.
func TestAReaderSendsTheHeldACK(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := link.Pair()
		a, b := twoHosts(t, one, other)
		near, far := connected(t, a, b, "10.0.0.2")
		unacked := func() int {
			synctest.Wait()
			return near.(*Conn).Info().Unacked
		}
		hello := []byte("hello")
		time.Sleep(20 * time.Second) // duplicate address detection and router solicitation are over
		if _, err := near.Write(hello); err != nil {
			t.Fatal(err)
		}
		if n := unacked(); n != len(hello) {
			t.Errorf("nobody reads, and %d bytes are not acknowledged", n)
		}
		time.Sleep(ackHoldTime)
		if n := unacked(); n != 0 {
			t.Errorf("nobody reads, and %d bytes are not acknowledged after %v", n, ackHoldTime)
		}
		go func() {
			for b := make([]byte, 100); ; {
				if _, err := far.Read(b); err != nil {
					return
				}
			}
		}()
		for range 3 {
			if n := unacked(); n != 0 {
				t.Errorf("all has been read, and %d bytes are not acknowledged", n)
			}
			if _, err := near.Write(hello); err != nil {
				t.Fatal(err)
			}
		}
		if err := near.Close(); err != nil {
			t.Error(err)
		}
	})
}
