package gonet

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// Foreign addresses of these tests, and all of them.
var (
	foreign4 = netip.MustParseAddr("198.51.100.7")
	foreign6 = netip.MustParseAddr("2001:db8:9::7")
	anywhere = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
)

// everywhere has a stack take packets to all addresses.
func everywhere(c *Config) { c.Promiscuous = anywhere }

// forwarding runs f in fake time, with a client x whose router is y, on wires of both kinds.
func forwarding(t *testing.T, f func(t *testing.T, x, y *Stack), change ...func(*Config)) {
	t.Helper()
	overBoth(t, func(t *testing.T, options ...link.Option) {
		synctest.Test(t, func(t *testing.T) {
			a, b := link.Pair(options...)
			x := host6(t, a, "1", func(c *Config) {
				c.Gateways = []netip.Addr{addrV, addrY}
			})
			f(t, x, host6(t, b, "2", append([]func(*Config){everywhere}, change...)...))
		})
	})
}

// forwardTCP sets the handler of a stack.
func forwardTCP(t *testing.T, s *Stack, handle func(*TCPRequest)) {
	t.Helper()
	if err := s.ForwardTCP(handle); err != nil {
		t.Fatal(err)
	}
}

// forwardUDP sets the handler of a stack.
func forwardUDP(t *testing.T, s *Stack, handle func(*UDPFlow)) {
	t.Helper()
	if err := s.ForwardUDP(handle); err != nil {
		t.Fatal(err)
	}
}

// handOut returns a handler that hands requests to the test, which decides, and that waits for the
// end of each.
func handOut(t *testing.T) (chan *TCPRequest, func(*TCPRequest)) {
	all := make(chan *TCPRequest, 100)
	over := t.Context()
	return all, func(r *TCPRequest) {
		all <- r
		select {
		case <-r.Context().Done():
		case <-over.Done():
		}
	}
}

// icmpMessages returns the messages of ICMPv4 that the victim has sent since the last call, and
// their sources.
func (o *attacker) icmpMessages() (found []wire.ICMP, from []netip.Addr) {
	o.t.Helper()
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, frame := range o.received {
		b := packetOf(frame, o.victim.link.features.L3)
		if len(b) == 0 || b[0]>>4 != 4 {
			continue
		}
		ip, body, err := wire.ParseIPv4(b)
		if err != nil {
			o.t.Fatal(err)
		}
		if ip.Protocol == wire.ProtocolICMP {
			m, _, err := wire.ParseICMP(body, 0)
			if err != nil {
				o.t.Fatal(err)
			}
			found, from = append(found, m), append(from, ip.Src)
		}
	}
	o.received = nil
	return found, from
}

// TestForwardNeedsNetworks holds what is refused.
func TestForwardNeedsNetworks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair()
		x := host6(t, a, "1")
		y := host6(t, b, "2", func(c *Config) { c.Spoofing = anywhere })
		for _, s := range []*Stack{x, y} {
			if s.ForwardTCP(func(*TCPRequest) {}) == nil || s.ForwardUDP(nil) == nil ||
				s.ForwardEcho(nil) == nil {
				t.Error("a forwarder without networks")
			}
		}
	})
	a, _ := link.Pair()
	for _, bad := range []netip.Prefix{{}, netip.MustParsePrefix("::ffff:1.2.3.0/120")} {
		if _, err := New(Config{Link: a, Promiscuous: []netip.Prefix{bad}}); err == nil {
			t.Errorf("promiscuous %v was taken", bad)
		}
		if _, err := New(Config{Link: a, Spoofing: []netip.Prefix{bad}}); err == nil {
			t.Errorf("spoofing %v was taken", bad)
		}
	}
}

