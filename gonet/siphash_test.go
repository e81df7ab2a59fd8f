package gonet

import (
	"encoding/binary"
	"testing"
)

// TestSipHash compares the hash with the vectors of the reference implementation: key 00 01 .. 0f,
// input 00 01 .. of each length.
func TestSipHash(t *testing.T) {
	var bytes [64]byte
	for i := range bytes {
		bytes[i] = byte(i)
	}
	key := makeSIPKey([16]byte(bytes[:16]))
	for _, c := range []struct {
		words int
		want  uint64
	}{{0, 0x726fdb47dd0e0e31}, {1, 0x93f5f5799a932462}, {2, 0x3f2acc7f57c29bdb}} {
		var text []uint64
		for i := range c.words {
			text = append(text, binary.LittleEndian.Uint64(bytes[8*i:]))
		}
		if got := key.sum(text...); got != c.want {
			t.Errorf("%d bytes: got %016x, want %016x", 8*c.words, got, c.want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { key.sum(1, 2, 3) }); n != 0 {
		t.Errorf("it allocates %.0f times", n)
	}
}

// TestHashesDiffer holds that a hash depends on each part of a flow, and on its purpose.
func TestHashesDiffer(t *testing.T) {
	s := &Stack{sip: sipKey{1, 2}}
	base := flow{localPort: 1, remotePort: 2}
	seen := map[uint64]bool{s.hash(&base, forConnection, 0): true}
	for _, change := range []func(f *flow){
		func(f *flow) { f.local[0]++ }, func(f *flow) { f.local[15]++ },
		func(f *flow) { f.remote[0]++ }, func(f *flow) { f.remote[15]++ },
		func(f *flow) { f.localPort, f.remotePort = 2, 1 },
		func(f *flow) { f.local, f.remote = [16]byte{1}, [16]byte{2} },
		func(f *flow) { f.local, f.remote = [16]byte{2}, [16]byte{1} },
	} {
		f := base
		change(&f)
		seen[s.hash(&f, forConnection, 0)] = true
	}
	seen[s.hash(&base, forCookie, 0)], seen[s.hash(&base, forPacketID, 0)], seen[s.hash(
		&base, forCookie, 1)] = true, true, true
	if len(seen) != 11 {
		t.Errorf("11 flows and purposes have %d hashes", len(seen))
	}
}
