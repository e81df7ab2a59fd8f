package gonet

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// TestForwardTCP has the program accept connections to foreign addresses of both families.
func TestForwardTCP(t *testing.T) {
	forwarding(t, func(t *testing.T, x, y *Stack) {
		accepted := make(chan *Conn, 1)
		forwardTCP(t, y, func(r *TCPRequest) {
			c, err := r.Accept()
			if err != nil {
				t.Error(err)
			} else if got := c.RemoteAddr().String(); got != r.Source().String() {
				t.Errorf("the connection is with %s, the request from %v", got, r.Source())
			}
			accepted <- c
		})
		for _, to := range []string{"198.51.100.7:80", "[2001:db8:9::7]:443", "10.0.0.77:1"} {
			if to == "10.0.0.77:1" && !x.link.features.L3 {
				continue // on Ethernet nobody answers for another's address on the link
			}
			near, err := x.Dial("tcp", to)
			if err != nil {
				t.Fatal(err)
			}
			far := <-accepted
			if far == nil {
				return
			}
			if far.LocalAddr().String() != to || far.RemoteAddr().String() !=
				near.LocalAddr().String() {
				t.Errorf("%v to %v", far.RemoteAddr(), far.LocalAddr())
			}
			bothWays(t, 1, near, far, 300_000)
		}
		empty(t, 1, x, y)
	})
}

// TestForwardTCPDecides has each decision, and what the client sees of it.
func TestForwardTCPDecides(t *testing.T) {
	forwarding(t, func(t *testing.T, x, y *Stack) {
		var requests atomic.Int32
		for name, c := range map[string]struct {
			handle   func(*TCPRequest)
			want     error
			requests int32
		}{
			"refuse": {(*TCPRequest).Refuse, syscall.ECONNREFUSED, 1},
			"port": {func(r *TCPRequest) { r.Unreachable(UnreachablePort) },
				syscall.ECONNREFUSED, 1},
			"drop first": {func(r *TCPRequest) {
				if requests.Load() < 3 {
					r.Drop()
				}
				r.Refuse()
			}, syscall.ECONNREFUSED, 3},
			"return first": {func(r *TCPRequest) {
				if requests.Load() == 2 {
					r.Refuse()
				}
			}, syscall.ECONNREFUSED, 2},
			"late": {func(r *TCPRequest) { // the client sends its SYN four times meanwhile
				time.Sleep(10 * time.Second)
				c, err := r.Accept()
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, c) // the client closes
				_ = c.Close()
			}, nil, 1},
		} {
			for _, to := range []string{"198.51.100.7:80", "[2001:db8:9::7]:80"} {
				time.Sleep(time.Second) // the rate of ICMP errors is limited
				requests.Store(0)
				forwardTCP(t, y, func(r *TCPRequest) {
					requests.Add(1)
					c.handle(r)
				})
				conn, err := x.Dial("tcp", to)
				if conn != nil {
					_ = conn.Close() // nothing was written
				}
				if !errors.Is(err, c.want) || c.want == nil && err != nil {
					t.Errorf("%s: %s: %v, want %v", name, to, err, c.want)
				}
				if n := requests.Load(); n != c.requests {
					t.Errorf("%s: %s: %d requests, want %d", name, to, n, c.requests)
				}
			}
		}
		if err := y.ForwardTCP(nil); err != nil {
			t.Fatal(err)
		}
		before := y.Stats()
		if _, err := x.Dial("tcp", "198.51.100.7:80"); !errors.Is(err, syscall.ETIMEDOUT) {
			t.Errorf("without a handler: %v", err)
		}
		if n := y.Stats(); n.Foreign == before.Foreign || n.Resets != before.Resets {
			t.Errorf("without a handler: %+v", n)
		}
	})
}

// expectOver fails the test unless the request has ended, and cannot be accepted for the reason
// want.
func expectOver(t *testing.T, r *TCPRequest, want error) {
	t.Helper()
	synctest.Wait()
	if r.Context().Err() == nil {
		t.Error("the context has not ended")
	}
	if c, err := r.Accept(); c != nil || !errors.Is(err, want) {
		t.Errorf("accepted as %v, %v, want %v", c, err, want)
	}
}

// forwardAttack runs f with an attacker of a stack that forwards, and its requests.
func forwardAttack(t *testing.T, f func(t *testing.T, o *attacker, all chan *TCPRequest),
	change ...func(*Config)) {
	overBoth(t, func(t *testing.T, options ...link.Option) {
		synctest.Test(t, func(t *testing.T) {
			o := newLoneAttackerOn(t, options, append(change, everywhere)...)
			o.claims(addrO)
			all, handle := handOut(t)
			forwardTCP(t, o.victim, handle)
			f(t, o, all)
		})
	})
}