// TestForwardNoMartians sends packets to and from addresses that no router forwards, with all
// addresses promiscuous. No handler may see one.
func TestForwardNoMartians(t *testing.T) {
	overBoth(t, func(t *testing.T, options ...link.Option) {
		synctest.Test(t, func(t *testing.T) {
			o := newLoneAttackerOn(t, options, everywhere)
			o.claims(addrO)
			var seen atomic.Int32
			forwardTCP(t, o.victim, func(r *TCPRequest) {
				seen.Add(1)
				t.Logf("%v to %v", r.Source(), r.Destination())
			})
			forwardUDP(t, o.victim, func(w *UDPFlow) {
				seen.Add(1)
				t.Logf("%v to %v", w.Source(), w.Destination())
			})
			if err := o.victim.ForwardEcho(func(r *EchoRequest) {
				seen.Add(1)
				t.Logf("%v to %v", r.Source(), r.Destination())
			}); err != nil {
				t.Fatal(err)
			}
			try := func(src, dst netip.Addr) {
				o.tcp(at(src, 999), at(dst, 80), wire.TCP{Flags: wire.SYN, Window: 1000})
				o.udp(at(src, 999), at(dst, 53), []byte("x"))
				if src.Is4() {
					echo := make([]byte, wire.ICMPLen)
					m := wire.Echo(wire.ICMPEcho, 1, 1)
					m.Put(echo)
					wire.SealICMP(echo, 0)
					o.ip(src, dst, wire.ProtocolICMP, echo)
				} else {
					o.ip(src, dst, wire.ProtocolICMPv6, echoOf(src, dst, 8))
				}
				synctest.Wait()
			}
			for _, dst := range []string{"127.0.0.1", "224.0.0.5", "224.0.0.1", "10.0.0.255",
				"255.255.255.255", "0.0.0.0", "0.1.2.3", "240.0.0.1", "169.254.169.254",
				"10.0.0.2", "::", "::1", "ff02::5", "fe80::9", "::ffff:198.51.100.7",
				"2001:db8::2"} {
				a := netip.MustParseAddr(dst)
				if a.Is4() {
					try(addrO, a)
				} else {
					try(addrX, a)
				}
			}
			for _, src := range []string{"127.0.0.1", "224.0.0.5", "10.0.0.255", "0.0.0.0",
				"255.255.255.255", "10.0.0.2", "169.254.1.1", "0.1.2.3", "240.0.0.1"} {
				try(netip.MustParseAddr(src), foreign4)
			}
			for _, src := range []string{"::", "::1", "ff02::5", "fe80::9", "2001:db8::2",
				"::ffff:10.0.0.3"} {
				try(netip.MustParseAddr(src), foreign6)
			}
			if n := seen.Load(); n != 0 {
				t.Errorf("%d were forwarded", n)
			}
			try(addrO, foreign4)
			try(addrX, foreign6)
			if n := seen.Load(); n != 6 {
				t.Errorf("%d of 6 good ones were forwarded", n)
			}
		})
	})
}

// TestForwardOwnAddressesWin holds which of an address, a listener, a socket and a forwarder gets
// what is sent.
func TestForwardOwnAddressesWin(t *testing.T) {
	forwarding(t, func(t *testing.T, x, y *Stack) {
		var requests, flows atomic.Int32
		forwardTCP(t, y, func(r *TCPRequest) { requests.Add(1); r.Refuse() })
		forwardUDP(t, y, func(*UDPFlow) { flows.Add(1) })
		if _, err := x.Dial("tcp", "10.0.0.2:80"); !errors.Is(err, errRefused) ||
			requests.Load() != 0 {
			t.Errorf("an own port without a listener: %v, %d requests", err, requests.Load())
		}
		serveEcho(t, y, ":80")
		if _, err := x.Dial("tcp", "198.51.100.7:80"); !errors.Is(err, errRefused) ||
			requests.Load() != 1 {
			t.Errorf("beside a listener for all: %v, %d requests", err, requests.Load())
		}
		serveEcho(t, y, "198.51.100.7:80")
		c, err := x.Dial("tcp", "198.51.100.7:80")
		if err != nil || requests.Load() != 1 {
			t.Fatalf("a listener at a foreign address: %v, %d requests", err, requests.Load())
		}
		expectEcho(t, c, 1000)
		_ = c.Close()
		wild, err := y.ListenPacket("udp", ":53")
		if err != nil {
			t.Fatal(err)
		}
		bound, err := y.ListenPacket("udp", "[2001:db8:9::7]:53")
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 10)
		for to, p := range map[string]*PacketConn{"[2001:db8::2]:53": wild,
			"[2001:db8:9::7]:53": bound} {
			c, err := x.Dial("udp", to)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write([]byte(to)); err != nil {
				t.Fatal(err)
			}
			n, from, err := p.ReadFromAddrPort(b)
			if err != nil || string(b[:n]) != to[:n] {
				t.Fatalf("%q, %v", b[:n], err)
			}
			if _, err := p.WriteToAddrPort(b[:n], from); err != nil {
				t.Fatal(err)
			}
			if n, err := c.Read(b); err != nil || string(b[:n]) != to[:n] {
				t.Errorf("back: %q, %v", b[:n], err)
			}
		}
		if flows.Load() != 0 {
			t.Errorf("%d flows", flows.Load())
		}
	})
}

