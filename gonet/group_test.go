package gonet

import (
	"errors"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/internal/demux"
	"interleave/gonet/link"
)

// inGroups runs f with three hosts at a hub, in fake time, with Ethernet and without.
func inGroups(t *testing.T, f func(t *testing.T, x, y, z *Stack)) {
	overBoth(t, func(t *testing.T, options ...link.Option) {
		synctest.Test(t, func(t *testing.T) {
			h := link.NewHub(options...)
			x, y, z := host6(t, h.Port(), "1"), host6(t, h.Port(), "2"), host6(t, h.Port(), "3")
			time.Sleep(5 * time.Second) // duplicate address detection has ended
			f(t, x, y, z)
		})
	})
}

// receives waits for a datagram, or holds that none comes.
func receives(t *testing.T, p *PacketConn, want string) {
	t.Helper()
	synctest.Wait()
	if err := p.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	n, _, info, err := p.ReadInfo(b)
	switch {
	case want == "" && !errors.Is(err, os.ErrDeadlineExceeded):
		t.Errorf("%v has received %q, %v", p.LocalAddr(), b[:n], err)
	case want != "" && (err != nil || string(b[:n]) != want):
		t.Errorf("%v has received %q, %v, want %q", p.LocalAddr(), b[:n], err, want)
	case want != "" && info.TTL != 1:
		t.Errorf("a datagram to a group has the TTL %d", info.TTL)
	}
}

