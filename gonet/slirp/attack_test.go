package slirp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet"
	"interleave/gonet/link"
	"interleave/gonet/relay"
	"interleave/gonet/wire"
)

// hostile is a guest that writes any frame, and reads what the gateway sends.
type hostile struct {
	*world
	mac wire.MAC
	mu  sync.Mutex
	got [][]byte // frames of the gateway
}

var guestAddr = netip.MustParseAddr("10.0.2.100")

// newHostile puts a hostile guest into a world. It answers ARP for its address.
func newHostile(w *world) *hostile {
	h := &hostile{world: w, mac: wire.MAC{2, 5: 9}}
	go func() {
		batch := make([]link.Frame, 32)
		for {
			n, err := w.wire.Read(batch)
			if err != nil {
				return
			}
			for i := range batch[:n] {
				h.receive(batch[i].Data)
			}
		}
	}()
	w.t.Cleanup(func() { _ = w.wire.Close() })
	return h
}

func (h *hostile) receive(frame []byte) {
	e, b, err := wire.ParseEthernet(frame)
	if err != nil {
		h.t.Error(err)
		return
	}
	m, err := wire.ParseARP(b)
	if e.Type != wire.EtherARP || err != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.got = append(h.got, append([]byte(nil), frame...))
		return
	}
	if m.Op == wire.ARPRequest {
		reply := wire.ARP{Op: wire.ARPReply, SenderMAC: h.mac, SenderIP: m.TargetIP,
			TargetMAC: m.SenderMAC, TargetIP: m.SenderIP}
		out := make([]byte, wire.ARPLen)
		reply.Put(out)
		h.frame(wire.EtherARP, out)
	}
}

// frame sends a frame to the gateway.
func (h *hostile) frame(kind wire.EtherType, body []byte) {
	e := wire.Ethernet{Dst: h.slirp.station.mac, Src: h.mac, Type: kind}
	b := make([]byte, wire.EthernetLen)
	e.Put(b)
	if err := h.wire.Write(link.GSO{}, b, body); err != nil && !errors.Is(err, link.ErrClosed) {
		h.t.Error(err)
	}
}

// packet sends an IP packet to the gateway.
func (h *hostile) packet(src, dst netip.Addr, protocol wire.Protocol, body []byte) {
	if dst.Is6() {
		ip := wire.IPv6{Length: uint16(len(body)), NextHeader: protocol, HopLimit: 64, Src: src,
			Dst: dst}
		b := make([]byte, wire.IPv6Len)
		ip.Put(b)
		h.frame(wire.EtherIPv6, append(b, body...))
		return
	}
	ip := wire.IPv4{Length: uint16(wire.IPv4Len + len(body)), TTL: 64, Protocol: protocol, Src: src,
		Dst: dst}
	b := make([]byte, wire.IPv4Len)
	ip.Put(b)
	h.frame(wire.EtherIPv4, append(b, body...))
}

// syn sends the SYN of a connection.
func (h *hostile) syn(src, dst netip.AddrPort) {
	s := wire.TCP{SrcPort: src.Port(), DstPort: dst.Port(), Seq: 1, Flags: wire.SYN, Window: 1000}
	b := make([]byte, wire.TCPLen)
	s.Put(b)
	s.Checksum = ^wire.Sum(b, wire.PseudoSum(src.Addr(), dst.Addr(), wire.ProtocolTCP, len(b)))
	s.Put(b)
	h.packet(src.Addr(), dst.Addr(), wire.ProtocolTCP, b)
}

// udp sends a datagram without a payload.
func (h *hostile) udp(src, dst netip.AddrPort) {
	u := wire.UDP{SrcPort: src.Port(), DstPort: dst.Port(), Length: wire.UDPLen}
	b := make([]byte, wire.UDPLen)
	u.Put(b)
	u.Checksum = ^wire.Sum(b, wire.PseudoSum(src.Addr(), dst.Addr(), wire.ProtocolUDP, len(b)))
	u.Put(b)
	h.packet(src.Addr(), dst.Addr(), wire.ProtocolUDP, b)
}

// frames returns the frames that the gateway has sent since the last call.
func (h *hostile) frames() [][]byte {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.got
	h.got = nil
	return all
}

// icmp returns the types and codes of the ICMP messages that the gateway has sent since the last
// call, and their sources.
func (h *hostile) icmp() (found []wire.ICMP, from []netip.Addr) {
	h.t.Helper()
	for _, frame := range h.frames() {
		_, b, err := wire.ParseEthernet(frame)
		if err != nil || b[0]>>4 != 4 {
			continue
		}
		ip, body, err := wire.ParseIPv4(b)
		if err != nil || ip.Protocol != wire.ProtocolICMP {
			continue
		}
		m, _, err := wire.ParseICMP(body, 0)
		if err != nil {
			h.t.Error(err)
		}
		found, from = append(found, m), append(from, ip.Src)
	}
	return found, from
}

