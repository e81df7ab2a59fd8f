package link

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ReadFunc reads one frame into b, which has room for the longest of the link. It blocks until
// there is one. A frame of no bytes is skipped. An error ends the link.
type ReadFunc func(b []byte) (n int, gso GSO, err error)

// WriteFunc writes one frame, of which it keeps nothing. It may block: the frames that come
// meanwhile wait, or are dropped. An error ends the link. With features without offloads gso is
// zero.
type WriteFunc func(gso GSO, frame []byte) error

// Funcs is a link over two functions: over a tunnel, a socket, a device of another system. A
// goroutine calls each of the two, so they may block, and need not know of Interrupt.
//
// Frames that the stack has not read yet keep the reader from reading more, so a stream slows its
// sender down. Frames that cannot be written are dropped, as those that find the queue of a device
// full: a stack must never wait for the other end, which may be one, too.
type Funcs struct {
	features Features
	room     int // the length in bytes of the buffers for reading
	read     ReadFunc
	write    func([]Frame) error
	shut     func() error

	arrived     chan Frame
	free        chan []byte   // the buffers for reading; nil: one that is still to be made
	interrupted chan struct{} // capacity 1
	lent        [][]byte      // the buffers of the frames that the last Read returned

	out     *queue
	written chan struct{} // closed when the goroutine that writes has ended
	refused atomic.Uint64 // what was read and is no frame of the link

	once     sync.Once
	closed   chan struct{}
	closeErr error
	failOnce sync.Once
	failed   chan struct{}
	fail     error // why the link does not work any more; set before failed is closed
}

// funcsBuffers is how many frames are read ahead, those that the stack works on included. 64 is a
// guess: two batches.
const funcsBuffers = 64

// closeWait bounds how long Close waits until the frames are written that wait, such as the last
// reset of a connection. A guess.
const closeWait = time.Second

// errNoFrame is the error of a function that has read what is no frame of the link, or a longer one
// than the link allows. It is counted, and the link goes on.
var errNoFrame = errors.New("not a frame of this link")

// NewFuncs makes a link with these features over functions. Its Close calls shut, once: that must
// end a read and a write that block.
func NewFuncs(features Features, read ReadFunc, write WriteFunc, shut func() error) *Funcs {
	return newFuncs(features, features.longest(), read, func(frames []Frame) error {
		for _, x := range frames {
			if err := write(x.GSO, x.Data); err != nil {
				return err
			}
		}
		return nil
	}, shut)
}

// newFuncs is NewFuncs for a function that reads into a room of so many bytes, and one that writes
// a batch of frames.
func newFuncs(features Features, room int, read ReadFunc, write func([]Frame) error,
	shut func() error) *Funcs {
	f := &Funcs{
		features: features, room: room, read: read, write: write, shut: shut,
		arrived: make(chan Frame, funcsBuffers), free: make(chan []byte, funcsBuffers),
		interrupted: make(chan struct{}, 1), out: newQueue(), written: make(chan struct{}),
		closed: make(chan struct{}), failed: make(chan struct{}),
	}
	for range funcsBuffers {
		f.free <- nil
	}
	go f.readFrames()
	go f.writeFrames()
	return f
}

// longest returns the length in bytes of the longest frame of a link, with a VLAN tag.
func (f Features) longest() int {
	const tag = 4
	if f.L3 {
		return max(f.MTU, f.MaxSuper)
	}
	return f.HeaderLen() + tag + max(f.MTU, f.MaxSuper)
}

// readFrames is the goroutine that reads. It ends with the first error.
func (f *Funcs) readFrames() {
	for {
		var b []byte
		select {
		case b = <-f.free:
		case <-f.closed:
			return
		}
		if b == nil {
			b = make([]byte, f.room)
		}
		n, gso, err := f.read(b)
		switch {
		case errors.Is(err, errNoFrame):
			f.refused.Add(1)
			f.free <- b
		case err != nil:
			f.end(err)
			return
		case n < 0 || n > len(b):
			f.end(fmt.Errorf("link: a frame of %d bytes was read into %d", n, len(b)))
			return
		case n == 0:
			f.free <- b
		default:
			f.arrived <- Frame{Data: b[:n], GSO: gso} // it has room for all buffers
		}
	}
}

// writeFrames is the goroutine that writes. It ends with the first error, or when the link is
// closed and all is written.
func (f *Funcs) writeFrames() {
	defer close(f.written)
	batch := make([]Frame, funcsBuffers)
	for {
		n, err := f.out.read(batch)
		if err != nil {
			return
		}
		if err := f.write(batch[:n]); err != nil {
			f.end(err)
			f.out.close()
			return
		}
	}
}

// end notes why the link does not work any more.
func (f *Funcs) end(err error) {
	f.failOnce.Do(func() {
		f.fail = err
		close(f.failed)
	})
}

// Read implements Link.
func (f *Funcs) Read(batch []Frame) (int, error) {
	for _, b := range f.lent {
		f.free <- b[:cap(b)]
	}
	f.lent = f.lent[:0]
	if err := f.err(); errors.Is(err, ErrClosed) {
		return 0, err
	}
	if n := f.take(batch); n > 0 {
		return n, nil
	}
	select {
	case x := <-f.arrived:
		batch[0] = x
		f.lent = append(f.lent, x.Data)
		return 1 + f.take(batch[1:]), nil
	case <-f.interrupted:
		return 0, nil
	case <-f.closed:
		return 0, ErrClosed
	case <-f.failed:
		return f.rest(batch)
	}
}

// rest returns what has arrived before the link failed, or the reason.
func (f *Funcs) rest(batch []Frame) (int, error) {
	err := f.err()
	if errors.Is(err, ErrClosed) {
		return 0, ErrClosed
	}
	if n := f.take(batch); n > 0 {
		return n, nil
	}
	return 0, err
}

// err returns why the link does not work any more, or nil. One that was closed has failed, too.
func (f *Funcs) err() error {
	select {
	case <-f.closed:
		return ErrClosed
	default:
	}
	select {
	case <-f.failed:
		return f.fail
	default:
		return nil
	}
}

// take moves the frames that are there to the batch, and returns their number.
func (f *Funcs) take(batch []Frame) int {
	for n := range batch {
		select {
		case x := <-f.arrived:
			batch[n] = x
			f.lent = append(f.lent, x.Data)
		default:
			return n
		}
	}
	return len(batch)
}

// Interrupt implements Link.
func (f *Funcs) Interrupt() {
	select {
	case f.interrupted <- struct{}{}:
	default: // an interrupt is pending already
	}
}

// Write implements Link.
func (f *Funcs) Write(gso GSO, pieces ...[]byte) error {
	if err := f.err(); err != nil {
		return err
	}
	return f.out.put(gso, pieces)
}

// Features implements Link.
func (f *Funcs) Features() Features { return f.features }

// Dropped returns the number of frames that found the queue for writing full or could not be
// written, and of those that were read and were too long or none of this link.
func (f *Funcs) Dropped() uint64 { return f.out.dropped.Load() + f.refused.Load() }

// Close implements Link. Frames that wait to be written are written first, if that takes less than
// a second.
func (f *Funcs) Close() error {
	f.once.Do(func() {
		close(f.closed)
		f.out.finish()
		timer := time.NewTimer(closeWait)
		defer timer.Stop()
		select {
		case <-f.written:
		case <-timer.C:
			f.out.close()
		}
		f.closeErr = f.shut()
	})
	return f.closeErr
}
