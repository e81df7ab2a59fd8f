package gonet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// numbered returns n bytes in which each pair differs from its neighbours.
func numbered(n int) []byte {
	b := make([]byte, 0, n+1)
	for len(b) < n {
		b = binary.BigEndian.AppendUint16(b, uint16(len(b)))
	}
	return b[:n]
}

// receiveSegments reads the datagrams of one write, whose boundaries must be those of the sender.
func receiveSegments(t *testing.T, p *PacketConn, want []byte, size int) {
	t.Helper()
	if err := p.SetReadDeadline(time.Now().Add(fuzzTimeout)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 65536)
	for i := 0; i == 0 || len(want) > 0; i++ {
		n, from, info, err := p.ReadInfo(b)
		if err != nil {
			t.Fatalf("datagram %d: %v, with %d bytes left", i, err, len(want))
		}
		next := want[:min(size, len(want))]
		if want = want[len(next):]; !bytes.Equal(b[:n], next) || info.Segment != 0 ||
			!from.IsValid() {
			t.Fatalf("datagram %d from %v has %d bytes, want %d", i, from, n, len(next))
		}
	}
}

// TestSegments sends many datagrams by one write, over links that take super-frames and links that
// do not. Their boundaries stay, and super-frames are as few as can be.
func TestSegments(t *testing.T) {
	for name, c := range map[string]struct {
		options []link.Option
		super   bool
	}{
		"Ethernet":                 {nil, false},
		"Ethernet in super-frames": {[]link.Option{link.Offload()}, true},
		"L3":                       {[]link.Option{link.L3()}, false},
		"L3 in super-frames":       {[]link.Option{link.L3(), link.Offload()}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := link.Pair(c.options...)
				x, y := host6(t, a, "1"), host6(t, b, "2")
				out, in := listenAt(t, x, "udp", ":9"), listenAt(t, y, "udp", ":7")
				time.Sleep(time.Minute) // until the stacks are silent
				for _, to := range []string{"10.0.0.2", "2001:db8::2"} {
					at := netip.AddrPortFrom(netip.MustParseAddr(to), 7)
					if _, err := x.Ping(t.Context(), at.Addr(), 0); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					for _, s := range []struct{ bytes, size, frames int }{
						{20 * 1200, 1200, 1},
						{20*1200 + 1, 1200, 1},
						{1200, 1200, 1},
						{100, 1200, 1},
						{0, 1200, 1},
						{64, 1, 1},
						{200 * 10, 10, 4},     // at most 64 datagrams in each
						{100 * 1400, 1400, 3}, // at most 46 in 64 KiB
					} {
						before := x.Stats().Sent
						want := numbered(s.bytes)
						n, err := out.WriteInfo(want, at, PacketInfo{Segment: s.size})
						if n != s.bytes || err != nil {
							t.Fatalf("%d bytes were written, %v", n, err)
						}
						synctest.Wait()
						receiveSegments(t, in, want, s.size)
						frames := s.frames
						if !c.super {
							frames = max(1, (s.bytes+s.size-1)/s.size)
						}
						if got := int(x.Stats().Sent - before); got != frames {
							t.Errorf("%d bytes to %s by %d: %d frames, want %d", s.bytes, to,
								s.size, got, frames)
						}
					}
				}
				if n := y.Stats(); n.Malformed+n.DroppedSockets > 0 {
					t.Errorf("%+v", n)
				}
			})
		})
	}
}

