package gonet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/tcp"
)

// TestErrorsNameTheirNetwork: the address in an error has the type that package net gives it, and
// there is none if the address could not be read.
func TestErrorsNameTheirNetwork(t *testing.T) {
	bubble(t, link.Fault{}, func(t *testing.T, x, _ *Stack) {
		for _, c := range []struct{ network, address, want string }{
			{"tcp", "10.0.0.2:81", "*net.TCPAddr 10.0.0.2:81"},
			{"udp", "192.168.0.1:81", "*net.UDPAddr 192.168.0.1:81"},
			{"udp4", "nonsense", "<nil> <nil>"},
		} {
			_, err := x.Dial(c.network, c.address)
			var op *net.OpError
			if !errors.As(err, &op) || fmt.Sprintf("%T %v", op.Addr, op.Addr) != c.want {
				t.Errorf("%s %s: %v, want %s", c.network, c.address, err, c.want)
			}
		}
	})
}

// TestNamesThatNeedNoServer: "localhost" is the stack itself, and ports may have the names of
// services.
func TestNamesThatNeedNoServer(t *testing.T) {
	bubble(t, link.Fault{}, func(t *testing.T, x, y *Stack) {
		for _, c := range []struct{ listen, dial, want string }{
			{"localhost:80", "localhost:http", "127.0.0.1:80"},
			{"[::1]:81", "[::1]:81", "[::1]:81"},
			{":https", "10.0.0.1:https", "10.0.0.1:443"},
			{":82", "db.LocalHost.:82", "127.0.0.1:82"},
		} {
			l, err := x.Listen("tcp", c.listen)
			if err != nil {
				t.Errorf("%s: %v", c.listen, err)
				continue
			}
			conn, err := Dialer{Stack: x, Resolver: y.Resolver()}.DialContext(t.Context(), "tcp",
				c.dial)
			if err != nil || conn.RemoteAddr().String() != c.want {
				t.Errorf("%s: %v, %v, want %s", c.dial, conn, err, c.want)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		if c, err := x.Dial("tcp6", "localhost:83"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("over IPv6: %v, %v", c, err)
		}
		for _, address := range []string{"10.0.0.2:no-such-service", "10.0.0.2:-1", "local:80"} {
			if c, err := x.Dial("tcp", address); err == nil {
				t.Errorf("%s: %v", address, c)
			}
		}
	})
}

// TestKeepAliveIsOn: as with package net, a connection to a host that has gone ends after nine
// probes, 15 s apart, unless the configuration says otherwise.
func TestKeepAliveIsOn(t *testing.T) {
	for _, c := range []struct {
		set  time.Duration
		want time.Duration // 0: the connection lives on
	}{{0, 150 * time.Second}, {time.Minute, 60*time.Second + 9*75*time.Second}, {-1, 0}} {
		synctest.Test(t, func(t *testing.T) {
			hub := link.NewHub()
			x, err := New(Config{Link: hub.Port(), TCP: tcp.Config{KeepAlive: c.set},
				Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = x.Abort() }()
			port := hub.Port()
			conn, _ := connected(t, x, host(t, port, "10.0.0.2/24"), "10.0.0.2")
			if err := port.Close(); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			if err := conn.SetReadDeadline(begun.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			_, err = conn.Read(make([]byte, 1))
			if c.want == 0 {
				if !errors.Is(err, errDeadline) {
					t.Errorf("without keep-alive: %v", err)
				}
				return
			}
			if d := time.Since(begun); !errors.Is(err, syscall.EHOSTUNREACH) &&
				!errors.Is(err, syscall.ETIMEDOUT) || d > c.want+time.Second ||
				d < c.want-time.Second {
				t.Errorf("keep-alive of %v: %v after %v, want the end after %v", c.set, err, d,
					c.want)
			}
		})
	}
}