// TestSpoofing sends from foreign addresses.
func TestSpoofing(t *testing.T) {
	forwarding(t, func(t *testing.T, x, y *Stack) {
		serveEcho(t, x, ":80")
		from := &net.TCPAddr{IP: foreign4.AsSlice()}
		d := Dialer{Stack: y, LocalAddr: from}
		c, err := d.DialContext(t.Context(), "tcp", "10.0.0.1:80")
		if err != nil {
			t.Fatal(err)
		}
		if got := c.LocalAddr().(*net.TCPAddr).AddrPort().Addr(); got != foreign4 {
			t.Errorf("from %v", got)
		}
		expectEcho(t, c, 100_000)
		_ = c.Close()
		from.IP = net.IPv4(192, 0, 2, 1)
		if _, err := d.DialContext(t.Context(), "tcp", "10.0.0.1:80"); !errors.Is(err, errNotOurs) {
			t.Errorf("from an address that may not be spoofed: %v", err)
		}
		p, err := x.ListenPacket("udp", ":53")
		if err != nil {
			t.Fatal(err)
		}
		q, err := y.ListenPacket("udp", ":0")
		if err != nil {
			t.Fatal(err)
		}
		to := netip.MustParseAddrPort("10.0.0.1:53")
		if _, err := q.WriteInfo([]byte("x"), to, PacketInfo{Local: foreign4}); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 10)
		if _, got, err := p.ReadFromAddrPort(b); err != nil || got.Addr() != foreign4 {
			t.Errorf("from %v, %v", got, err)
		}
		for _, bad := range []string{"192.0.2.1", "224.0.0.1", "10.0.0.1"} {
			info := PacketInfo{Local: netip.MustParseAddr(bad)}
			if _, err := q.WriteInfo([]byte("x"), to, info); !errors.Is(err, errNotOurs) {
				t.Errorf("from %s: %v", bad, err)
			}
		}
	}, func(c *Config) { c.Spoofing = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")} })
}

// TestForwardEcho pings foreign addresses: the program, the stack, a router or nobody answers.
func TestForwardEcho(t *testing.T) {
	ping := func(x *Stack, to netip.Addr, size int) error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_, err := x.Ping(ctx, to, size)
		return err
	}
	for _, to := range []netip.Addr{foreign4, foreign6} {
		forwarding(t, func(t *testing.T, x, y *Stack) {
			if err := ping(x, to, 56); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("nobody was asked: %v", err)
			}
			var got atomic.Pointer[EchoRequest]
			if err := y.ForwardEcho(func(r *EchoRequest) {
				got.Store(r)
				if len(r.Data()) > 0 {
					if err := r.Reply(); err != nil {
						t.Error(err)
					}
				}
			}); err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{1, 56, 5000} {
				if err := ping(x, to, size); err != nil {
					t.Errorf("%d bytes: %v", size, err)
				}
				if r := got.Load(); len(r.Data()) != size || r.Destination() != to ||
					r.Source().Is4() != to.Is4() || r.Info().TTL == 0 || r.Seq() == 0 {
					t.Errorf("%+v", r)
				}
			}
			if err := ping(x, to, 0); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a request that was dropped: %v", err)
			}
		})
		forwarding(t, func(t *testing.T, x, _ *Stack) {
			for _, size := range []int{0, 56, 5000} {
				if err := ping(x, to, size); err != nil {
					t.Errorf("%d bytes: %v", size, err)
				}
			}
		}, func(c *Config) { c.Forward.AnswerEcho = true })
	}
}

