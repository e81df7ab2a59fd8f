package link

import (
	"bytes"
	"testing"

	"interleave/gonet/wire"
)

// superDatagram returns a super-frame of UDP with n bytes of payload.
func superDatagram(version, n, size int) (GSO, []byte) {
	length := wire.UDPLen + n
	e := wire.Ethernet{Type: wire.EtherIPv4}
	b := make([]byte, wire.EthernetLen+wire.IPv4Len)
	if version == 4 {
		ip := wire.IPv4{Length: uint16(wire.IPv4Len + length), ID: 0xfffe, TTL: 9,
			Protocol: wire.ProtocolUDP, Src: addr("10.0.0.1"), Dst: addr("10.0.0.2")}
		ip.Put(b[wire.EthernetLen:])
	} else {
		e.Type = wire.EtherIPv6
		b = make([]byte, wire.EthernetLen+wire.IPv6Len)
		ip := wire.IPv6{Length: uint16(length), NextHeader: wire.ProtocolUDP, HopLimit: 9,
			Src: addr("2001:db8::1"), Dst: addr("2001:db8::2")}
		ip.Put(b[wire.EthernetLen:])
	}
	e.Put(b)
	start := len(b)
	b = append(b, make([]byte, length)...)
	u := wire.UDP{SrcPort: 1, DstPort: 2, Length: uint16(length)}
	u.Put(b[start:])
	for i := range b[start+wire.UDPLen:] {
		b[start+wire.UDPLen+i] = byte(i * i >> 3)
	}
	return GSO{Kind: UDP, Size: uint16(size), Header: uint16(start + wire.UDPLen), Partial: true,
		Start: uint16(start), Offset: checksumUDP}, b
}

// checkDatagram parses the ith piece of a super-frame, an IP packet, and returns its payload. All
// lengths, the identification and the checksums must be right.
func checkDatagram(t *testing.T, packet []byte, i int) []byte {
	t.Helper()
	var body []byte
	var sum uint16
	if packet[0]>>4 == 4 {
		h, rest, err := wire.ParseIPv4(packet)
		if err != nil || int(h.Length) != len(packet) || h.ID != 0xfffe+uint16(i) {
			t.Fatalf("datagram %d: %+v in %d bytes, %v", i, h, len(packet), err)
		}
		body, sum = rest, wire.PseudoSum(h.Src, h.Dst, h.Protocol, len(rest))
	} else {
		h, rest, err := wire.ParseIPv6(packet)
		if err != nil || int(h.Length) != len(rest) {
			t.Fatalf("datagram %d: %+v, %v", i, h, err)
		}
		body, sum = rest, wire.PseudoSum(h.Src, h.Dst, h.NextHeader, len(rest))
	}
	u, payload, err := wire.ParseUDP(body)
	if err != nil || int(u.Length) != len(body) || u.SrcPort != 1 || u.DstPort != 2 ||
		u.Checksum == 0 || wire.Sum(body, sum) != 0xffff {
		t.Fatalf("datagram %d: %+v in %d bytes, %v", i, u, len(body), err)
	}
	return payload
}

// TestCutUDP cuts super-frames whose last datagram is shorter or not, on both kinds of links.
func TestCutUDP(t *testing.T) {
	for _, version := range []int{4, 6} {
		for _, c := range []struct{ n, size, datagrams int }{{60_000, 1200, 50}, {1201, 1200, 2},
			{2400, 1200, 2}, {64, 1, 64}, {700, 1200, 1}, {0, 1200, 1}, {3, 65535, 1}} {
			g, super := superDatagram(version, c.n, c.size)
			var whole []byte
			n := 0
			err := Cut(g, super, func(b []byte) error {
				payload := checkDatagram(t, b[wire.EthernetLen:], n)
				if n++; n < c.datagrams && len(payload) != c.size {
					t.Errorf("datagram %d has %d bytes, want %d", n, len(payload), c.size)
				}
				whole = append(whole, payload...)
				return nil
			})
			if err != nil || n != c.datagrams || !bytes.Equal(whole, super[g.Header:]) {
				t.Errorf("IPv%d: %d bytes in %d datagrams, want %d in %d, %v", version, len(whole),
					n, c.n, c.datagrams, err)
			}
			n = 0
			g.Header -= wire.EthernetLen
			err = CutL3(g, super[wire.EthernetLen:], func(b []byte) error {
				checkDatagram(t, b, n)
				n++
				return nil
			})
			if err != nil || n != c.datagrams {
				t.Errorf("IPv%d without Ethernet: %d datagrams, want %d, %v", version, n,
					c.datagrams, err)
			}
		}
	}
}

