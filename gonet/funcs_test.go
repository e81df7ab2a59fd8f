package gonet

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
)

// TestStacksOverAStream joins two stacks by a stream that frames are sent on, as QEMU does, with
// Ethernet and without, and ends it.
func TestStacksOverAStream(t *testing.T) {
	for name, features := range map[string]link.Features{"Ethernet": {MTU: 1500},
		"large frames": {MTU: 65_000}, "L3": {MTU: 1500, L3: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := net.Pipe()
				x, y := host6(t, link.NewStream(a, features), "1"),
					host6(t, link.NewStream(b, features), "2")
				for _, to := range []string{"10.0.0.2", "2001:db8::2"} {
					near, far := connected(t, x, y, to)
					bothWays(t, 1, near, far, 1_000_000)
				}
				near, far := connected(t, x, y, "10.0.0.2")
				if err := x.Abort(); err != nil {
					t.Fatal(err)
				}
				if _, err := far.Read(make([]byte, 1)); err == nil {
					t.Error("a connection outlives its peer")
				}
				if _, err := near.Read(make([]byte, 1)); err == nil {
					t.Error("a connection outlives its stack")
				}
				select {
				case <-y.Done():
				case <-time.After(time.Minute):
					t.Fatal("a stack outlives its stream")
				}
				if y.Err() == nil {
					t.Error("it ends without a reason")
				}
			})
		})
	}
}

// TestStacksOverFunctions joins two stacks by functions that pass on what is left to the receiver
// of a frame: super-frames stay whole.
func TestStacksOverFunctions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there, back := make(chan link.Frame), make(chan link.Frame)
		features := link.Features{MTU: 1500, L3: true, Partial: true, TCPv4: true, TCPv6: true,
			MaxSuper: 65535}
		end := func(in <-chan link.Frame, out chan<- link.Frame) link.Link {
			closed := make(chan struct{})
			return link.NewFuncs(features, func(b []byte) (int, link.GSO, error) {
				select {
				case f := <-in:
					f.GSO.Valid = true // it has not left memory
					return copy(b, f.Data), f.GSO, nil
				case <-closed:
					return 0, link.GSO{}, io.EOF
				}
			}, func(gso link.GSO, frame []byte) error {
				select {
				case out <- link.Frame{Data: append([]byte{}, frame...), GSO: gso}:
				case <-closed:
				}
				return nil
			}, func() error { close(closed); return nil })
		}
		x, y := host6(t, end(back, there), "1"), host6(t, end(there, back), "2")
		for _, to := range []string{"10.0.0.2", "2001:db8::2"} {
			before := x.Stats().Sent
			near, far := connected(t, x, y, to)
			bothWays(t, 1, near, far, 1<<20)
			if n := x.Stats().Sent - before; n > 2<<20/1448 {
				t.Errorf("%d frames for a megabyte each way", n)
			}
		}
	})
}