// TestAttackForwardReset has clients that end before they are accepted.
func TestAttackForwardReset(t *testing.T) {
	forwardAttack(t, func(t *testing.T, o *attacker, all chan *TCPRequest) {
		from, to := at(addrO, 1000), at(foreign4, 80)
		syn := wire.TCP{Seq: 1000, Flags: wire.SYN, Window: 1000}
		o.tcp(from, to, syn)
		r := <-all
		// Not one of these is of the client that has sent the SYN, or it means nothing yet.
		for _, h := range []wire.TCP{{Seq: 1000, Flags: wire.RST}, {Seq: 1002, Flags: wire.RST},
			{Seq: 1001, Ack: 5, Flags: wire.ACK}, {Seq: 1001, Ack: 5, Flags: wire.FIN | wire.ACK},
			{Seq: 1001, Flags: wire.FIN}, {Seq: 1000, Ack: 1, Flags: wire.SYN | wire.ACK}, syn} {
			o.tcp(from, to, h, []byte("data")...)
		}
		if got := o.segments(); len(got) != 0 || len(all) != 0 || r.Context().Err() != nil {
			t.Errorf("%d segments, %d more requests, %v", len(got), len(all), r.Context().Err())
		}
		o.tcp(from, to, wire.TCP{Seq: 1001, Flags: wire.RST})
		expectOver(t, r, syscall.ECONNRESET)
		r.Refuse() // too late, so nothing is sent
		if got := o.segments(); len(got) != 0 {
			t.Errorf("%d segments", len(got))
		}
		// The same client anew: it reboots before the answer.
		o.tcp(from, to, syn)
		r = <-all
		syn.Seq, syn.Options.MSS = 5000, 600
		o.tcp(from, to, syn)
		accepted := make(chan *Conn, 1)
		go func() {
			c, err := r.Accept()
			if err != nil {
				t.Error(err)
			}
			accepted <- c
		}()
		got := o.segments()
		if len(got) != 1 || got[0].Flags != wire.SYN|wire.ACK || got[0].Ack != 5001 {
			t.Fatalf("%+v", got)
		}
		// The acknowledgement, data, and the end arrive at once.
		h := wire.TCP{Seq: 5001, Ack: got[0].Seq + 1, Flags: wire.ACK, Window: 1200}
		o.tcp(from, to, h)
		o.tcp(from, to, h, []byte("hello ")...)
		h.Seq, h.Flags = 5007, wire.ACK|wire.FIN
		o.tcp(from, to, h, []byte("you")...)
		c := <-accepted
		if b, err := io.ReadAll(c); err != nil || string(b) != "hello you" {
			t.Errorf("%q, %v", b, err)
		}
		if n := c.Info().MSS; n != 600 {
			t.Errorf("the MSS is %d, that of the latest SYN 600", n)
		}
		if _, err := c.Write(make([]byte, 5000)); err != nil {
			t.Error(err)
		}
		sent := 0
		for _, s := range o.segments() {
			sent += len(s.text)
		}
		if sent != 1200 {
			t.Errorf("%d bytes into a window of 1200", sent)
		}
		if c, err := r.Accept(); c != nil || !errors.Is(err, net.ErrClosed) {
			t.Errorf("accepted again: %v, %v", c, err)
		}
	})
}

// TestAttackForwardGone accepts clients that have gone: one answers with a reset, one not at all.
func TestAttackForwardGone(t *testing.T) {
	forwardAttack(t, func(t *testing.T, o *attacker, all chan *TCPRequest) {
		silent := syscall.ETIMEDOUT
		if !o.victim.link.features.L3 {
			silent = syscall.EHOSTUNREACH // it answers no ARP either
		}
		for i, want := range []error{syscall.ECONNRESET, silent} {
			from, to := at(addrO, 1000+i), at(foreign4, 80)
			o.segments()
			o.tcp(from, to, wire.TCP{Seq: 1000, Flags: wire.SYN, Window: 1000})
			r := <-all
			failed := make(chan error, 1)
			go func() {
				_, err := r.Accept()
				failed <- err
			}()
			got := o.segments()
			if len(got) != 1 {
				t.Fatalf("%d answers", len(got))
			}
			if want == syscall.ECONNRESET {
				o.tcp(from, to, wire.TCP{Seq: 1001, Flags: wire.RST})
			}
			start := time.Now()
			if err := <-failed; !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
			if d := time.Since(start); d > defaultRequestTime+time.Minute {
				t.Errorf("that took %v", d)
			}
		}
		synctest.Wait()
		if n := o.victim.forward.pending.Load(); n != 0 {
			t.Errorf("%d requests count as pending", n)
		}
		// A segment of a connection that nobody has: of a client from before a restart.
		o.claims(addrO)
		o.segments()
		o.tcp(at(addrO, 5), at(foreign4, 80), wire.TCP{Seq: 7, Ack: 9, Flags: wire.ACK})
		if got := o.segments(); len(got) != 1 || got[0].Flags != wire.RST || got[0].Seq != 9 {
			t.Errorf("%+v", got)
		}
	})
}

