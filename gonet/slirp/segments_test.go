package slirp

import "testing"

// lengths returns datagrams of some lengths.
func lengths(all ...int) (datagrams [][]byte) {
	for _, n := range all {
		datagrams = append(datagrams, make([]byte, n))
	}
	return datagrams
}

// TestRunOf holds which datagrams one call sends.
func TestRunOf(t *testing.T) {
	for _, c := range []struct {
		lengths []int
		want    int
	}{
		{[]int{5}, 1},
		{[]int{0}, 1},
		{[]int{5, 5, 5}, 3},
		{[]int{5, 5, 3, 5}, 3},
		{[]int{5, 6}, 1},
		{[]int{5, 5, 0, 5}, 2},
		{[]int{0, 0}, 1},
		{[]int{0, 5}, 1},
		{[]int{30_000, 30_000, 30_000}, 2},
		{[]int{30_000, 30_000, 5507}, 3},
		{[]int{30_000, 30_000, 5508}, 2},
	} {
		if got := runOf(lengths(c.lengths...)); got != c.want {
			t.Errorf("%v: %d, want %d", c.lengths, got, c.want)
		}
	}
}

// FuzzRunOf holds that a run keeps the rule of WriteSegments, and cannot be longer.
func FuzzRunOf(f *testing.F) {
	f.Add([]byte{9, 9, 9, 3, 9})
	f.Add([]byte{0, 1})
	f.Add([]byte{255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, sizes []byte) {
		if len(sizes) == 0 || len(sizes) > maxBatch {
			return
		}
		var all []int
		for _, n := range sizes {
			all = append(all, int(n)*100) // a run of many reaches the bound
		}
		n, sum := runOf(lengths(all...)), 0
		if n < 1 || n > len(all) {
			t.Fatalf("%d of %d", n, len(all))
		}
		for i, size := range all[:n] {
			sum += size
			last := i == n-1
			if size != all[0] && !(last && size < all[0]) || n > 1 && size == 0 {
				t.Errorf("%v: datagram %d of %d", all, i, n)
			}
		}
		if sum > maxRun {
			t.Errorf("%d bytes", sum)
		}
		if n < len(all) && all[n] > 0 && all[n] <= all[0] && all[n-1] == all[0] &&
			sum+all[n] <= maxRun {
			t.Errorf("%v: a run of %d could be longer", all, n)
		}
	})
}
