package link

import "sync/atomic"

// End is one end of a link in memory.
type End struct {
	in, out  *queue
	features Features
	closed   atomic.Bool
}

// Option configures a link in memory.
type Option func(*Features)

// MTU sets the largest IP packet in bytes. The default is 1500.
func MTU(bytes int) Option { return func(f *Features) { f.MTU = bytes } }

// Offload has a link in memory carry super-frames and partial checksums, as veth of Linux does: a
// frame that never leaves the machine is neither cut nor summed.
func Offload() Option {
	return func(f *Features) {
		f.Partial, f.TCPv4, f.TCPv6, f.UDP, f.MaxSuper = true, true, true, true, 65535
	}
}

// L3 has a link in memory carry IP packets without Ethernet, as a tun of Linux does.
func L3() Option { return func(f *Features) { f.L3 = true } }

// Pair makes a link with two ends: what is written to one is read from the other. An end may be
// closed alone. What the other end writes is then lost, as on a wire whose station has gone.
func Pair(options ...Option) (*End, *End) {
	f := Features{MTU: 1500}
	for _, o := range options {
		o(&f)
	}
	a, b := newQueue(), newQueue()
	return &End{in: a, out: b, features: f}, &End{in: b, out: a, features: f}
}

// Loopback makes one end that reads what is written to it.
func Loopback(options ...Option) *End {
	f := Features{MTU: 1500}
	for _, o := range options {
		o(&f)
	}
	q := newQueue()
	return &End{in: q, out: q, features: f}
}

// Read implements Link.
func (e *End) Read(batch []Frame) (int, error) {
	n, err := e.in.read(batch)
	for i := range batch[:n] {
		g := &batch[i].GSO
		g.Valid = g.Valid || g.Partial // the frame has not left memory
	}
	return n, err
}

// Interrupt implements Link.
func (e *End) Interrupt() { e.in.interrupt() }

// Write implements Link.
func (e *End) Write(gso GSO, pieces ...[]byte) error {
	if e.closed.Load() {
		return ErrClosed
	}
	return e.out.put(gso, pieces)
}

// Features implements Link.
func (e *End) Features() Features { return e.features }

// Close closes this end. The other end stays open.
func (e *End) Close() error {
	e.closed.Store(true)
	e.in.close()
	return nil
}

// Dropped returns the number of frames that found the queue of this end full or closed.
func (e *End) Dropped() uint64 { return e.in.dropped.Load() }
