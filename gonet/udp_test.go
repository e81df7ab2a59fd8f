package gonet

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
)

// arrived returns what waits in a socket.
func arrived(t *testing.T, p net.Conn) (texts []string) {
	t.Helper()
	synctest.Wait()
	if err := p.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	for b := make([]byte, 2000); ; {
		n, err := p.Read(b)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b[:n]))
	}
}

// TestSocketsOfOnePort has a socket of a port for all peers, and sockets of the same port for one
// peer each, dialed from it. Each gets what is its own.
func TestSocketsOfOnePort(t *testing.T) {
	bubble(t, link.Fault{}, func(t *testing.T, x, y *Stack) {
		all, err := x.ListenPacket("udp", ":53")
		if err != nil {
			t.Fatal(err)
		}
		from := Dialer{Stack: x, LocalAddr: &net.UDPAddr{Port: 53}}
		var ours []net.Conn
		var theirs []*PacketConn
		for _, at := range []string{"10.0.0.2:1001", "10.0.0.2:1002", "10.0.0.2:1003"} {
			p, err := y.ListenPacket("udp", at)
			if err != nil {
				t.Fatal(err)
			}
			theirs = append(theirs, p)
			if at == "10.0.0.2:1003" {
				break // for all
			}
			c, err := from.DialContext(t.Context(), "udp", at)
			if err != nil || c.LocalAddr().String() != "10.0.0.1:53" {
				t.Fatal(c, err)
			}
			ours = append(ours, c)
		}
		if _, err := from.DialContext(t.Context(), "udp", "10.0.0.2:1002"); !errors.Is(err,
			syscall.EADDRINUSE) {
			t.Errorf("a second socket for one peer: %v", err)
		}
		for i, p := range theirs {
			to := netip.MustParseAddrPort("10.0.0.1:53")
			if _, err := p.WriteToAddrPort([]byte{'a' + byte(i)}, to); err != nil {
				t.Error(err)
			}
		}
		for i, p := range []net.Conn{ours[0], ours[1], all} {
			if got := arrived(t, p); !slices.Equal(got, []string{string('a' + rune(i))}) {
				t.Errorf("socket %d gets %q", i, got)
			}
		}
		if _, err := ours[0].Write([]byte("from 53")); err != nil {
			t.Error(err)
		}
		_, sender, err := theirs[0].ReadFrom(make([]byte, 9))
		if err != nil || sender.String() != "10.0.0.1:53" {
			t.Errorf("it comes from %v, %v", sender, err)
		}
		if err := ours[0].Close(); err != nil {
			t.Error(err)
		}
		if _, err := theirs[0].WriteTo([]byte("z"), sender); err != nil {
			t.Error(err)
		}
		if got := arrived(t, all); !slices.Equal(got, []string{"z"}) {
			t.Errorf("after its end, the socket for all gets %q", got)
		}
	})
}

