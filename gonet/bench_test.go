package gonet

import (
	"net/netip"
	"testing"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// discardLink is a link that discards what is written.
type discardLink struct{ *link.End }

func (discardLink) Write(link.GSO, ...[]byte) error { return nil }

// echoFrame returns an echo request to a stack, from a neighbour in its cache.
func echoFrame(s *Stack, src, dst netip.Addr) []byte {
	e := wire.Ethernet{Dst: s.MAC(), Src: wire.MAC{2, 5: 9}, Type: wire.EtherIPv4}
	b := make([]byte, wire.EthernetLen+headerLen(dst)+64)
	at := wire.EthernetLen + headerLen(dst)
	if dst.Is4() {
		ip := wire.IPv4{Length: uint16(wire.IPv4Len + 64), TTL: 64, Protocol: wire.ProtocolICMP,
			Src: src, Dst: dst}
		ip.Put(b[wire.EthernetLen:])
		m := wire.Echo(wire.ICMPEcho, 1, 1)
		m.Put(b[at:])
		wire.SealICMP(b[at:], 0)
	} else {
		e.Type = wire.EtherIPv6
		ip := wire.IPv6{Length: 64, HopLimit: 64, NextHeader: wire.ProtocolICMPv6, Src: src,
			Dst: dst}
		ip.Put(b[wire.EthernetLen:])
		m := wire.Echo(wire.ICMPv6Echo, 1, 1)
		m.Put(b[at:])
		wire.SealICMP(b[at:], wire.PseudoSum(src, dst, wire.ProtocolICMPv6, 64))
	}
	e.Put(b)
	return b
}

// echoes runs f in the dealer of a stack, with a function that has the stack answer one request.
func echoes(t testing.TB, src, dst string, f func(answer func())) {
	t.Helper()
	end, _ := link.Pair()
	s := host6(t, discardLink{end}, "2")
	from, to := netip.MustParseAddr(src), netip.MustParseAddr(dst)
	frame := echoFrame(s, from, to)
	request := link.Frame{Data: make([]byte, len(frame))}
	err := s.claim(func() {
		s.pinStation(from, wire.MAC{2, 5: 9})
		before := s.Stats().Sent
		n := uint64(0)
		f(func() {
			n++
			copy(request.Data, frame) // the answer overwrites the request
			s.input(&request)
		})
		if sent := s.Stats().Sent - before; sent < n { // duplicate address detection sends too
			t.Errorf("%d answers to %d requests", sent, n)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func benchmarkEcho(b *testing.B, src, dst string) {
	echoes(b, src, dst, func(answer func()) {
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			answer()
		}
		b.StopTimer()
	})
}

func BenchmarkEcho4(b *testing.B) { benchmarkEcho(b, "10.0.0.1", "10.0.0.2") }
func BenchmarkEcho6(b *testing.B) { benchmarkEcho(b, "2001:db8::1", "2001:db8::2") }
