package link

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"time"
)

// Fault describes the faults of one direction. Shares are between 0 and 1. Random numbers come from
// a seeded source, so in testing/synctest the same seed gives the same run.
type Fault struct {
	Loss      float64
	Duplicate float64
	Corrupt   float64       // one random bit of the IP packet is flipped
	Delay     time.Duration // delay of each frame
	Jitter    time.Duration // added to Delay, uniformly distributed: frames overtake each other
	Reorder   float64       // this share of the frames is delayed by Jitter more, at least by 1 ms
	Bandwidth int           // bytes a second; 0: unlimited
	Queue     int           // bytes that may wait for the bandwidth; 0: 64 KiB
	// Longest is the length in bytes of the longest frame that passes. Longer ones are dropped
	// without a report, as in a path MTU black hole; 0: all pass.
	Longest int
	// Light and Dark alternate: for the time Light frames pass, then for the time Dark none does.
	// If Dark is set, Light must be too.
	Light, Dark time.Duration
}

// Faults wraps a Link and applies faults to the frames that pass. A super-frame that is sent is cut
// first, so that each packet has its own fate. A super-frame that is received shares one.
type Faults struct {
	inner    Link
	header   int // Features.HeaderLen of the inner link
	in       *queue
	mu       sync.Mutex // guards random and both directions
	random   *rand.Rand
	incoming direction
	outgoing direction
	start    time.Time
	failed   error
}

// direction is the state of one direction.
type direction struct {
	Fault
	busyUntil time.Time // until when the bandwidth is used up
	line      delayLine
}

// faultBatch is how many frames the goroutine of a Faults reads at once.
const faultBatch = 16

// NewFaults applies faults to what is read from l and written to it. A goroutine reads l until it
// is closed.
func NewFaults(l Link, seed uint64, in, out Fault) *Faults {
	f := &Faults{
		inner: l, header: l.Features().HeaderLen(), in: newQueue(),
		random:   rand.New(rand.NewPCG(seed, 0)),
		incoming: direction{Fault: in}, outgoing: direction{Fault: out}, start: time.Now(),
	}
	go f.pump()
	return f
}

// pump is the goroutine that reads the inner link. It ends when the link does.
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
			// a closed queue drops the frame
			_ = f.pass(&f.incoming, x.GSO, [][]byte{x.Data}, f.in.put)
		}
	}
}

// pass applies the faults of a direction to a frame.
func (f *Faults) pass(d *direction, g GSO, pieces [][]byte,
	deliver func(GSO, [][]byte) error) error {
	f.mu.Lock()
	copies, wait, flip := f.draw(d, pieces)
	f.mu.Unlock()
	if copies == 0 {
		return nil
	}
	if wait == 0 && flip < 0 && copies == 1 {
		return deliver(g, pieces)
	}
	frame := bytes.Join(pieces, nil) // the pieces are the caller's, and must be copied
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
		// a frame that is delivered after Close is lost
		d.line.put(wait, func() { _ = deliver(g, [][]byte{frame}) })
	}
	return nil
}

// draw decides at random how many copies arrive, after which delay, and which bit is flipped, -1
// for none.
func (f *Faults) draw(d *direction, pieces [][]byte) (copies int, wait time.Duration, flip int) {
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
		if d.busyUntil.Before(now) {
			d.busyUntil = now
		}
		bound := d.Queue
		if bound == 0 {
			bound = 64 << 10
		}
		backlog := d.busyUntil.Sub(now).Seconds() * float64(d.Bandwidth)
		if backlog > float64(bound) {
			return 0, 0, -1
		}
		d.busyUntil = d.busyUntil.Add(time.Duration(float64(size) / float64(d.Bandwidth) *
			float64(time.Second)))
		wait = d.busyUntil.Sub(now)
	}
	if f.random.Float64() < d.Loss {
		return 0, 0, -1
	}
	copies = 1
	if f.random.Float64() < d.Duplicate {
		copies = 2
	}
	if f.random.Float64() < d.Corrupt && size > f.header {
		flip = 8*f.header + f.random.IntN(8*(size-f.header))
	}
	wait += d.Delay
	if f.random.Float64() < d.Reorder {
		wait += max(d.Jitter, time.Millisecond)
	} else if d.Jitter > 0 && d.Reorder == 0 {
		wait += time.Duration(f.random.Int64N(int64(d.Jitter)))
	}
	return copies, wait, flip
}

// Read implements Link.
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

// Interrupt implements Link.
func (f *Faults) Interrupt() { f.in.interrupt() }

// Write implements Link.
func (f *Faults) Write(g GSO, pieces ...[]byte) error {
	out := func(g GSO, pieces [][]byte) error { return f.inner.Write(g, pieces...) }
	if g.Kind == Plain {
		return f.pass(&f.outgoing, g, pieces, out)
	}
	return cut(f.header, g, bytes.Join(pieces, nil),
		func(frame []byte) error { return f.pass(&f.outgoing, GSO{}, [][]byte{frame}, out) })
}

// Features implements Link.
func (f *Faults) Features() Features { return f.inner.Features() }

// Close implements Link.
func (f *Faults) Close() error {
	f.in.close()
	return f.inner.Close()
}
