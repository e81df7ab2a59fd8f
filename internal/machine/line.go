package machine

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// The round trip of a cache line is measured in batches. Most batches of a busy machine hold a
// moment in which one of the two threads had no core; the fastest quarter does not.
const (
	lineBatches = 64
	lineTrips   = 500 // of a batch: 40 µs where a trip takes 80 ns
	lineLimit   = time.Second
)

// lineTrip measures how long a cache line takes from one core to another and back: the least time
// in which two threads can pass work to each other. In a virtual machine it depends on where the
// host runs the two cores, and changes while they run.
func lineTrip(a, b int) (time.Duration, error) {
	var ball atomic.Int64 // the number of moves; thread 0 moves it from even to odd
	var stop atomic.Bool
	errs := make(chan error, 2)
	trips := make([]time.Duration, 0, lineBatches)
	play := func(core int, parity int64, each func()) {
		runtime.LockOSThread() // and never back: the thread ends with its goroutine
		var set unix.CPUSet
		set.Set(core)
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			stop.Store(true)
			errs <- fmt.Errorf("moving to core %d: %w", core, err)
			return
		}
		for !stop.Load() {
			if n := ball.Load(); n&1 == parity {
				ball.Store(n + 1)
				each()
			}
		}
		errs <- nil
	}
	defer time.AfterFunc(lineLimit, func() { stop.Store(true) }).Stop()
	last := time.Now()
	moves := 0
	go play(b, 1, func() {})
	go play(a, 0, func() {
		if moves++; moves%lineTrips > 0 {
			return
		}
		now := time.Now()
		trips = append(trips, now.Sub(last)/lineTrips)
		last = now
		if len(trips) == lineBatches {
			stop.Store(true)
		}
	})
	for range 2 {
		if err := <-errs; err != nil {
			return 0, err
		}
	}
	if len(trips) == 0 {
		return 0, fmt.Errorf("no round trip between the cores %d and %d in %v", a, b, lineLimit)
	}
	slices.Sort(trips)
	return trips[len(trips)/4], nil
}