func listenAt(t *testing.T, s *Stack, network, address string) *PacketConn {
	t.Helper()
	p, err := s.ListenPacket(network, address)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func sendTo(t *testing.T, p *PacketConn, to, text string) {
	t.Helper()
	if _, err := p.WriteToAddrPort([]byte(text), netip.MustParseAddrPort(to)); err != nil {
		t.Fatal(err)
	}
}

// TestGroups sends datagrams to groups: the sockets that have joined receive them, and no others.
func TestGroups(t *testing.T) {
	for _, a := range []string{"239.1.2.3", "ff0e::1:3"} {
		group := netip.MustParseAddr(a)
		to := netip.AddrPortFrom(group, 5000).String()
		t.Run(a, func(t *testing.T) {
			inGroups(t, func(t *testing.T, x, y, z *Stack) {
				sender := listenAt(t, x, "udp", ":0")
				joined, other := listenAt(t, y, "udp", ":5000"), listenAt(t, z, "udp", ":5000")
				elsewhere := listenAt(t, y, "udp", ":5001")
				if err := errors.Join(joined.JoinGroup(group),
					elsewhere.JoinGroup(group)); err != nil {
					t.Fatal(err)
				}
				shared := make([]*PacketConn, 2)
				for i := range shared { // beside the socket of the port
					var err error
					if shared[i], err = y.ListenMulticastUDP("udp", to); err != nil {
						t.Fatal(err)
					}
				}
				sendTo(t, sender, to, "hello")
				for _, p := range append(shared, joined) {
					receives(t, p, "hello")
				}
				receives(t, other, "")
				receives(t, elsewhere, "")
				if n := z.Stats().Foreign; n == 0 {
					t.Error("a datagram to a group of others is not counted")
				}
				if snap, err := y.Snapshot(); err != nil ||
					!slices.Equal(snap.Groups, []netip.Addr{group}) || len(snap.Sockets) != 4 {
					t.Errorf("%v, %v, %v", snap.Groups, snap.Sockets, err)
				}
				if err := joined.LeaveGroup(group); err != nil {
					t.Fatal(err)
				}
				sendTo(t, sender, to, "again")
				receives(t, joined, "")
				receives(t, shared[0], "again")
				receives(t, shared[1], "again")
				for _, p := range append(shared, elsewhere) {
					if err := p.Close(); err != nil {
						t.Error(err)
					}
				}
				g := &y.groups
				if g.hasJoined(group) || len(g.members) != 0 || len(g.sockets) != 0 {
					t.Error("a group outlives its sockets")
				}
			})
		})
	}
}

// TestSourcesOfGroups has two senders, of which sockets want one, all but one, or both.
func TestSourcesOfGroups(t *testing.T) {
	for _, c := range []struct{ group, from, not string }{
		{"232.1.2.3", "10.0.0.1", "10.0.0.3"}, {"ff3e::1:3", "2001:db8::1", "2001:db8::3"},
	} {
		group, from, not := netip.MustParseAddr(c.group), netip.MustParseAddr(c.from),
			netip.MustParseAddr(c.not)
		to := netip.AddrPortFrom(group, 5000).String()
		t.Run(c.group, func(t *testing.T) {
			inGroups(t, func(t *testing.T, x, y, z *Stack) {
				wanted, unwanted := listenAt(t, x, "udp", ":0"), listenAt(t, z, "udp", ":0")
				one, err := y.ListenMulticastUDP("udp", to)
				if err != nil {
					t.Fatal(err)
				}
				but := listenAt(t, y, "udp", ":5000")
				if err := errors.Join(one.LeaveGroup(group), // all sources
					one.JoinSourceSpecificGroup(group, from), but.JoinGroup(group),
					but.ExcludeSourceSpecificGroup(group, from)); err != nil {
					t.Fatal(err)
				}
				sendTo(t, wanted, to, "one")
				sendTo(t, unwanted, to, "but")
				receives(t, one, "one")
				receives(t, one, "")
				receives(t, but, "but")
				receives(t, but, "")
				if err := errors.Join(one.JoinSourceSpecificGroup(group, not),
					but.IncludeSourceSpecificGroup(group, from)); err != nil {
					t.Fatal(err)
				}
				for text, p := range map[string]*PacketConn{"both": wanted, "each": unwanted} {
					sendTo(t, p, to, text)
					receives(t, one, text)
					receives(t, but, text)
				}
				if err := errors.Join(one.LeaveSourceSpecificGroup(group, not),
					one.LeaveSourceSpecificGroup(group, from), but.LeaveGroup(group)); err != nil {
					t.Fatal(err)
				}
				if y.groups.hasJoined(group) {
					t.Error("a group without sources is kept")
				}
			})
		})
	}
}

// TestLoopbackOfGroups sends to a group of the same stack, with fragments too.
func TestLoopbackOfGroups(t *testing.T) {
	inGroups(t, func(t *testing.T, x, y, _ *Stack) {
		for _, a := range []string{"239.1.2.3", "ff0e::1:3"} {
			group := netip.MustParseAddr(a)
			to := netip.AddrPortFrom(group, 5000).String()
			p, err := x.ListenMulticastUDP("udp", to)
			if err != nil {
				t.Fatal(err)
			}
			q, err := y.ListenMulticastUDP("udp", to)
			if err != nil {
				t.Fatal(err)
			}
			sender := listenAt(t, x, "udp", ":0")
			sendTo(t, sender, to, "from here")
			receives(t, p, "from here")
			receives(t, q, "from here")
			sendTo(t, p, to, "not to itself")
			receives(t, p, "")
			receives(t, q, "not to itself")
			if err := errors.Join(p.SetMulticastLoopback(true),
				sender.SetMulticastLoopback(false)); err != nil {
				t.Fatal(err)
			}
			sendTo(t, p, to, "to itself")
			receives(t, p, "to itself")
			receives(t, q, "to itself")
			sendTo(t, sender, to, "far only")
			receives(t, p, "")
			receives(t, q, "far only")
			long := make([]byte, 5000)
			sendTo(t, p, to, string(long))
			for _, s := range []*PacketConn{p, q} {
				b := make([]byte, 9000)
				_ = s.SetReadDeadline(time.Time{}) // never fails
				if n, _, err := s.ReadFromAddrPort(b); n != len(long) || err != nil {
					t.Errorf("%d bytes in fragments, %v", n, err)
				}
			}
			if err := sender.SetMulticastTTL(7); err != nil {
				t.Fatal(err)
			}
			sendTo(t, sender, to, "x")
			if _, _, info, err := q.ReadInfo(long); err != nil || info.TTL != 7 ||
				info.Local != group {
				t.Errorf("%+v, %v", info, err)
			}
		}
	})
}

// TestGroupsOfAllHosts holds that a socket that has joined nothing gets what is sent to the groups
// in which every host is, and gets it once if it has joined them.
func TestGroupsOfAllHosts(t *testing.T) {
	inGroups(t, func(t *testing.T, x, y, _ *Stack) {
		sender, p := listenAt(t, x, "udp", ":0"), listenAt(t, y, "udp", ":5000")
		for _, a := range []string{"224.0.0.1", "ff02::1"} {
			group := netip.MustParseAddr(a)
			to := netip.AddrPortFrom(group, 5000).String()
			sendTo(t, sender, to, "all")
			receives(t, p, "all")
			if err := p.JoinGroup(group); err != nil {
				t.Fatal(err)
			}
			sendTo(t, sender, to, "once")
			receives(t, p, "once")
			receives(t, p, "")
		}
	})
}

// TestErrorsOfGroups holds what cannot be joined or left.
func TestErrorsOfGroups(t *testing.T) {
	inGroups(t, func(t *testing.T, x, _, _ *Stack) {
		group, six := netip.MustParseAddr("239.1.2.3"), netip.MustParseAddr("ff0e::1")
		source, other := netip.MustParseAddr("10.0.0.9"), netip.MustParseAddr("239.9.9.9")
		p, bound := listenAt(t, x, "udp4", ":5000"), listenAt(t, x, "udp4", "10.0.0.1:5001")
		dialed, err := x.Dial("udp", "10.0.0.2:5000")
		if err != nil {
			t.Fatal(err)
		}
		closed := listenAt(t, x, "udp4", ":5003")
		_ = closed.Close()
		if err := p.JoinGroup(group); err != nil {
			t.Fatal(err)
		}
		const unavailable = syscall.EADDRNOTAVAIL
		for name, c := range map[string]struct{ got, want error }{
			"twice":              {p.JoinGroup(group), syscall.EADDRINUSE},
			"not joined":         {p.LeaveGroup(other), unavailable},
			"another family":     {p.JoinGroup(six), syscall.EINVAL},
			"no group":           {p.JoinGroup(source), syscall.EINVAL},
			"nothing":            {p.JoinGroup(netip.Addr{}), syscall.EINVAL},
			"a source of all":    {p.JoinSourceSpecificGroup(group, source), syscall.EINVAL},
			"a source of IPv6":   {p.ExcludeSourceSpecificGroup(group, addrX), syscall.EINVAL},
			"a group as source":  {p.ExcludeSourceSpecificGroup(group, group), syscall.EINVAL},
			"not excluded":       {p.IncludeSourceSpecificGroup(group, source), unavailable},
			"bound to a host":    {bound.JoinGroup(group), syscall.EINVAL},
			"dialed":             {dialed.(*PacketConn).JoinGroup(group), syscall.EINVAL},
			"closed":             {closed.JoinGroup(group), errClosed},
			"exclude, no member": {p.ExcludeSourceSpecificGroup(other, source), unavailable},
		} {
			if !errors.Is(c.got, c.want) {
				t.Errorf("%s: %v, want %v", name, c.got, c.want)
			}
		}
		for i := range maxSources {
			if err := p.ExcludeSourceSpecificGroup(group,
				netip.AddrFrom4([4]byte{10, 0, 1, byte(i)})); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.ExcludeSourceSpecificGroup(group, source); !errors.Is(err, syscall.ENOBUFS) {
			t.Errorf("too many sources: %v", err)
		}
		for i := 0; err == nil && i <= maxGroups; i++ {
			err = p.JoinGroup(netip.AddrFrom4([4]byte{239, 7, byte(i >> 8), byte(i)}))
		}
		if !errors.Is(err, syscall.ENOBUFS) {
			t.Errorf("too many groups: %v", err)
		}
		for _, a := range []string{"10.0.0.1:5000", ":5000", "[ff0e::1]:99999", "name:5000"} {
			if q, err := x.ListenMulticastUDP("udp", a); err == nil {
				t.Errorf("%s: %v", a, q.LocalAddr())
			}
		}
		if q, err := x.ListenMulticastUDP("udp4", "[ff0e::1]:5000"); err == nil {
			t.Errorf("%v is one of IPv4", q.LocalAddr())
		}
	})
}

// TestTheEndOfAStackEndsGroups reads from a socket that has left its only group.
func TestTheEndOfAStackEndsGroups(t *testing.T) {
	inGroups(t, func(t *testing.T, x, _, _ *Stack) {
		group := netip.MustParseAddr("239.1.2.3")
		p, err := x.ListenMulticastUDP("udp", "239.1.2.3:0")
		if err != nil {
			t.Fatal(err)
		}
		if port := netip.MustParseAddrPort(p.LocalAddr().String()).Port(); port < demux.FirstPort {
			t.Errorf("the port %d", port)
		}
		if err := p.LeaveGroup(group); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, _, err := p.ReadFromAddrPort(make([]byte, 1))
			ended <- err
		}()
		synctest.Wait()
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, errClosed) {
			t.Errorf("%v", err)
		}
		if err := p.JoinGroup(group); !errors.Is(err, errClosed) {
			t.Errorf("joined after the end: %v", err)
		}
	})
}
