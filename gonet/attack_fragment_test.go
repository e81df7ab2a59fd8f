package gonet

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/wire"
)

// piece sends a fragment of either family.
func (o *attacker) piece(src, dst netip.Addr, id uint32, at int, more bool, body []byte) {
	o.t.Helper()
	if src.Is4() {
		h := wire.IPv4{
			Length: uint16(wire.IPv4Len + len(body)), TTL: 64, Protocol: wire.ProtocolICMP,
			Src: src, Dst: dst, ID: uint16(id), Offset: uint16(at), MoreFragments: more,
		}
		b := make([]byte, wire.IPv4Len)
		h.Put(b)
		o.frame(wire.EtherIPv4, b, body)
		return
	}
	f := wire.Fragment{NextHeader: wire.ProtocolICMPv6, Offset: uint16(at), More: more, ID: id}
	b := make([]byte, wire.FragmentLen)
	f.Put(b)
	o.ip(src, dst, wire.ProtocolFragment, append(b, body...))
}

// expectPing has the client ping with a datagram that is sent in fragments.
func expectPing(t *testing.T, client *Stack, to netip.Addr, size int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := client.Ping(ctx, to, size); err != nil {
		t.Errorf("%d bytes meanwhile: %v", size, err)
	}
}

// TestAttackFragmentFlood sends ten thousand fragments of datagrams that never become whole: few
// are kept, and others' datagrams arrive.
func TestAttackFragmentFlood(t *testing.T) {
	text := make([]byte, 1280)
	half := fewer(4000, 16)
	for name, send := range map[string]func(o *attacker, src, dst netip.Addr, i int){
		"first pieces": func(o *attacker, src, dst netip.Addr, i int) {
			o.piece(src, dst, uint32(i), 0, true, text)
		},
		"last pieces": func(o *attacker, src, dst netip.Addr, i int) {
			o.piece(src, dst, uint32(i), 64000, false, text)
		},
		"tiny, far away": func(o *attacker, src, dst netip.Addr, i int) {
			o.piece(src, dst, uint32(i), 65504, true, text[:8])
		},
		"of one, in holes": func(o *attacker, src, dst netip.Addr, i int) {
			o.piece(src, dst, uint32(i/half), i%half*16, true, text[:8])
		},
		// each datagram is wrong, and its rest must not begin a new one
		"overlapping": func(o *attacker, src, dst netip.Addr, i int) {
			o.piece(src, dst, uint32(i/2), 0, true, text[:16])
			o.piece(src, dst, uint32(i/2), 8, true, text[:16])
		},
	} {
		for _, pair := range [][2]netip.Addr{{addrO, addrV}, {netip.MustParseAddr("2001:db8::3"),
			addrY}} {
			t.Run(name+" to "+pair[1].String(), func(t *testing.T) {
				attackWire(t, "10.0.0.0/24", func(t *testing.T, client *Stack, o *attacker) {
					expectPing(t, client, pair[1], 20_000)
					growth := newGrowth(t)
					o.pace = 10 * time.Millisecond
					for i := range 2 * half {
						send(o, pair[0], pair[1], i)
						if i%half == half-1 {
							synctest.Wait()
							growth.measure()
							expectPing(t, client, pair[1], 20_000)
						}
					}
					// 64 datagrams of 64 KiB, doubled while one grows, each with a goroutine and a
					// channel for 64 fragments.
					growth.within(3*maxReassemblies*(64<<10), maxReassemblies+4)
					time.Sleep(2 * reassemblyTimeout)
					growth.measure()
					if err := o.victim.claim(func() {
						if len(o.victim.reassemblies) != 0 || growth.lastRoutine > 2 {
							t.Errorf("%d datagrams and %d goroutines are left",
								len(o.victim.reassemblies), growth.lastRoutine)
						}
					}); err != nil {
						t.Fatal(err)
					}
				})
			})
		}
	}
}

// TestAttackPingFlood sends pings of 65,000 bytes in fragments, as fast as possible. Under the race
// detector they are an eighth.
func TestAttackPingFlood(t *testing.T) {
	pings := uint32(fewer(1000, 8))
	attackWire(t, "10.0.0.0/24", func(t *testing.T, client *Stack, o *attacker) {
		o.claims(addrO)
		growth := newGrowth(t)
		b := make([]byte, 65_000)
		m := wire.Echo(wire.ICMPEcho, 1, 1)
		m.Put(b)
		wire.SealICMP(b, 0)
		o.pace = time.Millisecond
		for id := range pings {
			for at := 0; at < len(b); at += 1480 {
				end := min(at+1480, len(b))
				o.piece(addrO, addrV, id, at, end < len(b), b[at:end])
			}
			if part := pings / 4; id%part == part*2/5 {
				synctest.Wait()
				growth.measure()
				expectPing(t, client, addrV, 56)
				expectPing(t, client, addrV, 30_000)
			}
		}
		growth.within(3*maxReassemblies*(64<<10), maxReassemblies+4)
		if n := o.victim.Stats(); n.Sent < 45*uint64(pings)/2 {
			t.Errorf("%d frames sent: most are to be answered", n.Sent)
		}
	})
}
