package server

import "testing"

// TestRest: one look in a second at a server that has had a burst, is busy, or is active now and
// then.
func TestRest(t *testing.T) {
	const mib = 1 << 20
	for _, test := range []struct {
		name      string
		allocated []uint64 // in each second, in MiB
		want      int      // the look after which memory is collected, from 1; 0: none
	}{
		{"nothing", []uint64{0, 0, 0, 0, 0, 0}, 0},
		{"a burst", []uint64{100, 0, 0, 0, 0, 0}, 4},
		{"a burst of some seconds", []uint64{30, 30, 30, 0, 0, 0, 0}, 6},
		{"too little", []uint64{60, 0, 0, 0, 0}, 0},
		{"never quiet", []uint64{100, 2, 2, 100, 2, 2, 2}, 0},
		{"quiet for too short a time", []uint64{100, 0, 0, 100, 0, 0, 100}, 0},
		{"some words after it", []uint64{100, 1, 1, 1}, 4},
	} {
		var r burstCollector
		total, got := uint64(0), 0
		for n, some := range test.allocated {
			total += some * mib
			if r.look(total) {
				if got > 0 {
					t.Errorf("%s: collected again, at look %d", test.name, n+1)
				}
				got = n + 1
			}
		}
		if got != test.want {
			t.Errorf("%s: collected at look %d, want %d", test.name, got, test.want)
		}
	}
}
