package netstack

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// A made segment is one of a stream, with what a test changes in it.
type made struct {
	six      bool
	sequence uint32
	flags    wire.Flags
	payload  int
	id       uint16
	window   uint16
	ttl      byte
	options  []byte
	corrupt  bool
}

// bytes makes the packet.
func (m made) bytes() []byte {
	be := binary.BigEndian
	src, dst := netip.MustParseAddr("10.9.0.1"), netip.MustParseAddr("10.9.0.2")
	ip := wire.IPv4Len
	if m.six {
		src, dst = netip.MustParseAddr("fd09::1"), netip.MustParseAddr("fd09::2")
		ip = wire.IPv6Len
	}
	header := ip + wire.TCPLen + len(m.options)
	b := make([]byte, header+m.payload)
	if m.six {
		b[0], b[atIPv6Next], b[7] = 0x60, byte(wire.ProtocolTCP), m.ttl
		be.PutUint16(b[atIPv6Length:], uint16(len(b)-ip))
		copy(b[8:], src.AsSlice())
		copy(b[24:], dst.AsSlice())
	} else {
		b[0], b[8], b[atIPv4Protocol] = 0x45, m.ttl, byte(wire.ProtocolTCP)
		be.PutUint16(b[atIPv4Length:], uint16(len(b)))
		be.PutUint16(b[atIPv4ID:], m.id)
		copy(b[12:], src.AsSlice())
		copy(b[16:], dst.AsSlice())
		be.PutUint16(b[atIPv4Sum:], ^wire.Sum(b[:ip], 0))
	}
	t := b[ip:]
	be.PutUint16(t, 4711)
	be.PutUint16(t[2:], 80)
	be.PutUint32(t[atSequence:], m.sequence)
	t[atOffset] = byte((wire.TCPLen+len(m.options))/4) << 4
	t[atFlags] = byte(m.flags)
	be.PutUint16(t[14:], m.window)
	copy(t[wire.TCPLen:], m.options)
	for i := range t[wire.TCPLen+len(m.options):] {
		t[wire.TCPLen+len(m.options)+i] = byte(int(m.sequence) + i)
	}
	be.PutUint16(t[atSum:], ^wire.Sum(t, wire.PseudoSum(src, dst, wire.ProtocolTCP, len(t))))
	if m.corrupt {
		b[len(b)-1] ^= 1
	}
	return b
}

