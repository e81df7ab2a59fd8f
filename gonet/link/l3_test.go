package link

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"interleave/gonet/wire"
)

func TestPairL3(t *testing.T) {
	contract(t, func() (Link, Link) { return Pair(L3()) })
	a, b := Pair(L3(), MTU(1420))
	defer closeBoth(t, a, b)
	if f := a.Features(); !f.L3 || f.HeaderLen() != 0 || f.MTU != 1420 {
		t.Errorf("%+v, %d bytes before the packet", f, f.HeaderLen())
	}
	if n := (Features{}).HeaderLen(); n != wire.EthernetLen {
		t.Errorf("%d bytes before the packet on Ethernet", n)
	}
}

// TestCutL3 holds that the packets in the frames of Cut are those that CutL3 makes.
func TestCutL3(t *testing.T) {
	for _, kind := range []Kind{TCPv4, TCPv6} {
		g, super := superFrame(kind, 10_000, 1448)
		var frames, packets [][]byte
		err := Cut(g, super, func(b []byte) error {
			frames = append(frames, b[wire.EthernetLen:])
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		g.Header, g.Start = g.Header-wire.EthernetLen, g.Start-wire.EthernetLen
		err = CutL3(g, super[wire.EthernetLen:], func(b []byte) error {
			packets = append(packets, b)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(frames, packets, bytes.Equal) {
			t.Errorf("%d packets are not those of %d frames", len(packets), len(frames))
		}
		if err := CutL3(g, super, func([]byte) error { return nil }); err == nil {
			t.Error("a frame of Ethernet was cut as a packet")
		}
	}
}

func FuzzCutL3(f *testing.F) {
	for _, kind := range []Kind{TCPv4, TCPv6} {
		g, b := superFrame(kind, 3000, 1000)
		f.Add(uint8(kind), g.Size, g.Header-wire.EthernetLen, b[wire.EthernetLen:])
	}
	for _, version := range []int{4, 6} {
		g, b := superDatagram(version, 3000, 1200)
		f.Add(uint8(UDP), g.Size, g.Header-wire.EthernetLen, b[wire.EthernetLen:])
	}
	f.Fuzz(func(t *testing.T, kind uint8, size, header uint16, b []byte) {
		sum := 0
		err := CutL3(GSO{Kind: Kind(kind), Size: size, Header: header}, b, func(p []byte) error {
			sum += len(p) - int(header)
			return nil
		})
		if err == nil && sum != len(b)-int(header) {
			t.Errorf("%d bytes in the pieces of %d", sum, len(b)-int(header))
		}
	})
}

// TestCaptureL3 holds that a capture of packets says so: LINKTYPE_RAW.
func TestCaptureL3(t *testing.T) {
	var file bytes.Buffer
	a, b := Pair(L3(), Offload())
	defer closeBoth(t, a, b)
	c, err := NewCapture(a, "tun", &file)
	if err != nil {
		t.Fatal(err)
	}
	frame, gso := udpFrame("hello")
	gso.Start -= wire.EthernetLen
	if err := c.Write(gso, frame[wire.EthernetLen:20], frame[20:]); err != nil {
		t.Fatal(err)
	}
	content := file.Bytes()
	if kinds := blocks(t, content); len(kinds) != 3 {
		t.Fatalf("blocks %x", kinds)
	}
	section := binary.LittleEndian.Uint32(content[4:])
	if got := binary.LittleEndian.Uint16(content[section+8:]); got != 101 {
		t.Errorf("link type %d, want 101", got)
	}
	name := filepath.Join(t.TempDir(), "x.pcapng")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("SKIP what tshark reads in it: install tshark")
	}
	out, err := exec.Command("tshark", "-r", name, "-o", "udp.check_checksum:TRUE", "-T", "fields",
		"-e", "udp.checksum.status", "-e", "udp.payload", "-e", "ip.dst").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(string(out)); !slices.Equal(got, []string{"1", "68656c6c6f",
		"10.0.0.2"}) {
		t.Errorf("tshark reads %q", got)
	}
}

// TestFaultsOfPackets holds that a bit may be flipped anywhere in a packet of an L3 link: no byte
// before it is spared, as an Ethernet header is.
func TestFaultsOfPackets(t *testing.T) {
	a, b := Pair(L3())
	l := NewFaults(a, 1, Fault{}, Fault{Corrupt: 1})
	defer closeBoth(t, l, b)
	flipped := map[int]bool{}
	batch := make([]Frame, 1)
	for range 500 {
		if err := l.Write(GSO{}, make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Read(batch); err != nil {
			t.Fatal(err)
		}
		flipped[bytes.IndexFunc(batch[0].Data, func(r rune) bool { return r != 0 })] = true
	}
	if len(flipped) != 8 || flipped[-1] {
		t.Errorf("bits were flipped in the bytes %v", flipped)
	}
}

// ipPacket is an IPv4 packet, or one of IPv6, from one host to another.
func ipPacket(version, dst, src byte, text string) []byte {
	var b []byte
	if version == 4 {
		b = make([]byte, wire.IPv4Len)
		h := wire.IPv4{Length: uint16(wire.IPv4Len + len(text)), TTL: 1,
			Src: addr("10.0.0.1"), Dst: addr("10.0.0.1")}
		h.Put(b)
		b[15], b[19] = src, dst
	} else {
		b = make([]byte, wire.IPv6Len)
		h := wire.IPv6{Length: uint16(len(text)), Src: addr("fd00::1"), Dst: addr("fd00::1")}
		h.Put(b)
		b[23], b[39] = src, dst
	}
	return append(b, text...)
}

// TestHubL3 holds that a hub without Ethernet learns the IP addresses of both families.
func TestHubL3(t *testing.T) {
	for _, version := range []byte{4, 6} {
		h := NewHub(L3())
		a, b, c := h.Port(), h.Port(), h.Port()
		length := len(ipPacket(version, 0, 0, ""))
		write := func(p *Port, packet []byte) {
			t.Helper()
			if err := p.Write(GSO{}, packet[:1], packet[1:]); err != nil {
				t.Error(err)
			}
		}
		expect := func(name string, p *Port, want ...string) {
			t.Helper()
			var got []string
			p.Interrupt()
			batch := make([]Frame, 8)
			n, err := p.Read(batch)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range batch[:n] {
				got = append(got, string(f.Data[length:]))
			}
			if n > 0 { // the interruption is still there
				if _, err := p.Read(batch); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s got %q, want %q", name, got, want)
			}
		}
		write(a, ipPacket(version, 2, 1, "unknown"))
		expect("b", b, "unknown")
		expect("c", c, "unknown")
		write(b, ipPacket(version, 1, 2, "known"))
		expect("a", a, "known")
		expect("c", c)
		write(a, ipPacket(version, 2, 1, "alone"))
		expect("b", b, "alone")
		expect("c", c)
		write(a, []byte("a packet of no version"))
		write(a, ipPacket(version, 2, 1, "")[:length-1])
		expect("b", b)
		if n := len(h.stations); n != 2 {
			t.Errorf("%d stations are known", n)
		}
		if err := b.Close(); err != nil || len(h.stations) != 1 {
			t.Errorf("%d stations after a port was removed, %v", len(h.stations), err)
		}
		write(a, ipPacket(version, 2, 1, "it may be back"))
		expect("c", c, "it may be back")
		closeBoth(t, a, c)
	}
}
