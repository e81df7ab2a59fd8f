package link

import (
	"bytes"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/wire"
)

// superFrame returns a super-frame with n bytes of payload and all flags that a cut changes.
func superFrame(kind Kind, n, size int) (GSO, []byte) {
	t := wire.TCP{SrcPort: 1, DstPort: 2, Seq: 0xffffff00,
		Flags: wire.ACK | wire.PSH | wire.FIN | wire.CWR}
	t.Options.HasTimestamp = true
	e := wire.Ethernet{Type: wire.EtherIPv4}
	var b []byte
	if kind == TCPv4 {
		ip := wire.IPv4{
			Length: uint16(20 + t.Len() + n), ID: 0xfffe, TTL: 9, Protocol: wire.ProtocolTCP,
			Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"),
		}
		b = make([]byte, 14+20+t.Len()+n)
		ip.Put(b[14:])
		t.Put(b[34:])
	} else {
		e.Type = wire.EtherIPv6
		ip := wire.IPv6{
			Length: uint16(t.Len() + n), NextHeader: wire.ProtocolTCP, HopLimit: 9,
			Src: netip.MustParseAddr("2001:db8::1"), Dst: netip.MustParseAddr("2001:db8::2"),
		}
		b = make([]byte, 14+40+t.Len()+n)
		ip.Put(b[14:])
		t.Put(b[54:])
	}
	e.Put(b)
	header := len(b) - n
	for i := range b[header:] {
		b[header+i] = byte(i * i >> 3)
	}
	return GSO{Kind: kind, Size: uint16(size), Header: uint16(header), Partial: true,
		Start: uint16(header - t.Len()), Offset: 16}, b
}

func TestCut(t *testing.T) {
	for _, kind := range []Kind{TCPv4, TCPv6} {
		for _, c := range []struct{ n, size, frames int }{{50_000, 1448, 35}, {2896, 1448, 2},
			{1, 1448, 1}, {0, 1448, 1}, {1449, 1448, 2}} {
			g, super := superFrame(kind, c.n, c.size)
			var frames [][]byte
			if err := Cut(g, super,
				func(b []byte) error { frames = append(frames, b); return nil }); err != nil {
				t.Fatal(err)
			}
			if len(frames) != c.frames {
				t.Fatalf("%d frames of %d bytes, want %d", len(frames), c.n, c.frames)
			}
			var text []byte
			for i, frame := range frames {
				h, body, sum := segmentOf(t, frame, i)
				if sum != 0xffff {
					t.Errorf("frame %d: a wrong checksum", i)
				}
				last := i == len(frames)-1
				if h.Seq != 0xffffff00+uint32(len(text)) || (h.Flags&wire.CWR != 0) != (i == 0) ||
					(h.Flags&(wire.FIN|wire.PSH) != 0) != last {
					t.Errorf("frame %d: %+v", i, h)
				}
				text = append(text, body...)
			}
			if !bytes.Equal(text, super[g.Header:]) {
				t.Errorf("%d bytes in %d frames are not what was cut", c.n, c.frames)
			}
		}
	}
}

