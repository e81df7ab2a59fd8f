package gonet

import (
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
)

// lateLink is a link whose Read returns only when it is interrupted, as on a machine whose dealer
// gets no processor time.
type lateLink struct {
	link.Link
	is   atomic.Bool
	rung chan struct{}
}

func (l *lateLink) Read(batch []link.Frame) (int, error) {
	if l.is.Load() {
		<-l.rung
		l.Link.Interrupt()
	}
	return l.Link.Read(batch)
}

func (l *lateLink) Interrupt() {
	l.Link.Interrupt()
	select {
	case l.rung <- struct{}{}:
	default:
	}
}

func (l *lateLink) Close() error {
	l.is.Store(false)
	l.Interrupt()
	return l.Link.Close()
}

// TestTheDealerReadsBeforeTimers has a retransmission timer go off while the acknowledgement waits
// at the link: nothing is retransmitted.
func TestTheDealerReadsBeforeTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := link.Pair()
		slow := &lateLink{Link: one, rung: make(chan struct{}, 1)}
		a, b := twoHosts(t, slow, other)
		near, far := connected(t, a, b, "10.0.0.2")
		go func() { _, _ = io.Copy(io.Discard, far) }()
		for range 10 { // the round-trip estimate is that of a fast machine
			if _, err := near.Write([]byte("hello")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		slow.is.Store(true)
		for range 20 { // full segments, so that no acknowledgement is delayed
			if _, err := near.Write(make([]byte, 4*1448)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
		}
		if i := near.(*Conn).Info(); i.Resent != 0 || i.Unacked != 0 {
			t.Errorf("%d of %d segments were sent again, %d bytes are not acknowledged", i.Resent,
				i.Segments, i.Unacked)
		}
		if err := near.Close(); err != nil {
			t.Error(err)
		}
	})
}
