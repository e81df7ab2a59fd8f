package random

import (
	"encoding/binary"
	"net/netip"
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
	var s Source
	s.SetKey([16]byte{1, 2})
	type input struct {
		local, remote [16]byte
		ports         uint32
		purpose       Purpose
		more          uint64
	}
	seen := map[uint64]bool{}
	all := []input{
		{}, {local: [16]byte{1}}, {local: [16]byte{15: 1}}, {remote: [16]byte{1}},
		{remote: [16]byte{15: 1}}, {local: [16]byte{8: 1}}, {remote: [16]byte{8: 1}},
		{local: [16]byte{1}, remote: [16]byte{2}}, {local: [16]byte{2}, remote: [16]byte{1}},
		{ports: 1}, {ports: 1 << 16}, {purpose: ForCookie}, {purpose: ForSharing},
		{purpose: ForCookie, more: 1},
	}
	for _, x := range all {
		h := s.Hash(&x.local, &x.remote, x.ports, x.purpose, x.more)
		if again := s.Hash(&x.local, &x.remote, x.ports, x.purpose, x.more); again != h {
			t.Errorf("%+v has two hashes", x)
		}
		seen[h] = true
	}
	if len(seen) != len(all) {
		t.Errorf("%d inputs have %d hashes", len(all), len(seen))
	}
	var other Source
	other.SetKey([16]byte{2, 1})
	if x := all[0]; seen[other.Hash(&x.local, &x.remote, x.ports, x.purpose, x.more)] {
		t.Error("the hash does not depend on the key")
	}
	if n := testing.AllocsPerRun(100, func() {
		x := &all[1]
		s.Hash(&x.local, &x.remote, 3, ForCookie, 4)
	}); n != 0 {
		t.Errorf("it allocates %.0f times", n)
	}
}

// TestPacketIDs holds that packets of one pair of hosts are counted, also those of a super-frame.
func TestPacketIDs(t *testing.T) {
	var s Source
	s.SetKey([16]byte{3})
	a, b := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	first := s.PacketID(a, b, 1)
	if second := s.PacketID(a, b, 3); second != first+1 {
		t.Errorf("%d follows %d", second, first)
	}
	if fifth := s.PacketID(a, b, 1); fifth != first+4 {
		t.Errorf("%d is the ID of the fifth packet, and %d of the first", fifth, first)
	}
	if back := s.PacketID(b, a, 1); back == first {
		t.Error("the ID does not depend on the direction")
	}
}