// TestDialFrom dials TCP from addresses and ports.
func TestDialFrom(t *testing.T) {
	bubble(t, link.Fault{}, func(t *testing.T, x, y *Stack) {
		if err := x.Configure(prefixes("10.0.0.1/24", "10.0.0.7/24"), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := y.Listen("tcp", ":80"); err != nil {
			t.Fatal(err)
		}
		dial := func(local net.Addr) (net.Conn, error) {
			return Dialer{Stack: x, LocalAddr: local}.DialContext(t.Context(), "tcp", "10.0.0.2:80")
		}
		for _, c := range []struct{ ip, want string }{
			{"10.0.0.7", "10.0.0.7:4000"}, {"", "10.0.0.1:4000"}, {"0.0.0.0", "10.0.0.1:4001"},
		} {
			port := int(netip.MustParseAddrPort(c.want).Port())
			conn, err := dial(&net.TCPAddr{IP: net.ParseIP(c.ip), Port: port})
			if err != nil || conn.LocalAddr().String() != c.want {
				t.Errorf("from %q: %v, %v, want %s", c.ip, conn, err, c.want)
			}
		}
		for _, c := range []struct {
			local net.Addr
			want  error
		}{
			{&net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 4000}, syscall.EADDRINUSE},
			{&net.TCPAddr{IP: net.IPv4(10, 0, 0, 8)}, syscall.EADDRNOTAVAIL},
			{&net.TCPAddr{IP: net.IPv6loopback}, syscall.EADDRNOTAVAIL},
		} {
			if conn, err := dial(c.local); !errors.Is(err, c.want) {
				t.Errorf("from %v: %v, %v, want %v", c.local, conn, err, c.want)
			}
		}
		var wrong *net.AddrError
		if _, err := dial(&net.UDPAddr{}); !errors.As(err, &wrong) {
			t.Errorf("from an address of UDP: %v", err)
		}
	})
}

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// TestInfoOfPackets sends datagrams with TTL, TOS and source address of their own, over IPv4 and
// IPv6, and reads how they have arrived.
func TestInfoOfPackets(t *testing.T) {
	bubble6(t, link.Fault{}, func(t *testing.T, x, y *Stack) {
		for _, c := range []struct{ from, to string }{
			{"10.0.0.1", "10.0.0.2:9"}, {"2001:db8::1", "[2001:db8::2]:9"},
		} {
			receiver, err := y.ListenPacket("udp", ":9")
			if err != nil {
				t.Fatal(err)
			}
			sender, err := x.ListenPacket("udp", ":0")
			if err != nil {
				t.Fatal(err)
			}
			src, to := netip.MustParseAddr(c.from), netip.MustParseAddrPort(c.to)
			if err := errors.Join(sender.SetTTL(9), sender.SetTOS(0x20)); err != nil {
				t.Fatal(err)
			}
			for _, w := range []struct{ send, want PacketInfo }{
				{PacketInfo{}, PacketInfo{Local: to.Addr(), TTL: 9, TOS: 0x20}},
				{PacketInfo{Local: src, TTL: 1, TOS: 0xba},
					PacketInfo{Local: to.Addr(), TTL: 1, TOS: 0xba}},
			} {
				if _, err := sender.WriteInfo([]byte("x"), to, w.send); err != nil {
					t.Fatal(err)
				}
				n, from, info, err := receiver.ReadInfo(make([]byte, 9))
				if n != 1 || from.Addr() != src || info != w.want || err != nil {
					t.Errorf("%d bytes from %v, %+v, %v, want %+v", n, from, info, err, w.want)
				}
			}
			for _, bad := range []netip.Addr{to.Addr(), netip.MustParseAddr("192.0.2.1")} {
				if _, err := sender.WriteInfo(nil, to, PacketInfo{Local: bad}); !errors.Is(err,
					syscall.EADDRNOTAVAIL) {
					t.Errorf("from the address %v of another: %v", bad, err)
				}
			}
			if err := errors.Join(receiver.Close(), sender.Close()); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestSocketBuffer: SetReadBuffer and Config.SocketBuffer bound what waits in a socket, and a
// socket that is empty takes any datagram.
func TestSocketBuffer(t *testing.T) {
	bubble(t, link.Fault{}, func(t *testing.T, x, y *Stack) {
		// few packets wait for a neighbour whose address is not known
		if _, err := x.Ping(t.Context(), netip.MustParseAddr("10.0.0.2"), 0); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ limit, sent, size, want int }{
			{0, 300, 10, socketLen}, {1 << 20, 900, 1000, 900}, {1000, 900, 36, 10},
			{1, 5, 1400, 1},
		} {
			p, err := y.ListenPacket("udp", ":7")
			if err != nil {
				t.Fatal(err)
			}
			if c.limit > 0 {
				if err := errors.Join(p.SetReadBuffer(c.limit), p.SetWriteBuffer(1)); err != nil {
					t.Fatal(err)
				}
			}
			sender, err := x.Dial("udp", "10.0.0.2:7")
			if err != nil {
				t.Fatal(err)
			}
			for range c.sent {
				if _, err := sender.Write(make([]byte, c.size)); err != nil {
					t.Fatal(err)
				}
			}
			if got := len(arrived(t, p)); got != c.want {
				t.Errorf("a buffer of %d bytes holds %d datagrams of %d, want %d", c.limit, got,
					c.size, c.want)
			}
			if err := errors.Join(p.Close(), sender.Close()); err != nil {
				t.Error(err)
			}
		}
		p, err := y.ListenPacket("udp", ":7")
		if err != nil {
			t.Fatal(err)
		}
		if err := p.SetReadBuffer(0); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("no buffer: %v", err)
		}
	})
}

// TestGroupsThatNobodyHasJoined: a socket for all addresses gets broadcasts, and datagrams to the
// group of all hosts, and none to a group that it has not joined.
func TestGroupsThatNobodyHasJoined(t *testing.T) {
	bubble(t, link.Fault{}, func(t *testing.T, x, y *Stack) {
		p, err := y.ListenPacket("udp4", ":9")
		if err != nil {
			t.Fatal(err)
		}
		sender, err := x.ListenPacket("udp4", ":0")
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range []string{"224.0.0.1", "239.1.2.3", "224.0.0.251", "10.0.0.255",
			"255.255.255.255"} {
			at := netip.AddrPortFrom(netip.MustParseAddr(to), 9)
			if _, err := sender.WriteToAddrPort([]byte(to), at); err != nil {
				t.Errorf("to %s: %v", to, err)
			}
		}
		want := []string{"224.0.0.1", "10.0.0.255", "255.255.255.255"}
		if got := arrived(t, p); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
