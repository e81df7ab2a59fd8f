package gonet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/internal/pathmtu"
	"interleave/gonet/link"
	"interleave/gonet/neighbour"
	"interleave/gonet/wire"
)

// TestICMPv6ErrorsAreSent sends wrong packets: the sender gets an ICMPv6 error with a pointer to
// the wrong field.
func TestICMPv6ErrorsAreSent(t *testing.T) {
	udp := func(port uint16) []byte {
		b := make([]byte, 12)
		h := wire.UDP{SrcPort: 5, DstPort: port, Length: 12}
		h.Put(b)
		h.Checksum = ^wire.Sum(b, wire.PseudoSum(addrX, addrY, wire.ProtocolUDP, 12))
		h.Put(b)
		return b
	}
	noChecksum := udp(9)
	noChecksum[6], noChecksum[7] = 0, 0
	option := func(kind byte) []byte {
		return append([]byte{byte(wire.ProtocolUDP), 0, kind, 4, 0, 0, 0, 0}, udp(9)...)
	}
	fragment := []byte{byte(wire.ProtocolUDP), 0, 0, 1, 0, 0, 0, 1, 1, 2, 3}
	for name, c := range map[string]struct {
		dst  netip.Addr
		next wire.Protocol
		body []byte
		want wire.ICMP // type 0: no answer
	}{
		"a port that nobody has": {addrY, wire.ProtocolUDP, udp(9),
			wire.ICMP{Type: wire.ICMPv6Unreachable, Code: wire.UnreachableV6Port}},
		"the same, to all": {allNodes, wire.ProtocolUDP, udp(9), wire.ICMP{}},
		"no checksum":      {addrY, wire.ProtocolUDP, noChecksum, wire.ICMP{}},
		"an unknown protocol": {addrY, 200, udp(9),
			wire.ICMP{Type: wire.ICMPv6ParameterProblem, Code: 1, Rest: 6}},
		"one behind a header": {addrY, wire.ProtocolDestination,
			append([]byte{201, 0, 1, 4, 0, 0, 0, 0}, 1),
			wire.ICMP{Type: wire.ICMPv6ParameterProblem, Code: 1, Rest: 40}},
		"nothing behind": {addrY, wire.ProtocolNoNext, []byte{1}, wire.ICMP{}},
		"an unknown option": {addrY, wire.ProtocolDestination, option(0x80),
			wire.ICMP{Type: wire.ICMPv6ParameterProblem, Code: 2, Rest: 42}},
		"an unknown option, to all": {allNodes, wire.ProtocolDestination, option(0x80),
			wire.ICMP{Type: wire.ICMPv6ParameterProblem, Code: 2, Rest: 42}},
		"one to tell one of, to all": {allNodes, wire.ProtocolDestination, option(0xc0),
			wire.ICMP{}},
		"one to drop": {addrY, wire.ProtocolDestination, option(0x40), wire.ICMP{}},
		"a fragment of a bad length": {addrY, wire.ProtocolFragment, fragment,
			wire.ICMP{Type: wire.ICMPv6ParameterProblem, Rest: 4}},
		"IPv4's ICMP": {addrY, wire.ProtocolICMP, []byte{8, 0, 0xf7, 0xff, 0, 0, 0,
			0}, wire.ICMP{Type: wire.ICMPv6ParameterProblem, Code: 1, Rest: 6}},
		"an option, to somebody else": {netip.MustParseAddr("2001:db8::7"),
			wire.ProtocolDestination, option(0x80), wire.ICMP{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWireTap(t)
				w.known(addrX)
				for range 100 { // at most one error a millisecond
					w.ip(wire.IPv6{Src: addrX, Dst: c.dst, HopLimit: 64, NextHeader: c.next},
						c.body)
				}
				got := w.messages(wire.ICMPv6Unreachable, wire.ICMPv6ParameterProblem)
				if c.want.Type == 0 {
					if len(got) != 0 {
						t.Errorf("got %+v, want silence", got)
					}
					return
				}
				if len(got) != 1 {
					t.Fatalf("%d messages, want 1", len(got))
				}
				m := got[0]
				m.Checksum = 0
				if m.ICMP != c.want || len(m.body) < wire.IPv6Len ||
					!bytes.Equal(m.body[wire.IPv6Len:], c.body) || m.ip.Src != addrY {
					t.Errorf("got %+v from %v, want %+v; it quotes % x", m.ICMP, m.ip.Src, c.want,
						m.body)
				}
			})
		})
	}
}

// TestMartians holds that packets with impossible addresses reach no socket.
func TestMartians(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// a route to answer each
		w := newWireTap(t, func(c *Config) { c.Gateways = []netip.Addr{addrX} })
		w.known(addrX)
		for name, c := range map[string]struct{ src, dst netip.Addr }{
			"from us":             {addrY, addrY},
			"from within a host":  {netip.IPv6Loopback(), addrY},
			"to within a host":    {addrX, netip.IPv6Loopback()},
			"IPv4 in IPv6's form": {netip.MustParseAddr("::ffff:10.0.0.1"), addrY},
			"the same, to us":     {addrX, netip.MustParseAddr("::ffff:10.0.0.2")},
			"from a group":        {allNodes, addrY},
			"from nobody":         {unspecified, addrY},
			"to somebody else":    {addrX, netip.MustParseAddr("2001:db8::7")},
			"to a group not ours": {addrX, netip.MustParseAddr("ff02::1:ff77:7777")},
		} {
			b := echoOf(c.src, c.dst, 8)
			w.icmp(c.src, c.dst, 64, b)
			if n := w.answers(); n != 0 {
				t.Errorf("%s: %d answers", name, n)
			}
		}
		w.icmp(addrX, addrY, 64, echoOf(addrX, addrY, 8))
		w.icmp(addrX, allNodes, 64, echoOf(addrX, allNodes, 8))
		if got := w.messages(wire.ICMPv6EchoReply); len(got) != 2 || got[0].ip.Src != addrY ||
			got[1].ip.Src != addrY {
			t.Errorf("what is in order is answered by %+v", got)
		}
	})
}

func TestICMPErrorsReachTheSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWireTap(t, func(c *Config) { c.Gateways = []netip.Addr{addrX} })
		w.known(addrX)
		u, err := w.to.Dial("udp", "[2001:db8:9::9]:9")
		if err != nil {
			t.Fatal(err)
		}
		send := func() {
			t.Helper()
			if _, err := u.Write(make([]byte, 1400)); err != nil {
				t.Fatal(err)
			}
		}
		send()
		sent := w.next(wire.ProtocolUDP)
		w.problemFor(wire.ICMPv6PacketTooBig, 0, 600, sent) // less than the least MTU, 1280
		send()
		first, second := w.next(wire.ProtocolFragment), w.next(wire.ProtocolFragment)
		if len(first) > 1280 || len(first) < 1272 || len(first)+len(second) != 1408+2*48 {
			t.Errorf("fragments of %d and %d bytes", len(first), len(second))
		}
		time.Sleep(pathmtu.Lifetime + time.Second)
		send()
		w.next(wire.ProtocolUDP) // a full-size datagram again
		w.problemFor(wire.ICMPv6Unreachable, wire.UnreachableV6Port, 0, sent)
		if _, err := u.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("of a port that nobody has: %v", err)
		}
		other := bytes.Clone(sent)
		binary.BigEndian.PutUint16(other[wire.IPv6Len:], 1) // a port that has sent nothing
		w.problemFor(wire.ICMPv6Unreachable, wire.UnreachableV6Port, 0, other)
		if err := u.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		var timeout net.Error
		if _, err := u.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("of a packet of another: %v", err)
		}
		dialed := make(chan error)
		go func() {
			_, err := w.to.Dial("tcp", "[2001:db8:9::9]:80")
			dialed <- err
		}()
		syn := bytes.Clone(w.next(wire.ProtocolTCP))
		forged := bytes.Clone(syn)
		forged[wire.IPv6Len+4] ^= 0x80 // another sequence number
		w.problemFor(wire.ICMPv6Unreachable, wire.UnreachableV6Port, 0, forged)
		select {
		case err := <-dialed:
			t.Fatalf("a forged error ends a handshake: %v", err)
		default:
		}
		w.problemFor(wire.ICMPv6Unreachable, wire.UnreachableV6Port, 0, syn)
		if err := <-dialed; !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dialing: %v", err)
		}
	})
}

// TestAPeerThatSaysNoMSS holds the segment size for a peer that announces no MSS.
func TestAPeerThatSaysNoMSS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWireTap(t)
		w.known(addrX)
		l, err := w.to.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		segment := func(flags wire.Flags, seq, ack uint32) {
			h := wire.TCP{SrcPort: 1000, DstPort: 80, Flags: flags, Seq: seq, Ack: ack,
				Window: 65535}
			b := make([]byte, wire.TCPLen)
			h.Put(b)
			h.Checksum = ^wire.Sum(b, wire.PseudoSum(addrX, addrY, wire.ProtocolTCP, len(b)))
			h.Put(b)
			w.ip(wire.IPv6{Src: addrX, Dst: addrY, HopLimit: 64, NextHeader: wire.ProtocolTCP}, b)
		}
		segment(wire.SYN, 1, 0)
		answer := w.next(wire.ProtocolTCP)
		h, _, err := wire.ParseTCP(answer[wire.IPv6Len:])
		if err != nil || h.Options.MSS != 1440 || h.Flags != wire.SYN|wire.ACK {
			t.Fatalf("the answer is %+v, %v", h, err)
		}
		segment(wire.ACK, 2, h.Seq+1)
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(make([]byte, 3000)); err != nil {
			t.Fatal(err)
		}
		if b := w.next(wire.ProtocolTCP); len(b) != wire.IPv6MinMTU {
			t.Errorf("a packet of %d bytes, want %d", len(b), wire.IPv6MinMTU)
		}
	})
}

// TestAnotherRouterTakesOver has two routers: one that does not answer is not used.
func TestAnotherRouterTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWireTap(t)
		w.known(addrX)
		dead, alive := netip.MustParseAddr("fe80::8"), netip.MustParseAddr("fe80::9")
		w.icmp(dead, allNodes, 255, advertise(1800))
		w.icmp(alive, allNodes, 255, advertise(1800))
		far := netip.MustParseAddr("2001:db8:9::9")
		for _, want := range []netip.Addr{dead, alive} {
			if next, ok := w.to.addresses.current().nextHop(far); !ok || next != want {
				t.Errorf("the way is by %v, want %v", next, want)
			}
			u, err := w.to.Dial("udp", "[2001:db8:9::9]:9")
			if err != nil {
				t.Fatal(err)
			}
			_, _ = u.Write([]byte("x")) // the datagram waits for the neighbour
			time.Sleep((neighbour.MaxMulticastSolicit + 1) * neighbour.RetransTimer)
		}
		// it is a host now
		w.neighbor(alive, allNodes, wire.ICMPv6NeighborAdvert, wire.Neighbor{Target: alive,
			MAC: w.mac, HasMAC: true})
		if next, _ := w.to.addresses.current().nextHop(far); next != dead {
			t.Errorf("the way is by %v after the other is none", next)
		}
	})
}

// FuzzInput6 sends arbitrary packets to a stack on a known wire: the stack must survive and still
// work.
func FuzzInput6(f *testing.F) {
	ra := advertise(1800, prefixOption("2001:db8:5::/64", 100, 100))
	f.Add(uint8(wire.ProtocolICMPv6), true, ra)
	f.Add(uint8(wire.ProtocolICMPv6), false, echoOf(addrX, addrY, 8))
	f.Add(uint8(wire.ProtocolFragment), false, append([]byte{58, 0, 0, 1, 0, 0, 0, 1},
		make([]byte, 16)...))
	f.Add(uint8(wire.ProtocolDestination), false, append([]byte{58, 0, 1, 4, 0, 0, 0, 0},
		echoOf(addrX, addrY, 8)...))
	f.Add(uint8(wire.ProtocolHopByHop), true, append([]byte{58, 0, 5, 2, 0, 0, 0, 0, 130, 0, 0, 0,
		0, 1, 0, 0}, make([]byte, 20)...))
	f.Add(uint8(wire.ProtocolTCP), false, make([]byte, 20))
	f.Fuzz(func(t *testing.T, next uint8, group bool, b []byte) {
		end, other := link.Pair()
		s := host6(t, other, "2")
		src, dst := netip.MustParseAddr("fe80::9"), addrY
		if group {
			dst = allNodes
		}
		b = bytes.Clone(b[:min(len(b), 60000)])
		// with good checksums, so that more than their check is tested
		if next == uint8(wire.ProtocolICMPv6) && len(b) >= wire.ICMPLen {
			wire.SealICMP(b, wire.PseudoSum(src, dst, wire.ProtocolICMPv6, len(b)))
		}
		e := wire.Ethernet{Dst: s.MAC(), Src: wire.MAC{2, 5: 1}, Type: wire.EtherIPv6}
		h := wire.IPv6{Length: uint16(len(b)), NextHeader: wire.Protocol(next), HopLimit: 255,
			Src: src, Dst: dst}
		header := make([]byte, wire.EthernetLen+wire.IPv6Len)
		h.Put(header[e.Put(header):])
		if err := end.Write(link.GSO{Partial: true, Valid: true}, header, b); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Ping(t.Context(), netip.IPv6Loopback(), 8); err != nil {
			t.Fatal(err)
		}
	})
}