// TestCutter cuts into memory that has no room for one piece, which is skipped.
func TestCutter(t *testing.T) {
	g, super := superFrame(TCPv4, 3000, 1000)
	bare := g
	bare.Header -= wire.EthernetLen
	bare.Start -= wire.EthernetLen
	c, err := NewCutterL3(bare, super[wire.EthernetLen:])
	if err != nil {
		t.Fatal(err)
	}
	var want [][]byte
	keep := func(b []byte) error { want = append(want, b); return nil }
	if err := Cut(g, super, keep); err != nil {
		t.Fatal(err)
	}
	b := bytes.Repeat([]byte{0xaa}, 1500)
	for i, frame := range want {
		packet := frame[wire.EthernetLen:]
		room := b
		if i == 1 {
			room = b[:len(packet)-1]
			clear(b)
		}
		if n := c.Len(); n != len(packet) {
			t.Errorf("piece %d has %d bytes, want %d", i, n, len(packet))
		}
		n := c.Next(room)
		if n != len(packet) || i != 1 && !bytes.Equal(b[:n], packet) || i == 1 && b[0] != 0 {
			t.Errorf("piece %d has %d bytes, want %d, or others", i, n, len(packet))
		}
	}
	if n := c.Next(b); n != 0 || c.Len() != 0 {
		t.Errorf("%d bytes after the last piece", n)
	}
	if n := new(Cutter).Next(b); n != 0 {
		t.Errorf("%d bytes of nothing", n)
	}
	if c, err := NewCutterL3(GSO{Kind: TCPv4, Size: 1000}, super); err == nil || c.Len() != 0 {
		t.Errorf("a frame that cannot be cut: %v, %d bytes", err, c.Len())
	}
}

// segmentOf parses the ith piece, and returns its checksum.
func segmentOf(t *testing.T, frame []byte, i int) (wire.TCP, []byte, uint16) {
	t.Helper()
	e, b, err := wire.ParseEthernet(frame)
	if err != nil {
		t.Fatal(err)
	}
	var src, dst netip.Addr
	var body []byte
	if e.Type == wire.EtherIPv4 {
		h, rest, err := wire.ParseIPv4(b)
		if err != nil || h.ID != 0xfffe+uint16(i) {
			t.Fatalf("%+v, %v", h, err)
		}
		src, dst, body = h.Src, h.Dst, rest
	} else {
		h, rest, err := wire.ParseIPv6(b)
		if err != nil {
			t.Fatal(err)
		}
		src, dst, body = h.Src, h.Dst, rest
	}
	h, text, err := wire.ParseTCP(body)
	if err != nil {
		t.Fatal(err)
	}
	return h, text, wire.Sum(body, wire.PseudoSum(src, dst, wire.ProtocolTCP, len(body)))
}

func FuzzCut(f *testing.F) {
	for _, kind := range []Kind{TCPv4, TCPv6} {
		g, b := superFrame(kind, 3000, 1000)
		f.Add(uint8(kind), g.Size, g.Header, b)
	}
	for _, version := range []int{4, 6} {
		g, b := superDatagram(version, 3000, 1200)
		f.Add(uint8(UDP), g.Size, g.Header, b)
	}
	f.Fuzz(func(t *testing.T, kind uint8, size, header uint16, b []byte) {
		sum := 0
		err := Cut(GSO{Kind: Kind(kind), Size: size, Header: header}, b, func(frame []byte) error {
			sum += len(frame) - int(header)
			return nil
		})
		if err == nil && sum != len(b)-int(header) {
			t.Errorf("%d bytes in the pieces of %d", sum, len(b)-int(header))
		}
	})
}

// TestFaultsOfSuperFrames holds that the packets of a super-frame that is sent have separate fates,
// and that a wire that is dark carries nothing.
func TestFaultsOfSuperFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pair(Offload())
		l := NewFaults(a, 7, Fault{}, Fault{Loss: .5})
		for range 20 {
			g, super := superFrame(TCPv4, 10_000, 100)
			if err := l.Write(g, super[:20], super[20:]); err != nil {
				t.Fatal(err)
			}
		}
		got := 0
		batch := make([]Frame, 2000)
		for got == 0 {
			n, err := b.Read(batch)
			if err != nil {
				t.Fatal(err)
			}
			got += n
		}
		if got < 800 || got > 1000 { // the queue has room for 1000
			t.Errorf("%d of 2000 packets", got)
		}
		closeBoth(t, l, b)
	})
	order, at, _ := faults(t, 100, 1, Fault{Light: 20 * time.Millisecond,
		Dark: 30 * time.Millisecond})
	if len(order) != 40 || order[19] != 19 || order[20] != 50 || at[20] != 50*time.Millisecond {
		t.Errorf("in the light: %v", order)
	}
}
