package search

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// FuzzList: a list has the places that it was made of, in every window of it, and marks them.
func FuzzList(f *testing.F) {
	f.Add([]byte{1}, uint32(0), uint32(9), 1)
	f.Add(bytes.Repeat([]byte{1, 200}, 3*blockLen), uint32(300), uint32(40_000), 7)
	f.Add(bytes.Repeat([]byte{255}, 2*blockLen), uint32(0), uint32(1<<16), 0)
	f.Fuzz(func(t *testing.T, steps []byte, from, to uint32, limit int) {
		var places []uint32
		at := uint32(0)
		for _, s := range steps {
			at += uint32(s) + 1
			places = append(places, at)
		}
		if len(places) == 0 || limit < 0 || limit > 1<<20 {
			return
		}
		raw := append([]byte("before"), appendList(nil, places)...)
		var l list
		err := l.open(bytes.NewReader(raw), 6, int64(len(raw)-6), len(places), at+1)
		if err != nil {
			t.Fatal(err)
		}
		var want []uint32
		for _, p := range places {
			if from <= p && p < to {
				want = append(want, p)
			}
		}
		for _, newest := range []bool{false, true} {
			got, err := l.window(nil, from, to, limit, newest)
			if err != nil {
				t.Fatal(err)
			}
			part := want
			if limit > 0 && len(got) < len(want) { // enough of them, at one end
				if part = want[:len(got)]; newest {
					part = want[len(want)-len(got):]
				}
				if len(got) < limit {
					t.Errorf("%d places of %d, want %d at least", len(got), len(want), limit)
				}
			}
			if !slices.Equal(got, part) {
				t.Errorf("from %d to %d, newest %v: %d places, want %d", from, to, newest, len(got),
					len(part))
			}
		}
		asked := []uint32{from}
		for p := uint32(0); p < at+300; p += 1 + at/50 {
			asked = append(asked, p)
		}
		slices.Sort(asked)
		keep := make([]bool, len(asked))
		if err := l.mark(asked, keep); err != nil {
			t.Fatal(err)
		}
		for i, p := range asked {
			if _, there := slices.BinarySearch(places, p); there != keep[i] {
				t.Errorf("%d is marked: %v", p, keep[i])
			}
		}
	})
}

// FuzzDamagedList: any bytes are a list, or an error.
func FuzzDamagedList(f *testing.F) {
	f.Add(appendList(nil, []uint32{1, 5, 9}), 3)
	long := make([]uint32, 3*blockLen+1)
	for i := range long {
		long[i] = uint32(i * 7)
	}
	raw := appendList(nil, long)
	f.Add(raw, len(long))
	binary.LittleEndian.PutUint32(raw[4:], 1<<31)
	f.Add(raw, len(long))
	f.Fuzz(func(t *testing.T, raw []byte, count int) {
		const limit = 1 << ChunkBits
		var l list
		if l.open(bytes.NewReader(raw), 0, int64(len(raw)), count, limit) != nil {
			return
		}
		if got, err := l.window(nil, 0, limit, 0, false); err == nil &&
			(len(got) > count || slices.Max(append(got, 0)) >= limit) {
			t.Errorf("%d places, of which some are too large: %v", len(got), got)
		}
		asked := []uint32{0, 1, 9, limit - 1, limit}
		_ = l.mark(asked, make([]bool, len(asked)))
	})
}
