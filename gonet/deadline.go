package gonet

import (
	"os"
	"sync"
	"time"
)

// errDeadline is what reads and writes say whose deadline has passed; its Timeout is true.
var errDeadline = os.ErrDeadlineExceeded

// deadline is an instant that can be moved, and a channel that is closed while it has passed.
type deadline struct {
	mu     *sync.Mutex
	timer  *time.Timer
	passed chan struct{}
}

func makeDeadline() deadline { return deadline{mu: &sync.Mutex{}} }

// set moves the deadline; the zero time has none.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && !d.timer.Stop() && !isClosed(d.passed) {
		close(d.passed) // it has gone off, and waits for the lock
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

// stop ends the timer: a deadline of tomorrow must not keep what has been closed today.
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

// wait is closed when the deadline has passed; it is nil while none was ever set.
func (d *deadline) wait() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.passed == nil {
		d.passed = make(chan struct{})
	}
	return d.passed
}

func (d *deadline) expired() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passed != nil && isClosed(d.passed)
}
