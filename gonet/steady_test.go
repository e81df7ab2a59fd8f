//go:build !race

package gonet

import "testing"

// A packet that is answered in place must leave nothing for the collector. The race detector empties pools at random.
func TestAPacketAllocatesNothing(t *testing.T) {
	for src, dst := range map[string]string{"10.0.0.1": "10.0.0.2", "2001:db8::1": "2001:db8::2"} {
		echoes(t, src, dst, func(answer func()) {
			if n := testing.AllocsPerRun(1000, answer); n != 0 {
				t.Errorf("to %s: %v allocations", dst, n)
			}
		})
	}
}
