package gonet

import (
	"net/netip"
	"testing"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// silent is a link that swallows what is written.
type silent struct{ *link.End }

func (silent) Write(link.GSO, ...[]byte) error { return nil }

// echoFrame is a request for a stack, from a neighbour that it knows.
func echoFrame(s *Stack, src, dst netip.Addr) []byte {
	e := wire.Ethernet{Dst: s.MAC(), Src: wire.MAC{2, 5: 9}, Type: wire.EtherIPv4}
	b := make([]byte, wire.EthernetLen+headerLen(dst)+64)
	at := wire.EthernetLen + headerLen(dst)
	if dst.Is4() {
		ip := wire.IPv4{Length: uint16(wire.IPv4Len + 64), TTL: 64, Protocol: wire.ProtocolICMP, Src: src, Dst: dst}
		ip.Put(b[wire.EthernetLen:])
		m := wire.Echo(wire.ICMPEcho, 1, 1)
		m.Put(b[at:])
		wire.SealICMP(b[at:], 0)
	} else {
		e.Type = wire.EtherIPv6
		ip := wire.IPv6{Length: 64, HopLimit: 64, NextHeader: wire.ProtocolICMPv6, Src: src, Dst: dst}
		ip.Put(b[wire.EthernetLen:])
		m := wire.Echo(wire.ICMPv6Echo, 1, 1)
		m.Put(b[at:])
		wire.SealICMP(b[at:], wire.PseudoSum(src, dst, wire.ProtocolICMPv6, 64))
	}
	e.Put(b)
	return b
}

func benchmarkEcho(b *testing.B, src, dst string) {
	end, _ := link.Pair()
	s := host6(b, silent{end}, "2")
	from, to := netip.MustParseAddr(src), netip.MustParseAddr(dst)
	frame := echoFrame(s, from, to)
	copied := make([]byte, len(frame))
	err := s.claim(func() {
		h, err := s.hop(from)
		if err != nil {
			b.Fatal(err)
		}
		h.fix(wire.MAC{2, 5: 9})
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			copy(copied, frame) // it is answered in place
			s.input(&link.Frame{Data: copied})
		}
		b.StopTimer()
	})
	if err != nil || s.Stats().Sent < uint64(b.N) {
		b.Fatal(err, s.Stats())
	}
}

func BenchmarkEcho4(b *testing.B) { benchmarkEcho(b, "10.0.0.1", "10.0.0.2") }
func BenchmarkEcho6(b *testing.B) { benchmarkEcho(b, "2001:db8::1", "2001:db8::2") }
