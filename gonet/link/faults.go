package link

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"time"

	"interleave/gonet/wire"
)

// Fault is what a direction does to frames. Shares are between 0 and 1. Draws come from a seeded
// source: in testing/synctest one seed is one run.
type Fault struct {
	Loss      float64
	Duplicate float64
	Corrupt   float64       // one bit of the frame is flipped, behind its header of Ethernet
	Delay     time.Duration // of each frame
	Jitter    time.Duration // added to it, drawn evenly: frames overtake each other
	Reorder   float64       // this share of the frames is late by Jitter, or by a millisecond
	Bandwidth int           // bytes a second; 0: no bound
	Queue     int           // bytes that wait at most for the bandwidth; 0: 64 KiB
	// bytes of the longest frame that passes, others are lost without a word; 0: all pass
	Longest int
	// Light and Dark alternate: frames pass, and then for Dark none does. Light is not 0
	// if Dark is not.
	Light, Dark time.Duration
}

// Faults wraps a Link and spoils what passes. Super-frames that go out are cut, so that each packet
// meets its own fate; one that the other side merged shares one.
type Faults struct {
	inner    Link
	in       *queue
	mu       sync.Mutex // over random, and both directions
	random   *rand.Rand
	incoming direction
	outgoing direction
	start    time.Time
	failed   error
}

// direction is the state of one.
type direction struct {
	Fault
	busy time.Time // until when the wire is taken
	line line
}

// faultBatch is how many frames the goroutine of a Faults takes at once.
const faultBatch = 16

// NewFaults spoils what comes in from l and what goes out to it. A goroutine reads l
// until it is closed.
func NewFaults(l Link, seed uint64, in, out Fault) *Faults {
	f := &Faults{
		inner: l, in: newQueue(), random: rand.New(rand.NewPCG(seed, 0)),
		incoming: direction{Fault: in}, outgoing: direction{Fault: out}, start: time.Now(),
	}
	go f.pump()
	return f
}

// pump hands on what arrives, and ends with the inner link.
func (f *Faults) pump() {
	batch := make([]Frame, faultBatch)
	for {
		n, err := f.inner.Read(batch)
		if err != nil {
			f.mu.Lock()
			f.failed = err
			f.mu.Unlock()
			f.in.close()
			return
		}
		for _, x := range batch[:n] {
			// a closed queue hears nothing
			_ = f.pass(&f.incoming, x.GSO, [][]byte{x.Data}, f.in.put)
		}
	}
}

// pass decides what becomes of a frame.
func (f *Faults) pass(d *direction, g GSO, pieces [][]byte,
	deliver func(GSO, [][]byte) error) error {
	f.mu.Lock()
	copies, wait, flip := f.fate(d, pieces)
	f.mu.Unlock()
	if copies == 0 {
		return nil
	}
	if wait == 0 && flip < 0 && copies == 1 {
		return deliver(g, pieces)
	}
	frame := bytes.Join(pieces, nil) // the pieces are the caller's
	if flip >= 0 {
		Complete(g, frame)
		g.Partial, g.Valid = false, false
		frame[flip/8] ^= 1 << (flip % 8)
	}
	for range copies {
		if wait == 0 {
			if err := deliver(g, [][]byte{frame}); err != nil {
				return err
			}
			continue
		}
		// a frame that comes after the end is lost
		d.line.put(wait, func() { _ = deliver(g, [][]byte{frame}) })
	}
	return nil
}

// fate draws: how many copies arrive, how late, and which bit is flipped, -1 for none.
func (f *Faults) fate(d *direction, pieces [][]byte) (copies int, wait time.Duration, flip int) {
	size := 0
	for _, p := range pieces {
		size += len(p)
	}
	flip = -1
	if d.Longest > 0 && size > d.Longest {
		return 0, 0, flip
	}
	if d.Dark > 0 && time.Since(f.start)%(d.Light+d.Dark) >= d.Light {
		return 0, 0, -1
	}
	if d.Bandwidth > 0 {
		now := time.Now()
		if d.busy.Before(now) {
			d.busy = now
		}
		bound := d.Queue
		if bound == 0 {
			bound = 64 << 10
		}
		backlog := d.busy.Sub(now).Seconds() * float64(d.Bandwidth)
		if backlog > float64(bound) {
			return 0, 0, -1
		}
		d.busy = d.busy.Add(time.Duration(float64(size) / float64(d.Bandwidth) *
			float64(time.Second)))
		wait = d.busy.Sub(now)
	}
	if f.random.Float64() < d.Loss {
		return 0, 0, -1
	}
	copies = 1
	if f.random.Float64() < d.Duplicate {
		copies = 2
	}
	if f.random.Float64() < d.Corrupt && size > wire.EthernetLen {
		flip = 8*wire.EthernetLen + f.random.IntN(8*(size-wire.EthernetLen))
	}
	wait += d.Delay
	if f.random.Float64() < d.Reorder {
		wait += max(d.Jitter, time.Millisecond)
	} else if d.Jitter > 0 && d.Reorder == 0 {
		wait += time.Duration(f.random.Int64N(int64(d.Jitter)))
	}
	return copies, wait, flip
}

// Read is Link's.
func (f *Faults) Read(batch []Frame) (int, error) {
	n, err := f.in.read(batch)
	if err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.failed != nil {
			return n, f.failed
		}
	}
	return n, err
}

// Interrupt is Link's.
func (f *Faults) Interrupt() { f.in.interrupt() }

// Write is Link's.
func (f *Faults) Write(g GSO, pieces ...[]byte) error {
	out := func(g GSO, pieces [][]byte) error { return f.inner.Write(g, pieces...) }
	if g.Kind == Plain {
		return f.pass(&f.outgoing, g, pieces, out)
	}
	return Cut(g, bytes.Join(pieces, nil),
		func(frame []byte) error { return f.pass(&f.outgoing, GSO{}, [][]byte{frame}, out) })
}

// Features is Link's.
func (f *Faults) Features() Features { return f.inner.Features() }

// Close is Link's.
func (f *Faults) Close() error {
	f.in.close()
	return f.inner.Close()
}