// TestAttackForwardFlood sends SYNs from all ports of two hosts, while a client of an own address
// is served. The handlers wait, so the requests end after their time.
func TestAttackForwardFlood(t *testing.T) {
	overBoth(t, func(t *testing.T, options ...link.Option) {
		synctest.Test(t, func(t *testing.T) {
			a, b := link.Pair(options...)
			quiet := func(c *Config) { c.NoDAD, c.NoAutoconf = true, true }
			client, victim := host6(t, a, "1", quiet), host6(t, b, "2", quiet, everywhere)
			serveEcho(t, victim, ":7")
			o := newAttacker(t, a, victim)
			var running atomic.Int32
			forwardTCP(t, o.victim, func(r *TCPRequest) {
				running.Add(1)
				<-r.Context().Done()
				running.Add(-1)
			})
			c, err := client.Dial("tcp", "10.0.0.2:7")
			if err != nil {
				t.Fatal(err)
			}
			growth := newGrowth(t)
			to := foreign4.As4()
			flood := fewer(40_000, 8)
			for i := range flood {
				to[2], to[3] = byte(i>>8), byte(i)
				o.tcp(at(addrO, 1000+i%60000), at(netip.AddrFrom4(to), 80),
					wire.TCP{Seq: uint32(i), Flags: wire.SYN, Window: 1000})
				if part := flood / 4; i%part == part-1 {
					growth.measure()
					expectEcho(t, c, 10_000)
				}
			}
			growth.within(16<<20, defaultRequests+100)
			if n := o.victim.Stats().DroppedForwards; n != uint64(flood-defaultRequests) {
				t.Errorf("%d were dropped", n)
			}
			if n := running.Load(); n != defaultRequests {
				t.Errorf("%d handlers run", n)
			}
			if s, err := o.victim.Snapshot(); err != nil || s.Requests != defaultRequests {
				t.Errorf("%d requests are pending, %v", s.Requests, err)
			}
			time.Sleep(defaultRequestTime + time.Second)
			synctest.Wait()
			if n := running.Load(); n != 0 {
				t.Errorf("%d handlers are left", n)
			}
			forwardTCP(t, o.victim, (*TCPRequest).Refuse)
			before := o.victim.Stats().Resets
			o.tcp(at(addrO, 999), at(foreign4, 80), wire.TCP{Flags: wire.SYN, Window: 1000})
			synctest.Wait()
			if n := o.victim.Stats().Resets - before; n != 1 {
				t.Errorf("%d resets after the flood", n)
			}
		})
	})
}

// TestAttackForwardHanging has SYNs and resets in turn, and handlers that do not look at their
// context: each of them counts until it has returned.
func TestAttackForwardHanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newLoneAttacker(t, everywhere, func(c *Config) { c.Forward.Requests = 10 })
		o.claims(addrO)
		var running atomic.Int32
		gate := make(chan struct{})
		forwardTCP(t, o.victim, func(*TCPRequest) {
			running.Add(1)
			<-gate
			running.Add(-1)
		})
		for i := range 1000 {
			o.tcp(at(addrO, 1000), at(foreign4, 80), wire.TCP{Seq: uint32(i), Flags: wire.SYN})
			o.tcp(at(addrO, 1000), at(foreign4, 80), wire.TCP{Seq: uint32(i) + 1, Flags: wire.RST})
		}
		synctest.Wait()
		if n := running.Load(); n != 10 {
			t.Errorf("%d handlers run", n)
		}
		close(gate)
		synctest.Wait()
		if n, m := running.Load(), o.victim.forward.pending.Load(); n != 0 || m != 0 {
			t.Errorf("%d handlers and %d requests are left", n, m)
		}
	})
}

