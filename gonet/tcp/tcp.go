// Package tcp is one connection of TCP as a machine: segments, the user's bytes and the time go in,
// segments and the user's bytes come out. It does no I/O, reads no clock, starts no goroutine and
// takes no lock, so that a whole conversation is a table in a test. Who owns a machine calls it
// from one goroutine at a time.
package tcp

import "time"

// Time is an instant in nanoseconds on a clock of the caller's that never goes back.
type Time int64

// Add returns the instant after d.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Sub returns how long t is after u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }
