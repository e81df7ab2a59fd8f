package hall

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestVersions: versions are those of a plain list, and what a reading has begun with stays.
func TestVersions(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var now versions
	var list []version // in the order of the messages
	type reading struct {
		versions
		list []version
	}
	var readings []reading
	for i := range 20_000 {
		of := random.Uint64N(3000)
		if random.IntN(8) == 0 { // some messages have many
			of %= 10
		}
		if random.IntN(5) == 0 {
			left, gone := now.without(of)
			var want []version
			kept := slices.DeleteFunc(slices.Clone(list), func(v version) bool {
				if v.of == of {
					want = append(want, v)
				}
				return v.of == of
			})
			if !slices.Equal(gone, want) {
				t.Fatalf("%d: removed were %v, want %v", i, gone, want)
			}
			now, list = left, kept
		} else {
			v := version{of: of, at: uint64(10_000 + i), size: i}
			now = now.with(v)
			behind, _ := slices.BinarySearchFunc(list, of+1, func(v version, of uint64) int {
				return cmp.Compare(v.of, of)
			})
			list = slices.Insert(list, behind, v)
		}
		if i%1000 == 0 {
			readings = append(readings, reading{now, slices.Clone(list)})
		}
	}
	readings = append(readings, reading{now, list}, reading{versionsOf(list), list})
	for i, r := range readings {
		if got := slices.Collect(r.all()); !slices.Equal(got, r.list) {
			t.Fatalf("reading %d has %d versions, want %d", i, len(got), len(r.list))
		}
		want := map[uint64][]version{}
		for _, v := range r.list {
			want[v.of] = append(want[v.of], v)
		}
		for of := range uint64(3000) {
			if got := r.of(of); !slices.Equal(got, want[of]) {
				t.Fatalf("reading %d, message %d: %v, want %v", i, of, got, want[of])
			}
		}
		for _, b := range r.blocks {
			if len(b) == 0 || len(b) > blockSize+maxVersions {
				t.Errorf("reading %d has a block of %d", i, len(b))
			}
		}
	}
}

// BenchmarkEditsBesideReadings has a later text come, and a reading begin, with a million of texts.
func BenchmarkEditsBesideReadings(b *testing.B) {
	var list []version
	for i := range uint64(1_000_000) {
		list = append(list, version{of: 100 * i, at: 100*i + 1, size: 50})
	}
	h := &Hall{versions: versionsOf(list)}
	var read versions
	i := uint64(0)
	for b.Loop() {
		i++
		h.addVersion(version{of: i * 7919 % 1_000_000 * 100, at: 200_000_000 + i, size: 50})
		read = h.versions
	}
	if read.empty() {
		b.Error("there are no versions")
	}
}