// TestForwardUnreachable holds the ICMP errors of each reason: their codes and their source.
func TestForwardUnreachable(t *testing.T) {
	overBoth(t, func(t *testing.T, options ...link.Option) {
		synctest.Test(t, func(t *testing.T) {
			o := newLoneAttackerOn(t, options, everywhere)
			o.claims(addrO)
			var why Unreachable
			forwardTCP(t, o.victim, func(r *TCPRequest) { r.Unreachable(why) })
			forwardUDP(t, o.victim, func(w *UDPFlow) { w.Unreachable(why) })
			if err := o.victim.ForwardEcho(func(r *EchoRequest) {
				r.Unreachable(why)
			}); err != nil {
				t.Fatal(err)
			}
			echo := make([]byte, wire.ICMPLen)
			m := wire.Echo(wire.ICMPEcho, 1, 1)
			m.Put(echo)
			wire.SealICMP(echo, 0)
			for w, code := range map[Unreachable]uint8{UnreachableNet: 0, UnreachableHost: 1,
				UnreachablePort: 3, UnreachableProhibited: 13} {
				why = w
				source := addrV
				if w == UnreachablePort {
					source = foreign4
				}
				for i, send := range []func(){
					func() {
						o.tcp(at(addrO, 999), at(foreign4, 80), wire.TCP{Flags: wire.SYN})
					},
					func() { o.udp(at(addrO, 999), at(foreign4, 53), []byte("text")) },
					func() { o.ip(addrO, foreign4, wire.ProtocolICMP, echo) },
				} {
					time.Sleep(time.Second) // the rate of errors is limited
					send()
					all, from := o.icmpMessages()
					if len(all) != 1 || all[0].Type != wire.ICMPUnreachable ||
						all[0].Code != code || from[0] != source {
						t.Errorf("reason %d, %d: %+v from %v", w, i, all, from)
					}
				}
			}
		})
	})
}

// FuzzForward sends arbitrary packets to a stack with forwarders for all addresses: it must survive
// and still work.
func FuzzForward(f *testing.F) {
	for _, p := range packetsForL3() {
		f.Add(p, false)
		p = bytes.Clone(p)
		if p[0]>>4 == 4 {
			copy(p[16:], foreign4.AsSlice())
		} else {
			copy(p[24:], foreign6.AsSlice())
		}
		f.Add(p, true)
	}
	f.Fuzz(func(t *testing.T, p []byte, sealed bool) {
		end, other := link.Pair(link.L3())
		s := host6(t, other, "2", everywhere)
		defer func() { _ = s.Abort() }() // Close would wait for clients that do not exist
		err := errors.Join(s.ForwardTCP(func(r *TCPRequest) {
			switch r.Destination().Port() % 4 {
			case 0:
				r.Refuse()
			case 1:
				r.Unreachable(UnreachableNet)
			case 2:
				r.Drop()
			default:
				_, _ = r.Accept() // the client has not asked for it
			}
		}), s.ForwardUDP(func(w *UDPFlow) {
			b := make([]byte, 100)
			n, _ := w.Read(b)
			_, _ = w.Write(b[:n])
		}), s.ForwardEcho(func(r *EchoRequest) { _ = r.Reply() }))
		if err != nil {
			t.Fatal(err)
		}
		p = bytes.Clone(p)
		if sealed {
			sealIPv4(p)
		}
		for range 2 {
			if err := end.Write(link.GSO{Partial: true, Valid: true}, p); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), fuzzTimeout)
		defer cancel()
		if _, err := s.Ping(ctx, loopbackAddr, 8); err != nil {
			t.Fatal(err)
		}
	})
}
