// Package tcp implements one TCP connection as a machine: segments, the user's bytes and the time
// go in, segments and the user's bytes come out. A machine does no I/O, reads no clock, starts no
// goroutine and takes no lock, so a test can hold a whole conversation as a table. Its owner must
// call it from one goroutine at a time.
package tcp

import "time"

// Time is an instant in nanoseconds, on a clock of the caller's that never goes back.
type Time int64

// Add returns the instant after d.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Sub returns how long t is after u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }
