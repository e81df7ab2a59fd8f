package gonet

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/neighbour"
	"interleave/gonet/wire"
)

// TestAttackNeighbourFlood floods the neighbour cache by ARP and neighbour discovery with
// neighbours that do not exist: the cache is bounded, and real neighbours are still found. Under
// the race detector they are fewer: the cache is full in the second half.
func TestAttackNeighbourFlood(t *testing.T) {
	flood := 20_000
	if underRace {
		flood = 8000
	}
	six := func(i int) netip.Addr {
		b := addrX.As16()
		binary.BigEndian.PutUint32(b[8:], uint32(i)+1)
		return netip.AddrFrom16(b)
	}
	four := func(i int) netip.Addr {
		return netip.AddrFrom4([4]byte{10, 1 + byte(i>>16), byte(i >> 8), byte(i)})
	}
	for name, send := range map[string]func(o *attacker, i int){
		"ARP requests for us": func(o *attacker, i int) {
			m := wire.ARP{Op: wire.ARPRequest, SenderMAC: wire.MAC{2, 1, 1, byte(i >> 16),
				byte(i >> 8), byte(i)}, SenderIP: four(i), TargetIP: addrV}
			b := make([]byte, wire.ARPLen)
			m.Put(b)
			o.frame(wire.EtherARP, b)
		},
		"ARP replies that nobody asked for": func(o *attacker, i int) {
			m := wire.ARP{Op: wire.ARPReply, SenderMAC: wire.MAC{2, 1, 1, byte(i >> 16),
				byte(i >> 8), byte(i)}, SenderIP: four(i), TargetIP: addrV}
			b := make([]byte, wire.ARPLen)
			m.Put(b)
			o.frame(wire.EtherARP, b)
		},
		"solicitations": func(o *attacker, i int) {
			n := wire.Neighbor{Target: addrY, MAC: wire.MAC{2, 1, 1, byte(i >> 16), byte(i >> 8),
				byte(i)}, HasMAC: true}
			b := make([]byte, 32)
			b = b[:n.Put(b, wire.ICMPv6NeighborSolicit)]
			wire.SealICMP(b, wire.PseudoSum(six(i), addrY, wire.ProtocolICMPv6, len(b)))
			o.ip(six(i), addrY, wire.ProtocolICMPv6, b)
		},
		"pings of IPv6 that are to be answered": func(o *attacker, i int) {
			o.ip(six(i), addrY, wire.ProtocolICMPv6, echoOf(six(i), addrY, 500))
		},
		"datagrams that are to be refused": func(o *attacker, i int) {
			o.udp(at(four(i), 9), at(addrV, 9), make([]byte, 500))
		},
	} {
		t.Run(name, func(t *testing.T) {
			attackWireOf(t, "10.0.0.0/8", func(t *testing.T, client *Stack, o *attacker) {
				c := dialed(t, client, "[2001:db8::2]:7")
				if err := c.SetDeadline(time.Now().Add(time.Hour)); err != nil {
					t.Fatal(err)
				}
				expectEcho(t, c, 1000)
				growth := newGrowth(t)
				o.pace = 20 * time.Millisecond
				for i := range flood {
					send(o, i)
					if part := flood / 4; i%part == part*6/7 {
						growth.measure()
						expectEcho(t, c, 1000)
						expectNewNeighbour(t, o.victim, client, i/part)
						expectPing(t, client, addrY, 2000)
					}
				}
				// 4096 neighbours, and the packets that wait for them: no goroutine asks for one
				growth.within(16<<20, 20)
				if n, _ := o.victim.countNeighbours(); n > neighbour.MaxEntries {
					t.Errorf("%d neighbours", n)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				growth.measure()
				if growth.lastRoutine > 10 {
					t.Errorf("%d goroutines are left", growth.lastRoutine)
				}
			})
		})
	}
}

// TestAttackDatagramFlood floods a socket that nobody reads: a bounded number of datagrams wait,
// the rest are counted, and other sockets are served.
func TestAttackDatagramFlood(t *testing.T) {
	attackWire(t, "10.0.0.0/24", func(t *testing.T, client *Stack, o *attacker) {
		p, err := o.victim.ListenPacket("udp", ":53")
		if err != nil {
			t.Fatal(err)
		}
		c := dialed(t, client, "10.0.0.2:7")
		growth := newGrowth(t)
		o.pace = time.Millisecond
		flood := fewer(10_000, 4) // several times what is kept
		for i := range flood {
			o.udp(at(addrO, 1+i), at(addrV, 53), make([]byte, 1400))
		}
		synctest.Wait()
		expectEcho(t, c, 10_000)
		growth.within((2*socketLen+1000)*1500, 3) // and the wire's queue
		if n := o.victim.Stats().DroppedSockets; n != uint64(flood-socketLen) {
			t.Errorf("%d are counted", n)
		}
		for range socketLen {
			if n, _, err := p.ReadFrom(make([]byte, 2000)); err != nil || n != 1400 {
				t.Fatalf("%d, %v", n, err)
			}
		}
	})
}

// TestAttackICMP sends forged ICMP errors, with and without knowledge of our packets: neither an
// error for another flow nor a path MTU of 68 bytes does harm.
func TestAttackICMP(t *testing.T) {
	attackConnection(t, func(t *testing.T, o *attacker, src, dst netip.AddrPort, seq, ack uint32) {
		quote := func(h wire.TCP) []byte {
			b := make([]byte, wire.ICMPLen+wire.IPv4Len+wire.TCPLen)
			ip := wire.IPv4{Length: 1500, TTL: 60, Protocol: wire.ProtocolTCP, Src: addrV,
				Dst: addrO}
			ip.Put(b[wire.ICMPLen:])
			h.SrcPort, h.DstPort = dst.Port(), src.Port()
			h.Put(b[wire.ICMPLen+wire.IPv4Len:])
			return b
		}
		mss := func() (n int) {
			s, err := o.victim.Snapshot()
			if err != nil || len(s.Conns) != 1 {
				t.Fatalf("%d connections, %v", len(s.Conns), err)
			}
			return s.Conns[0].MSS
		}
		before := mss()
		// the echo of this byte is in flight
		o.tcp(src, dst, wire.TCP{Seq: seq, Ack: ack, Flags: wire.ACK, Window: 60_000}, 'x')
		o.segments()
		for _, s := range []uint32{ack, ack - 1, ack + 1, ack + 1<<20, 0} {
			for code := range uint8(16) {
				for _, mtu := range []uint32{0, 1, 68, 551} {
					b := quote(wire.TCP{Seq: s})
					m := wire.ICMP{Type: wire.ICMPUnreachable, Code: code, Rest: mtu}
					m.Put(b)
					wire.SealICMP(b, 0)
					o.ip(netip.MustParseAddr("192.0.2.1"), addrV, wire.ProtocolICMP, b)
				}
			}
		}
		synctest.Wait()
		if n := mss(); n != before {
			t.Errorf("the MSS is %d, not %d", n, before)
		}
		o.tcp(src, dst, wire.TCP{Seq: seq + 1, Ack: ack + 1, Flags: wire.ACK | wire.PSH,
			Window: 60_000}, []byte("still here")...)
		found := false
		for _, s := range o.segments() {
			found = found || string(s.text) == "still here"
		}
		if !found {
			t.Error("the connection does not echo any more")
		}
	}, 11)
}

// TestAttackChains sends long and malformed chains of IPv6 extension headers: they are dropped or
// answered, and other packets are served.
func TestAttackChains(t *testing.T) {
	attackWire(t, "10.0.0.0/24", func(t *testing.T, client *Stack, o *attacker) {
		kinds := []wire.Protocol{wire.ProtocolHopByHop, wire.ProtocolDestination,
			wire.ProtocolRouting, wire.ProtocolFragment, wire.ProtocolNoNext, wire.ProtocolTCP}
		src := netip.MustParseAddr("2001:db8::3")
		growth := newGrowth(t)
		for n := range fewer(4000, 4) {
			length := 1 + n%180
			var chain []byte
			for i := range length {
				next := kinds[(n+i*i)%len(kinds)]
				if n%3 == 0 {
					next = wire.ProtocolDestination // 180 of one kind
				}
				header := []byte{byte(next), 0, 1, 4, 0, 0, 0, 0}
				if n%7 == 0 {
					// options that exceed the header, or request an ICMP error
					header[2], header[3] = byte(n), byte(n>>3)
				}
				if n%11 == 0 {
					header[1] = byte(n)
				}
				chain = append(chain, header...)
			}
			o.ip(src, addrY, kinds[n%len(kinds)], chain)
		}
		synctest.Wait()
		growth.within(8<<20, maxReassemblies+10)
		expectPing(t, client, addrY, 100)
	})
}

// TestAttackMartians holds that packets with impossible addresses reach no socket and are not
// answered.
func TestAttackMartians(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// a route to answer each
		o := newLoneAttacker(t, func(c *Config) { c.Gateways = []netip.Addr{addrO} })
		o.claims(addrO)
		serveEcho(t, o.victim, ":7")
		sent := o.victim.Stats().Sent
		for _, src := range []string{"10.0.0.2", "127.0.0.1", "127.255.0.9", "0.0.0.0", "224.0.0.1",
			"255.255.255.255", "10.0.0.255"} {
			a := netip.MustParseAddr(src)
			o.tcp(at(a, 7), at(addrV, 7), wire.TCP{Flags: wire.SYN, Seq: 5, Window: 1000})
			o.tcp(at(a, 7), at(addrV, 99), wire.TCP{Flags: wire.SYN, Seq: 5, Window: 1000})
			o.udp(at(a, 9), at(addrV, 98), nil)
			b := make([]byte, 16)
			m := wire.Echo(wire.ICMPEcho, 1, 1)
			m.Put(b)
			wire.SealICMP(b, 0)
			o.ip(a, addrV, wire.ProtocolICMP, b)
			synctest.Wait()
			if n := o.victim.Stats().Sent; n != sent {
				t.Errorf("from %s: %d answers", src, n-sent)
				sent = n
			}
		}
		for _, dst := range []string{"127.0.0.1", "10.0.0.9", "224.0.0.1", "255.255.255.255",
			"10.0.0.255", "0.0.0.0"} {
			o.tcp(at(addrO, 7), at(netip.MustParseAddr(dst), 7), wire.TCP{Flags: wire.SYN, Seq: 5,
				Window: 1000})
		}
		synctest.Wait()
		if n := o.victim.Stats().Sent; n != sent {
			t.Errorf("%d answers to what was not sent to us", n-sent)
		}
	})
}
