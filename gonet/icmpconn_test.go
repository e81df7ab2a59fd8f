package gonet

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// TestICMPConn pings from an endpoint, over IPv4 and IPv6, and reads the echo requests at the other
// host, which still answers them.
func TestICMPConn(t *testing.T) {
	bubble6(t, link.Fault{}, func(t *testing.T, x, y *Stack) {
		for _, c := range []struct {
			network, from, to string
			request, reply    uint8
		}{
			{"ip4:icmp", "10.0.0.1", "10.0.0.2", wire.ICMPEcho, wire.ICMPEchoReply},
			{"ip6:ipv6-icmp", "2001:db8::1", "2001:db8::2", wire.ICMPv6Echo,
				wire.ICMPv6EchoReply},
		} {
			near, err := x.ListenICMP(c.network, "")
			if err != nil {
				t.Fatal(err)
			}
			far, err := y.ListenICMP(c.network, c.to)
			if err != nil {
				t.Fatal(err)
			}
			message := make([]byte, wire.ICMPLen+3)
			m := wire.Echo(c.request, 7, 9)
			m.Put(message)
			copy(message[wire.ICMPLen:], "abc")
			to := &net.IPAddr{IP: net.ParseIP(c.to)}
			if n, err := near.WriteTo(message, to); n != len(message) || err != nil {
				t.Fatal(n, err)
			}
			for _, end := range []struct {
				c    *ICMPConn
				from string
				kind uint8
			}{{far, c.from, c.request}, {near, c.to, c.reply}} {
				b := make([]byte, 100)
				n, from, info, err := end.c.ReadInfo(b)
				if err != nil || from.String() != end.from || b[0] != end.kind ||
					!bytes.Equal(b[4:n], message[4:]) || info.TTL != 64 {
					t.Errorf("%s: %x from %v, %+v, %v", c.network, b[:n], from, info, err)
				}
			}
			_ = near.SetReadDeadline(time.Now().Add(time.Second)) // never fails
			if n, from, err := near.ReadFrom(message); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("one message more: %d from %v, %v", n, from, err)
			}
			if err := errors.Join(near.Close(), far.Close()); err != nil {
				t.Error(err)
			}
			if _, err := near.WriteTo(message, to); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a write after Close: %v", err)
			}
		}
	})
}

func TestICMPConnErrors(t *testing.T) {
	bubble6(t, link.Fault{}, func(t *testing.T, x, _ *Stack) {
		for _, c := range []struct{ network, address string }{
			{"ip4:tcp", ""}, {"ip4", ""}, {"ip4:icmp", "10.0.0.9"}, {"ip4:icmp", "::1"},
			{"ip6:58", "host"}, {"udp", ""},
		} {
			if conn, err := x.ListenICMP(c.network, c.address); err == nil {
				t.Errorf("%s at %q: %v", c.network, c.address, conn.LocalAddr())
			}
		}
		c, err := x.ListenICMP("ip4:1", "10.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
		for _, w := range []struct {
			size int
			to   netip.Addr
			info PacketInfo
			want error
		}{
			{7, theirs, PacketInfo{}, syscall.EINVAL},
			{70_000, theirs, PacketInfo{}, syscall.EMSGSIZE},
			{8, addrY, PacketInfo{}, syscall.EADDRNOTAVAIL},
			{8, netip.Addr{}, PacketInfo{}, syscall.EADDRNOTAVAIL},
			{8, theirs, PacketInfo{Local: theirs}, syscall.EADDRNOTAVAIL},
			{8, theirs, PacketInfo{Local: ours}, nil},
		} {
			if _, err := c.WriteInfo(make([]byte, w.size), w.to, w.info); !errors.Is(err, w.want) {
				t.Errorf("%d bytes to %v: %v, want %v", w.size, w.to, err, w.want)
			}
		}
		if err := c.SetReadBuffer(-1); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("a buffer of -1: %v", err)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		if _, _, err := c.ReadFrom(nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after the end of the stack: %v", err)
		}
	})
}