// TestForwardPathMTU has a router on the way to the client report a smaller MTU for the packets of
// an accepted connection.
func TestForwardPathMTU(t *testing.T) {
	forwardAttack(t, func(t *testing.T, o *attacker, all chan *TCPRequest) {
		from, to := at(addrO, 1000), at(foreign4, 80)
		go func() {
			c, err := (<-all).Accept()
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := c.Write(make([]byte, 5000)); err != nil {
				t.Error(err)
			}
		}()
		o.handshake(from, to, 60_000, wire.TCPOptions{MSS: 1460})
		largest := func() (n int, first reply) {
			for _, s := range o.segments() {
				if len(s.text) > n {
					n, first = len(s.text), s
				}
			}
			return n, first
		}
		n, first := largest()
		if n != 1460 {
			t.Fatalf("the largest segment has %d bytes", n)
		}
		m := wire.ICMP{Type: wire.ICMPUnreachable, Code: wire.UnreachableFragmentation, Rest: 1000}
		quoted := wire.IPv4{Length: 1500, TTL: 60, Protocol: wire.ProtocolTCP, Src: foreign4,
			Dst: addrO, DontFragment: true}
		h := wire.TCP{SrcPort: 80, DstPort: 1000, Seq: first.Seq, Flags: wire.ACK}
		b := make([]byte, wire.ICMPLen+wire.IPv4Len+wire.TCPLen)
		m.Put(b)
		quoted.Put(b[wire.ICMPLen:])
		h.Put(b[wire.ICMPLen+wire.IPv4Len:])
		wire.SealICMP(b, 0)
		o.ip(addrC, foreign4, wire.ProtocolICMP, b)
		time.Sleep(5 * time.Second)
		if n, _ := largest(); n != 1000-wire.IPv4Len-wire.TCPLen {
			t.Errorf("the largest segment has %d bytes, over an MTU of 1000", n)
		}
	})
}

// TestForwardAcceptAtOnce has many goroutines accept and refuse one request: one of them decides.
func TestForwardAcceptAtOnce(t *testing.T) {
	forwarding(t, func(t *testing.T, x, y *Stack) {
		for round := range 20 {
			var accepted atomic.Int32
			forwardTCP(t, y, func(r *TCPRequest) {
				var all sync.WaitGroup
				for i := range 8 {
					all.Go(func() {
						if i == round {
							r.Refuse()
						} else if c, err := r.Accept(); err == nil {
							accepted.Add(1)
							_ = c.Close() // the client closes, too
						}
					})
				}
				all.Wait()
			})
			c, err := x.Dial("tcp", "198.51.100.7:80")
			if err == nil {
				_ = c.Close()
			}
			synctest.Wait()
			if n := accepted.Load(); n > 1 || (n == 1) != (err == nil) {
				t.Errorf("accepted %d times, %v", n, err)
			}
		}
	})
}

// TestForwardAndTheEnd closes a stack with requests that wait, with one that is being accepted, and
// with a connection.
func TestForwardAndTheEnd(t *testing.T) {
	for name, end := range map[string]func(*Stack) error{"close": (*Stack).Close,
		"abort": (*Stack).Abort} {
		t.Run(name, func(t *testing.T) {
			forwardAttack(t, func(t *testing.T, o *attacker, all chan *TCPRequest) {
				for i := range 3 {
					o.tcp(at(addrO, 1000+i), at(foreign4, 80), wire.TCP{Seq: 1000, Flags: wire.SYN,
						Window: 1000})
				}
				first, second, third := <-all, <-all, <-all
				accepted := make(chan error, 1)
				go func() {
					_, err := third.Accept()
					accepted <- err
				}()
				o.segments()
				if err := end(o.victim); err != nil {
					t.Error(err)
				}
				if err := <-accepted; err == nil {
					t.Error("accepted by a stack that has ended")
				}
				resets := 0
				for _, s := range o.segments() {
					if s.Flags&wire.RST != 0 {
						resets++
					}
				}
				if name == "close" && resets < 2 {
					t.Errorf("%d resets for 2 clients that wait", resets)
				}
				expectOver(t, first, net.ErrClosed)
				second.Refuse()
				second.Drop()
				if n := o.victim.forward.pending.Load(); n != 0 {
					t.Errorf("%d requests count as pending", n)
				}
				if o.victim.ForwardTCP(nil) == nil {
					t.Error("a stack that has ended has a forwarder")
				}
			})
		})
	}
}

// TestForwardMany has 200 clients at once, each with its foreign address.
func TestForwardMany(t *testing.T) {
	forwarding(t, func(t *testing.T, x, y *Stack) {
		forwardTCP(t, y, func(r *TCPRequest) {
			c, err := r.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprint(c, r.Destination())
			_ = c.Close()
		})
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				to := fmt.Sprintf("198.51.100.%d:%d", 1+i, 1000+i)
				c, err := x.Dial("tcp", to)
				if err != nil {
					t.Error(err)
					return
				}
				if b, err := io.ReadAll(c); err != nil || string(b) != to {
					t.Errorf("%q, %v", b, err)
				}
				_ = c.Close()
			})
		}
		all.Wait()
		empty(t, 1, x, y)
	})
}