// TestSegmentsOfAnySize sends datagrams that need fragments, and holds what cannot be sent.
func TestSegmentsOfAnySize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair(link.Offload())
		x, y := host6(t, a, "1"), host6(t, b, "2")
		out, in := listenAt(t, x, "udp", ":9"), listenAt(t, y, "udp", ":7")
		for _, to := range []string{"10.0.0.2", "2001:db8::2"} {
			at := netip.AddrPortFrom(netip.MustParseAddr(to), 7)
			if _, err := x.Ping(t.Context(), at.Addr(), 0); err != nil {
				t.Fatal(err)
			}
			want := numbered(8000)
			if _, err := out.WriteInfo(want, at, PacketInfo{Segment: 3000}); err != nil {
				t.Fatal(err)
			}
			// Each datagram is put together by a goroutine of its own, so their order may change.
			left := slices.Collect(slices.Chunk(want, 3000))
			for b := make([]byte, 9000); len(left) > 0; {
				n, _, err := in.ReadFromAddrPort(b)
				i := slices.IndexFunc(left, func(d []byte) bool { return bytes.Equal(d, b[:n]) })
				if err != nil || i < 0 {
					t.Fatalf("a datagram of %d bytes, %v", n, err)
				}
				left = slices.Delete(left, i, i+1)
			}
		}
		at := netip.MustParseAddrPort("10.0.0.2:7")
		for _, c := range []struct {
			bytes, size int
			want        error
		}{
			{10, -1, syscall.EINVAL},
			{65508, 0, syscall.EMSGSIZE},
			{70_000, 65508, syscall.EMSGSIZE},
		} {
			n, err := out.WriteInfo(make([]byte, c.bytes), at, PacketInfo{Segment: c.size})
			if n != 0 || !errors.Is(err, c.want) {
				t.Errorf("%d bytes by %d: %d, %v", c.bytes, c.size, n, err)
			}
		}
		n, err := out.WriteInfo(make([]byte, 10), netip.MustParseAddrPort("192.0.2.1:7"),
			PacketInfo{Segment: 5})
		if n != 0 || err == nil {
			t.Errorf("without a route: %d, %v", n, err)
		}
	})
}

// TestSegmentsWait sends datagrams to a host whose station is not known yet: the last ones wait for
// it, as single datagrams do.
func TestSegmentsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair(link.Offload())
		x, y := host6(t, a, "1"), host6(t, b, "2")
		time.Sleep(5 * time.Second) // duplicate address detection has ended
		out, in := listenAt(t, x, "udp", ":9"), listenAt(t, y, "udp", ":7")
		for _, to := range []string{"10.0.0.2", "2001:db8::2"} {
			want := numbered(7*1000 + 1)
			at := netip.AddrPortFrom(netip.MustParseAddr(to), 7)
			if _, err := out.WriteInfo(want, at, PacketInfo{Segment: 1000}); err != nil {
				t.Fatal(err)
			}
			receiveSegments(t, in, want, 1000)
		}
		if n := x.Stats().DroppedUnresolved; n != 0 {
			t.Errorf("%d datagrams were dropped", n)
		}
		nobody := netip.MustParseAddrPort("10.0.0.9:7")
		if _, err := out.WriteInfo(numbered(20*100), nobody, PacketInfo{Segment: 100}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // until the neighbour is given up
		if n := x.Stats().DroppedUnresolved; n != 20 {
			t.Errorf("%d datagrams were dropped, want 20", n)
		}
	})
}

// TestSegmentsToItself sends datagrams to the stack's own addresses, and to a group that it has
// joined and so has another host.
func TestSegmentsToItself(t *testing.T) {
	for name, options := range map[string][]link.Option{"plain": nil,
		"super-frames": {link.Offload()}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := link.Pair(options...)
				x, y := host6(t, a, "1"), host6(t, b, "2")
				out, in := listenAt(t, x, "udp", ":9"), listenAt(t, x, "udp", ":7")
				far := listenAt(t, y, "udp", ":7")
				time.Sleep(5 * time.Second) // duplicate address detection has ended
				want := numbered(9 * 900)
				for _, to := range []string{"127.0.0.1:7", "10.0.0.1:7", "[2001:db8::1]:7",
					"239.1.2.3:7", "[ff15::7]:7"} {
					at := netip.MustParseAddrPort(to)
					receivers := []*PacketConn{in}
					if at.Addr().IsMulticast() {
						receivers = append(receivers, far)
						for _, p := range receivers {
							if err := p.JoinGroup(at.Addr()); err != nil {
								t.Fatal(err)
							}
						}
					}
					if _, err := out.WriteInfo(want, at, PacketInfo{Segment: 900}); err != nil {
						t.Fatalf("%s: %v", to, err)
					}
					for _, p := range receivers {
						receiveSegments(t, p, want, 900)
					}
				}
			})
		})
	}
}