// TestCutUDPWithoutSum holds that a datagram whose sum is 0 says ffff, since 0 means none.
func TestCutUDPWithoutSum(t *testing.T) {
	g, super := superDatagram(4, 4, 2)
	at := int(g.Header)
	copy(super[at:], "\x00\x00\x00\x00")
	first := super[wire.EthernetLen:at]
	body := bytes.Clone(first[wire.IPv4Len:])
	body[5], body[6], body[7] = wire.UDPLen+2, 0, 0
	// The payload that makes the sum of all else 0.
	missing := ^wire.Sum(body, wire.PseudoSum(addr("10.0.0.1"), addr("10.0.0.2"), wire.ProtocolUDP,
		wire.UDPLen+2))
	super[at], super[at+1] = byte(missing>>8), byte(missing)
	n := 0
	err := Cut(g, super, func(b []byte) error {
		if sum := b[at-2 : at]; n == 0 && !bytes.Equal(sum, []byte{0xff, 0xff}) {
			t.Errorf("the checksum is % x", sum)
		}
		checkDatagram(t, b[wire.EthernetLen:], n)
		n++
		return nil
	})
	if err != nil || n != 2 {
		t.Errorf("%d datagrams, %v", n, err)
	}
}

// TestWhatCannotBeCut has descriptions of frames that do not fit them.
func TestWhatCannotBeCut(t *testing.T) {
	for name, change := range map[string]func(g *GSO, b []byte){
		"no size":                   func(g *GSO, _ []byte) { g.Size = 0 },
		"no kind":                   func(g *GSO, _ []byte) { g.Kind = Plain },
		"an unknown kind":           func(g *GSO, _ []byte) { g.Kind = UDP + 1 },
		"TCP":                       func(g *GSO, _ []byte) { g.Kind = TCPv4 },
		"headers within headers":    func(g *GSO, _ []byte) { g.Header -= 8 },
		"headers that are too long": func(g *GSO, _ []byte) { g.Header += 4 },
		"headers beyond the end":    func(g *GSO, b []byte) { g.Header = uint16(len(b) + 1) },
		"another version":           func(_ *GSO, b []byte) { b[wire.EthernetLen] = 0x55 },
		"another protocol": func(_ *GSO, b []byte) {
			b[wire.EthernetLen+atIPv4Protocol] = byte(wire.ProtocolTCP)
		},
		"options that are not there": func(_ *GSO, b []byte) { b[wire.EthernetLen] = 0x46 },
		"less than a header":         func(_ *GSO, b []byte) { b[wire.EthernetLen] = 0x44 },
	} {
		g, b := superDatagram(4, 3000, 1200)
		change(&g, b)
		err := Cut(g, b, func([]byte) error { t.Errorf("%s: a piece", name); return nil })
		if err == nil {
			t.Errorf("%s: it was cut", name)
		}
	}
}

// FuzzCutUDP holds that any description and any packet that is cut makes datagrams with the right
// lengths and checksums.
func FuzzCutUDP(f *testing.F) {
	for _, version := range []int{4, 6} {
		for _, size := range []int{1, 500, 1200} {
			g, b := superDatagram(version, 1300, size)
			f.Add(g.Size, g.Header-wire.EthernetLen, b[wire.EthernetLen:])
		}
	}
	f.Fuzz(func(t *testing.T, size, header uint16, b []byte) {
		if len(b) > 65535 {
			return
		}
		whole := []byte{}
		err := CutL3(GSO{Kind: UDP, Size: size, Header: header}, b, func(p []byte) error {
			at := int(header) - wire.UDPLen
			u, payload, err := wire.ParseUDP(p[at:])
			if err != nil || int(u.Length) != len(p)-at {
				t.Fatalf("%+v in %d bytes, %v", u, len(p)-at, err)
			}
			var addresses []byte
			if p[0]>>4 == 4 {
				addresses = p[12:20]
				if wire.Sum(p[:at], 0) != 0xffff {
					t.Fatal("a wrong checksum of IP")
				}
			} else {
				addresses = p[8:40]
			}
			sum := wire.Sum([]byte{0, byte(wire.ProtocolUDP), p[at+4], p[at+5]},
				wire.Sum(addresses, 0))
			if u.Checksum == 0 || wire.Sum(p[at:], sum) != 0xffff {
				t.Fatalf("a wrong checksum %x", u.Checksum)
			}
			whole = append(whole, payload...)
			return nil
		})
		if err == nil && !bytes.Equal(whole, b[header:]) {
			t.Errorf("%d bytes in the datagrams of %d", len(whole), len(b)-int(header))
		}
	})
}