// countingHost is a host whose dials wait until they are given up, and are counted.
type countingHost struct {
	silentHost
	open, most atomic.Int32
}

func (c *countingHost) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	n := c.open.Add(1)
	defer c.open.Add(-1)
	for m := c.most.Load(); n > m && !c.most.CompareAndSwap(m, n); m = c.most.Load() {
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// withHostile runs f in fake time with a hostile guest.
func withHostile(t *testing.T, f func(t *testing.T, h *hostile), change ...func(*Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHostile(newWorld(t, true, change...))
		f(t, h)
		h.end()
	})
}

// TestAttackSYNs has a guest send 10,000 SYNs to nowhere. The host dials a bounded number at once,
// and others are served as soon as those have been given up.
func TestAttackSYNs(t *testing.T) {
	host := &countingHost{}
	withHostile(t, func(t *testing.T, h *hostile) {
		before := runtime.NumGoroutine()
		for i := range 10_000 {
			dst := netip.AddrFrom4([4]byte{203, 0, 113, byte(i)})
			h.syn(netip.AddrPortFrom(guestAddr, uint16(1024+i)), netip.AddrPortFrom(dst, 80))
			if i%200 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		if n := host.most.Load(); n != maxRequests {
			t.Errorf("%d dials at once, want %d", n, maxRequests)
		}
		// A request has a handler, and one more goroutine while its context ends.
		if n := runtime.NumGoroutine() - before; n > 3*maxRequests {
			t.Errorf("%d goroutines more", n)
		}
		if n := h.slirp.stack.Stats().DroppedForwards; n < 10_000-maxRequests {
			t.Errorf("%d SYNs were dropped", n)
		}
		time.Sleep(2 * connectTime)
		if n := host.open.Load(); n != 0 {
			t.Errorf("%d dials are left", n)
		}
	}, func(c *Config) { c.Host = host })
}

// TestAttackFlows has a guest send datagrams from all its ports.
func TestAttackFlows(t *testing.T) {
	const flows = 50
	withHostile(t, func(t *testing.T, h *hostile) {
		for i := range 2_000 {
			h.udp(netip.AddrPortFrom(guestAddr, uint16(1024+i)),
				netip.MustParseAddrPort(serverAddr+":9000"))
			if i%100 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		if n := h.dialed(); n == 0 || n > 2*flows {
			t.Errorf("the host has %d sockets, at most %d may be", n, 2*flows)
		}
		time.Sleep(5 * time.Minute)
		if n := h.dialed(); n != 0 {
			t.Errorf("%d sockets are left", n)
		}
	}, func(c *Config) { c.Flows = flows })
}

// TestAttackBuffers has a guest read and write fast, so that windows grow, and then stop reading,
// beside a server that does likewise. What waits in the gateway is bounded.
func TestAttackBuffers(t *testing.T) {
	const fast = 16 << 20 // bytes
	const others = 200
	inWorld(t, func(t *testing.T, w *world) {
		l, err := w.server.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		for range others { // connections that are there
			w.slirp.connections.enter()
		}
		over := make(chan struct{})
		flood := func(c net.Conn) {
			var running sync.WaitGroup
			running.Go(func() {
				for b := make([]byte, 1<<20); ; {
					if _, err := c.Write(b); err != nil {
						return // the test is over
					}
				}
			})
			if _, err := io.CopyN(io.Discard, c, fast); err != nil {
				t.Error(err)
			}
			<-over
			relay.Reset(c)
			running.Wait()
		}
		var ends sync.WaitGroup
		ends.Go(func() {
			if c, err := l.Accept(); err != nil {
				t.Error(err)
			} else {
				flood(c)
			}
		})
		ends.Go(func() { flood(dial(t, w.guest, "tcp", serverAddr+":80")) })
		time.Sleep(time.Minute)
		s, err := w.slirp.stack.Snapshot()
		if err != nil || len(s.Conns) != 1 {
			t.Fatalf("%d connections, %v", len(s.Conns), err)
		}
		c := s.Conns[0]
		if c.BytesIn < fast || c.BytesOut < fast || c.Unread == 0 || c.Unacked == 0 {
			t.Errorf("%+v", c)
		}
		most := share(256) + 128 // for 200 others and this one; a window is rounded up to its scale
		if c.Unread > most || c.Unacked > most {
			t.Errorf("%d bytes wait for the host and %d for the guest, at most %d may", c.Unread,
				c.Unacked, most)
		}
		close(over)
		ends.Wait()
		for range others {
			w.slirp.connections.leave()
		}
	})
}

// TestBufferShares opens and ends many connections, and holds the bounds on the buffers of each,
// and on those of all.
func TestBufferShares(t *testing.T) {
	if one, last := share(1), share(defaultConnections); one != maxBuffer || last != 8<<10 {
		t.Errorf("%d bytes for one, %d for each of the most", one, last)
	}
	var b buffers
	conns := make([]*gonet.Conn, 1000)
	inWorld(t, func(t *testing.T, w *world) {
		l, err := w.server.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		for i := range conns {
			conns[i] = dial(t, w.host, "tcp", serverAddr+":80").(*gonet.Conn)
			if c, err := l.Accept(); err != nil {
				t.Error(err)
			} else {
				relay.Reset(c)
			}
			if first := b.first(i + 1); first*(i+1) > 2*sharedBuffer {
				t.Errorf("connection %d may begin with %d bytes", i+1, first)
			}
			b.add(conns[i], i+1)
			if all := share(int(b.most.Load())) * (i + 1); all > sharedBuffer {
				t.Errorf("%d bytes for %d connections", all, i+1)
			}
		}
		for i := len(conns) - 1; i >= 0; i-- {
			b.remove(conns[i], i)
		}
	})
	if b.most.Load() != 1 || len(b.conns) != 0 {
		t.Errorf("without connections: %d, %d", b.most.Load(), len(b.conns))
	}
}

// deafHost is a host whose sockets of UDP are not made before they are given up.
type deafHost struct{ stackHost }

func (deafHost) DialFlow(ctx context.Context, _ uint16, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestAttackDatagrams has a guest send long datagrams, while the host does not take them.
func TestAttackDatagrams(t *testing.T) {
	const sent, size = 100, 60_000
	inWorld(t, func(t *testing.T, w *world) {
		if _, err := w.guest.Ping(t.Context(), w.slirp.cfg.Network.Gateway, 0); err != nil {
			t.Fatal(err)
		}
		c := dial(t, w.guest, "udp", serverAddr+":9000")
		for range sent {
			if _, err := c.Write(make([]byte, size)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		waiting := sent - int(w.slirp.stack.Stats().DroppedSockets)
		if waiting == 0 || waiting*size > maxWaiting {
			t.Errorf("%d datagrams of %d bytes wait, at most %d bytes may", waiting, size,
				maxWaiting)
		}
	}, func(c *Config) { c.Host = deafHost{c.Host.(stackHost)} })
}

// TestAttackSpoofed has a guest send from addresses that are not its own, in frames of all kinds.
// None reaches the host.
func TestAttackSpoofed(t *testing.T) {
	withHostile(t, func(t *testing.T, h *hostile) {
		var seen atomic.Int32
		h.frames() // those of the start
		if err := errors.Join(
			h.slirp.stack.ForwardTCP(func(r *gonet.TCPRequest) { seen.Add(1); r.Refuse() }),
			h.slirp.stack.ForwardUDP(func(*gonet.UDPFlow) { seen.Add(1) })); err != nil {
			t.Fatal(err)
		}
		try := func(src, dst string) {
			from := netip.AddrPortFrom(netip.MustParseAddr(src), 999)
			to := netip.AddrPortFrom(netip.MustParseAddr(dst), 80)
			h.syn(from, to)
			h.udp(from, to)
			synctest.Wait()
		}
		for _, src := range []string{serverAddr, "10.0.2.2", "10.0.2.3", "10.0.2.0", "10.0.2.255",
			"10.0.3.1", "127.0.0.1", "0.0.0.0", "255.255.255.255", "224.0.0.1", hostAddr} {
			try(src, serverAddr)
		}
		for _, src := range []string{serverAddr6, "fd00::2", "fd00::3", "fd00::", "fd01::1", "::1",
			"::", "fe80::2", "ff02::1", "::ffff:10.0.2.100"} {
			try(src, serverAddr6)
		}
		if n := seen.Load(); n != 0 {
			t.Errorf("%d were forwarded", n)
		}
		if n := h.slirp.Stats().Spoofed; n < 30 {
			t.Errorf("%d packets were counted", n)
		}
		if frames := h.frames(); len(frames) != 0 {
			t.Errorf("spoofed packets are answered: % x", frames)
		}
		// A priority tag does not hide them, and the guest's own addresses pass.
		e := wire.Ethernet{Dst: h.slirp.station.mac, Src: h.mac, Type: wire.EtherIPv4, Tagged: true,
			Tag: 7 << 13}
		b := make([]byte, 18+wire.IPv4Len+wire.UDPLen)
		ip := wire.IPv4{Length: wire.IPv4Len + wire.UDPLen, TTL: 64, Protocol: wire.ProtocolUDP,
			Src: netip.MustParseAddr("10.0.2.2"), Dst: netip.MustParseAddr(serverAddr)}
		u := wire.UDP{SrcPort: 1, DstPort: 2, Length: wire.UDPLen}
		at := e.Put(b)
		at += ip.Put(b[at:])
		u.Put(b[at:])
		if err := h.wire.Write(link.GSO{}, b); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := seen.Load(); n != 0 {
			t.Errorf("%d tagged ones were forwarded", n)
		}
		try("10.0.2.77", serverAddr)
		try("fd00::77", serverAddr6)
		if n := seen.Load(); n != 4 {
			t.Errorf("%d of 4 good ones were forwarded", n)
		}
	})
}

// TestAttackDestinations has a guest send to where nobody may be. The gateway refuses it by ICMP,
// from its own address, and not more often than it should.
func TestAttackDestinations(t *testing.T) {
	withHostile(t, func(t *testing.T, h *hostile) {
		from := netip.AddrPortFrom(guestAddr, 999)
		for dst, want := range map[string]int{
			"127.0.0.1":       int(wire.UnreachableAdministrative),
			"127.1.2.3":       int(wire.UnreachableAdministrative),
			"0.0.0.0":         int(wire.UnreachableAdministrative),
			"169.254.169.254": int(wire.UnreachableAdministrative),
			"240.0.0.1":       int(wire.UnreachableAdministrative),
			"10.0.2.77":       int(wire.UnreachableHost),
			"10.0.2.255":      -1,
			"255.255.255.255": -1,
			"224.0.0.251":     -1,
			"10.0.2.2":        int(wire.UnreachableAdministrative),
		} {
			time.Sleep(time.Second)
			h.syn(from, netip.AddrPortFrom(netip.MustParseAddr(dst), 80))
			found, sources := h.icmp()
			switch {
			case want < 0 && len(found) == 0:
			case want < 0 || len(found) != 1 || found[0].Type != wire.ICMPUnreachable ||
				int(found[0].Code) != want:
				t.Errorf("%s: %+v, want code %d", dst, found, want)
			case sources[0] != netip.MustParseAddr("10.0.2.2") && dst != "10.0.2.2":
				t.Errorf("%s: from %v", dst, sources[0])
			}
		}
		for range 1000 {
			h.syn(from, netip.MustParseAddrPort("127.0.0.1:80"))
		}
		if found, _ := h.icmp(); len(found) > 1 {
			t.Errorf("%d errors at once", len(found))
		}
	}, func(c *Config) { c.NoHostLoopback = true })
}

// FuzzStation holds that no frame harms the gateway, and that what it answers itself are frames
// from its own address.
func FuzzStation(f *testing.F) {
	frame := func(kind wire.EtherType, body ...byte) []byte {
		e := wire.Ethernet{Dst: wire.Broadcast, Src: wire.MAC{2, 5: 9}, Type: kind}
		b := make([]byte, wire.EthernetLen)
		e.Put(b)
		return append(b, body...)
	}
	arp := wire.ARP{Op: wire.ARPRequest, SenderMAC: wire.MAC{2, 5: 9}, SenderIP: guestAddr,
		TargetIP: netip.MustParseAddr("10.0.2.2")}
	b := make([]byte, wire.ARPLen)
	arp.Put(b)
	f.Add(frame(wire.EtherARP, b...))
	ip := wire.IPv4{Length: 28, TTL: 1, Protocol: wire.ProtocolUDP, Src: guestAddr,
		Dst: netip.MustParseAddr("127.0.0.1")}
	b = make([]byte, 28)
	ip.Put(b)
	f.Add(frame(wire.EtherIPv4, b...))
	ip6 := wire.IPv6{Length: 8, NextHeader: wire.ProtocolICMPv6, HopLimit: 255,
		Src: netip.MustParseAddr("fe80::9"), Dst: allRouters}
	b = make([]byte, 48)
	ip6.Put(b)
	wire.PutRouterSolicit(b[40:], nil)
	wire.SealICMP(b[40:], wire.PseudoSum(ip6.Src, ip6.Dst, wire.ProtocolICMPv6, 8))
	f.Add(frame(wire.EtherIPv6, b...))
	network := defaultNetwork(f, true)
	f.Fuzz(func(t *testing.T, b []byte) {
		near, far := link.Pair()
		s := newStation(far, network, false)
		taken := s.takes(&link.Frame{Data: b})
		if err := far.Close(); err != nil {
			t.Fatal(err)
		}
		near.Interrupt()
		batch := make([]link.Frame, 4)
		n, err := near.Read(batch)
		if err != nil || n > 1 || n == 1 && !taken {
			t.Fatalf("%d answers, taken: %v, %v", n, taken, err)
		}
		if n == 0 {
			return
		}
		e, _, err := wire.ParseEthernet(batch[0].Data)
		if err != nil || e.Src != s.mac {
			t.Fatalf("% x, %v", batch[0].Data, err)
		}
	})
}