// TestSegmentsToAForwarder holds that the datagrams of a super-frame to a foreign address are one
// flow.
func TestSegmentsToAForwarder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair(link.L3(), link.Offload())
		x := host6(t, a, "1", func(c *Config) { c.Gateways = prefixAddrs("10.0.0.2") })
		y := host6(t, b, "2", func(c *Config) {
			c.Promiscuous = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		})
		flows := make(chan *UDPFlow, 8)
		done := make(chan struct{})
		err := y.ForwardUDP(func(w *UDPFlow) { flows <- w; <-done })
		if err != nil {
			t.Fatal(err)
		}
		out := listenAt(t, x, "udp", ":9")
		want := numbered(30 * 1000)
		to := netip.MustParseAddrPort("192.0.2.7:53")
		if _, err := out.WriteInfo(want, to, PacketInfo{Segment: 1000}); err != nil {
			t.Fatal(err)
		}
		w := <-flows
		receiveSegments(t, w.PacketConn, want, 1000)
		if _, err := w.WriteInfo(want, w.Source(), PacketInfo{Segment: 700}); err != nil {
			t.Fatal(err)
		}
		receiveSegments(t, out, want, 700)
		synctest.Wait()
		if len(flows) > 0 {
			t.Error("there is a second flow")
		}
		close(done)
	})
}

func prefixAddrs(all ...string) (addrs []netip.Addr) {
	for _, a := range all {
		addrs = append(addrs, netip.MustParseAddr(a))
	}
	return addrs
}

// idRecorder is a link that notes the identifications of the IPv4 packets that pass.
type idRecorder struct {
	*link.End
	mu  sync.Mutex
	ids []uint16
}

func (r *idRecorder) Write(g link.GSO, pieces ...[]byte) error {
	b := slices.Concat(pieces...)
	if b[0]>>4 == 4 {
		r.mu.Lock()
		r.ids = append(r.ids, binary.BigEndian.Uint16(b[4:]))
		r.mu.Unlock()
	}
	return r.End.Write(g, pieces...)
}

// TestSegmentsHaveTheirOwnIDs holds that the datagrams into which super-frames are cut, and those
// that follow, all have different identifications (RFC 6864 section 4.1): a router may fragment
// them.
func TestSegmentsHaveTheirOwnIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair(link.L3(), link.Offload())
		r := &idRecorder{End: a}
		x := host6(t, link.NewFaults(r, 1, link.Fault{}, link.Fault{}), "1")
		host6(t, b, "2")
		out := listenAt(t, x, "udp", ":9")
		for i := range 3 {
			for _, size := range []int{100, 0} {
				_, err := out.WriteInfo(numbered(1000+i), netip.MustParseAddrPort("10.0.0.2:7"),
					PacketInfo{Segment: size})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		synctest.Wait()
		r.mu.Lock()
		defer r.mu.Unlock()
		slices.Sort(r.ids)
		if all := len(r.ids); all != 10+11+11+3 || len(slices.Compact(r.ids)) != all {
			t.Errorf("%d packets have the identifications %v", all, r.ids)
		}
	})
}