// joined gives packets to a joiner, and returns the frames.
func joined(t testing.TB, packets [][]byte) []link.Frame {
	t.Helper()
	var j joiner
	var frames []link.Frame
	out := func(g link.GSO, pieces ...[]byte) error {
		frames = append(frames, link.Frame{Data: bytes.Join(pieces, nil), GSO: g})
		return nil
	}
	for _, p := range packets {
		if err := j.add(p, out); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.flush(out); err != nil {
		t.Fatal(err)
	}
	return frames
}

// same checks that the frames, cut again, are the packets. The numbers of IPv4 packets may differ.
func same(t testing.TB, packets [][]byte, frames []link.Frame) {
	t.Helper()
	var again [][]byte
	for _, f := range frames {
		keep := func(b []byte) error {
			again = append(again, bytes.Clone(b))
			return nil
		}
		if f.GSO.Kind == link.Plain {
			_ = keep(f.Data)
		} else if err := link.CutL3(f.GSO, f.Data, keep); err != nil {
			t.Fatal(err)
		}
	}
	if len(again) != len(packets) {
		t.Fatalf("%d packets became %d", len(packets), len(again))
	}
	for i := range packets {
		if !bytes.Equal(unnumbered(packets[i]), unnumbered(again[i])) {
			t.Fatalf("packet %d\n%x became\n%x", i, packets[i], again[i])
		}
	}
}

// unnumbered clears the number and the checksum of an IPv4 header.
func unnumbered(b []byte) []byte {
	b = bytes.Clone(b)
	if len(b) >= wire.IPv4Len && b[0]>>4 == 4 {
		copy(b[atIPv4ID:atIPv4Fragment], []byte{0, 0})
		copy(b[atIPv4Sum:], []byte{0, 0})
	}
	return b
}

func TestJoin(t *testing.T) {
	timestamps := []byte{1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2}
	stream := func(n int, change func(i int, m *made)) [][]byte {
		var all [][]byte
		sequence := uint32(0xfffff000) // it wraps
		for i := range n {
			m := made{sequence: sequence, flags: wire.ACK, payload: 1000, id: uint16(i), ttl: 64,
				window: 500, options: timestamps}
			change(i, &m)
			sequence += uint32(m.payload)
			all = append(all, m.bytes())
		}
		return all
	}
	for _, test := range []struct {
		name   string
		change func(i int, m *made)
		frames int // of ten packets
	}{
		{"all", func(int, *made) {}, 1},
		{"IPv6", func(_ int, m *made) { m.six = true }, 1},
		{"a push ends it", func(i int, m *made) {
			if i == 4 {
				m.flags |= wire.PSH
			}
		}, 2},
		{"a short one ends it", func(i int, m *made) {
			if i == 4 {
				m.payload = 10
			}
		}, 2},
		{"a longer one begins another", func(i int, m *made) {
			if i == 5 {
				m.payload = 1001
			}
		}, 3},
		{"a gap", func(i int, m *made) {
			if i >= 5 {
				m.sequence++
			}
		}, 2},
		{"another window", func(i int, m *made) {
			if i == 5 {
				m.window++
			}
		}, 3},
		{"another TTL", func(i int, m *made) {
			if i >= 5 {
				m.ttl--
			}
		}, 2},
		{"other timestamps", func(i int, m *made) {
			m.options = bytes.Clone(timestamps)
			m.options[7] = byte(i)
		}, 10},
		{"a wrong checksum", func(i int, m *made) { m.corrupt = i == 5 }, 3},
		{"a FIN stays alone", func(i int, m *made) {
			if i == 9 {
				m.flags |= wire.FIN
			}
		}, 2},
		{"bare acknowledgements", func(_ int, m *made) { m.payload = 0 }, 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			packets := stream(10, test.change)
			frames := joined(t, packets)
			if len(frames) != test.frames {
				t.Errorf("%d frames, want %d", len(frames), test.frames)
			}
			same(t, packets, frames)
		})
	}
	t.Run("64 KiB", func(t *testing.T) {
		packets := stream(200, func(int, *made) {})
		frames := joined(t, packets)
		for _, f := range frames {
			if len(f.Data) > maxSuper {
				t.Errorf("a super-frame of %d bytes", len(f.Data))
			}
		}
		if len(frames) != 4 {
			t.Errorf("%d frames", len(frames))
		}
		same(t, packets, frames)
	})
}

// TestRandomJoins joins streams of random shapes.
func TestRandomJoins(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var packets [][]byte
		m := made{six: random.IntN(2) == 0, flags: wire.ACK, payload: 1 + random.IntN(1400),
			ttl: 64}
		size := m.payload
		for range 1 + random.IntN(60) {
			packets = append(packets, m.bytes())
			m.sequence += uint32(m.payload)
			m.payload, m.flags, m.corrupt = size, wire.ACK, false
			switch random.IntN(12) {
			case 0:
				m.flags |= wire.PSH
			case 1:
				m.payload = random.IntN(size + 1)
			case 2:
				m.sequence += 7
			case 3:
				m.corrupt = m.payload > 0
			case 4:
				m.window++
			}
		}
		same(t, packets, joined(t, packets))
	}
}

// FuzzJoin cuts arbitrary bytes into packets, and gives each twice to a joiner.
func FuzzJoin(f *testing.F) {
	a := made{flags: wire.ACK, payload: 100, ttl: 64}.bytes()
	b := made{flags: wire.ACK, payload: 100, ttl: 64, sequence: 100}.bytes()
	f.Add(append(bytes.Clone(a), b...), uint16(len(a)))
	six := made{six: true, flags: wire.ACK, payload: 9, ttl: 64}.bytes()
	f.Add(append(bytes.Clone(six), six...), uint16(len(six)))
	f.Fuzz(func(t *testing.T, all []byte, size uint16) {
		var packets [][]byte
		for len(all) > 0 {
			n := min(max(int(size), 1), len(all))
			packets = append(packets, all[:n])
			all = all[n:]
		}
		same(t, packets, joined(t, packets))
	})
}
