package gonet

import (
	"os"
	"sync"
	"time"
)

// errDeadline is the error of a read or a write whose deadline has passed. Its Timeout method
// returns true.
var errDeadline = os.ErrDeadlineExceeded

// deadline is an instant that can be moved, and a channel that is closed once the instant has
// passed. The zero value is no deadline.
type deadline struct {
	mu     sync.Mutex
	timer  *time.Timer
	passed chan struct{}
}

// set moves the deadline to t. The zero time removes it.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && !d.timer.Stop() && !isClosed(d.passed) {
		close(d.passed) // the timer has gone off, and pass waits for the lock
	}
	d.timer = nil
	if d.passed == nil || isClosed(d.passed) {
		d.passed = make(chan struct{})
	}
	if t.IsZero() {
		return
	}
	passed := d.passed
	if left := time.Until(t); left > 0 {
		d.timer = time.AfterFunc(left, func() { d.pass(passed) })
		return
	}
	close(passed)
}

// stop stops the timer, so that the timer of a late deadline does not keep the memory of a closed
// connection.
func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && d.timer.Stop() {
		d.timer = nil
	}
}

// pass closes the channel, unless the deadline has been moved since.
func (d *deadline) pass(passed chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if passed == d.passed && !isClosed(passed) {
		close(passed)
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// wait returns a channel that is closed when the deadline passes.
func (d *deadline) wait() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.passed == nil {
		d.passed = make(chan struct{})
	}
	return d.passed
}

// await waits for a waiter's signal, or until the deadline passes, and then returns errDeadline. If
// there was never a deadline, it waits for the signal alone, which takes half of the time: who sets
// one must signal the waiter. Inlined, its select would take a part of the stack in callers that
// send.
//
//go:noinline
func (d *deadline) await(waiter <-chan struct{}) error {
	d.mu.Lock()
	passed := d.passed
	d.mu.Unlock()
	if passed == nil {
		<-waiter
		return nil
	}
	select {
	case <-waiter:
		return nil
	case <-passed:
		return errDeadline
	}
}

func (d *deadline) expired() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passed != nil && isClosed(d.passed)
}