// superPacket is an IPv4 packet of UDP from 10.0.0.1:9 to a port of 10.0.0.2, with a right checksum
// over all of it.
func superPacket(port uint16, payload []byte) []byte {
	length := wire.UDPLen + len(payload)
	h := wire.IPv4{Length: uint16(wire.IPv4Len + length), TTL: 9, Protocol: wire.ProtocolUDP,
		Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2")}
	b := make([]byte, wire.IPv4Len+wire.UDPLen)
	h.Put(b)
	b = append(b, payload...)
	u := wire.UDP{SrcPort: 9, DstPort: port, Length: uint16(length)}
	u.Put(b[wire.IPv4Len:])
	u.Checksum = ^wire.Sum(b[wire.IPv4Len:], wire.PseudoSum(h.Src, h.Dst, wire.ProtocolUDP, length))
	u.Put(b[wire.IPv4Len:])
	return b
}

// TestHostileSuperFrames has a link hand over super-frames that no sender makes.
func TestHostileSuperFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end, other := link.Pair(link.L3())
		s := host6(t, other, "2")
		in := listenAt(t, s, "udp", ":7")
		for _, c := range []struct {
			name    string
			gso     link.GSO
			payload int
			port    uint16
			change  func(b []byte)
			want    []int // the sizes of the datagrams
			bad     uint64
		}{
			{"as many as may be", link.GSO{Size: 1, Valid: true}, 128, 7, nil,
				slices.Repeat([]int{1}, 128), 0},
			{"too many", link.GSO{Size: 1, Valid: true}, 129, 7, nil, nil, 1},
			{"no size", link.GSO{Valid: true}, 129, 7, nil, []int{129}, 0},
			{"a size beyond the end", link.GSO{Size: 65535, Valid: true}, 9, 7, nil, []int{9}, 0},
			{"nothing", link.GSO{Size: 9, Valid: true}, 0, 7, nil, []int{0}, 0},
			{"a right checksum", link.GSO{Size: 60}, 100, 7, nil, []int{60, 40}, 0},
			{"a wrong checksum", link.GSO{Size: 60}, 100, 7, func(b []byte) { b[50]++ }, nil, 1},
			{"a length that is wrong", link.GSO{Size: 60, Valid: true}, 100, 7,
				func(b []byte) { b[wire.IPv4Len+5]++ }, nil, 1},
			{"bytes behind the last", link.GSO{Size: 60, Valid: true}, 100, 7,
				func(b []byte) { b[wire.IPv4Len+5] = 8 + 70 }, []int{60, 10}, 0},
			{"a port that nobody has", link.GSO{Size: 10, Valid: true}, 100, 8, nil, nil, 0},
		} {
			before := s.Stats().Malformed
			b := superPacket(c.port, numbered(c.payload))
			if c.change != nil {
				c.change(b)
			}
			c.gso.Kind = link.UDP
			if err := end.Write(c.gso, b); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			var got []int
			for d, ok := in.in.take(); ok; d, ok = in.in.take() {
				got = append(got, len(d.body))
			}
			if bad := s.Stats().Malformed - before; !slices.Equal(got, c.want) || bad != c.bad {
				t.Errorf("%s: datagrams of %v bytes, want %v; %d malformed, want %d", c.name, got,
					c.want, bad, c.bad)
			}
		}
	})
}

// FuzzSuperUDP holds that a super-frame with any size of segments and any payload is delivered as
// its bytes, in order and within the bound, or not at all.
func FuzzSuperUDP(f *testing.F) {
	f.Add(uint16(1200), numbered(5000))
	f.Add(uint16(1), numbered(128))
	f.Add(uint16(0), numbered(10))
	f.Add(uint16(65535), []byte{})
	f.Fuzz(func(t *testing.T, size uint16, payload []byte) {
		if len(payload) > 60_000 {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			end, other := link.Pair(link.L3())
			s := host6(t, other, "2")
			in := listenAt(t, s, "udp", ":7")
			err := end.Write(link.GSO{Kind: link.UDP, Size: size}, superPacket(7, payload))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			got, n := []byte{}, 0
			for d, ok := in.in.take(); ok; d, ok = in.in.take() {
				if len(d.body) > int(size) && size > 0 {
					t.Errorf("a datagram of %d bytes", len(d.body))
				}
				got, n = append(got, d.body...), n+1
			}
			if n > 0 && !bytes.Equal(got, payload) || n > maxDatagrams ||
				n == 0 && (size == 0 || len(payload) <= maxDatagrams*int(size)) {
				t.Errorf("%d datagrams with %d bytes of %d", n, len(got), len(payload))
			}
		})
	})
}

// BenchmarkSegments writes 20 datagrams of 1200 bytes at once, or one by one.
func BenchmarkSegments(b *testing.B) {
	for name, size := range map[string]int{"at once": 20 * 1200, "one by one": 1200} {
		b.Run(name, func(b *testing.B) {
			near, far := link.Pair(link.L3(), link.Offload())
			x, y := host6(b, near, "1"), host6(b, far, "2")
			in, err := y.ListenPacket("udp", ":7")
			if err != nil {
				b.Fatal(err)
			}
			out, err := x.ListenPacket("udp", ":9")
			if err != nil {
				b.Fatal(err)
			}
			to := netip.MustParseAddrPort("10.0.0.2:7")
			data := make([]byte, 20*1200)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				for at := 0; at < len(data); at += size {
					_, err := out.WriteInfo(data[at:at+size], to, PacketInfo{Segment: 1200})
					if err != nil {
						b.Fatal(err)
					}
				}
				for range 20 {
					if _, _, err := in.ReadFromAddrPort(data[:1200]); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
