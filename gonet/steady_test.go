//go:build !race

package gonet

import (
	"io"
	"testing"

	"interleave/gonet/link"
)

// TestAPacketAllocatesNothing holds that answering a packet allocates nothing. (The race detector
// empties pools at random.)
func TestAPacketAllocatesNothing(t *testing.T) {
	for src, dst := range map[string]string{"10.0.0.1": "10.0.0.2", "2001:db8::1": "2001:db8::2"} {
		echoes(t, src, dst, func(answer func()) {
			if n := testing.AllocsPerRun(1000, answer); n != 0 {
				t.Errorf("to %s: %v allocations", dst, n)
			}
		})
	}
}

// TestAConnectionAllocatesNothing holds that a connection in use allocates nothing on both stacks:
// no segment, no wake-up, no timer.
func TestAConnectionAllocatesNothing(t *testing.T) {
	for name, options := range map[string][]link.Option{"plain": nil,
		"super-frames": {link.Offload()}} {
		for _, ends := range [][2]string{{"10.0.0.1/24", "10.0.0.2/24"},
			{"2001:db8::1/64", "2001:db8::2/64"}} {
			near, far, stop, err := pipe(ends[0], ends[1], options...)()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(stop)
			go func() { // ends with the connection
				_, _ = io.CopyBuffer(struct{ io.Writer }{far}, struct{ io.Reader }{far},
					make([]byte, 64<<10))
			}()
			for _, size := range []int{1, 1000, 40_000} {
				b := make([]byte, size)
				trip := func() {
					if _, err := near.Write(b); err != nil {
						t.Fatal(err)
					}
					if _, err := io.ReadFull(near, b); err != nil {
						t.Fatal(err)
					}
				}
				for range 200 {
					trip() // fills pools and windows
				}
				if n := testing.AllocsPerRun(500, trip); n != 0 {
					t.Errorf("%s, %s, %d bytes there and back: %v allocations", name, ends[1], size,
						n)
				}
			}
		}
	}
}
