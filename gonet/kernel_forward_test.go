//go:build linux

package gonet

import (
	"bytes"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"interleave/gonet/link"
)

// TestForwardTheKernel has the kernel of a namespace send all to two networks through the stack,
// over a tap and over a tun: connections, refusals, datagrams and pings.
func TestForwardTheKernel(t *testing.T) {
	for name, open := range map[string]func(string) (*link.Tap, error){"tap": link.OpenTap,
		"tun": link.OpenTun} {
		t.Run(name, func(t *testing.T) {
			requireNamespace(t)
			device, err := open("gn%d")
			skipWithoutTun(t, err)
			s := kernelWith(t, device, Config{Promiscuous: anywhere,
				Forward: ForwardConfig{AnswerEcho: true}})
			run(t, "ip", "route", "add", "198.51.100.0/24", "via", "10.9.0.2")
			run(t, "ip", "route", "add", "2001:db8:9::/64", "via", "2001:db8::2")
			forwardTCP(t, s, func(r *TCPRequest) {
				switch r.Destination().Port() {
				case 1:
					r.Refuse()
				case 2:
					r.Unreachable(UnreachableHost)
				case 3:
					r.Unreachable(UnreachableNet)
				default:
					c, err := r.Accept()
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = io.Copy(c, c) // the client checks
					_ = c.Close()
				}
			})
			forwardUDP(t, s, echoFlow)
			for _, host := range []string{"198.51.100.7", "2001:db8:9::7"} {
				forwardsTheKernel(t, host)
			}
		})
	}
}

// forwardsTheKernel tries all to one foreign address.
func forwardsTheKernel(t *testing.T, host string) {
	t.Helper()
	for port, want := range map[string]error{"1": syscall.ECONNREFUSED, "2": syscall.EHOSTUNREACH,
		"3": syscall.ENETUNREACH} {
		if _, err := net.DialTimeout("tcp", net.JoinHostPort(host, port),
			testTimeout); !errors.Is(err, want) {
			t.Errorf("port %s: %v, want %v", port, err, want)
		}
	}
	c, err := net.DialTimeout("tcp", net.JoinHostPort(host, "80"), testTimeout)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.RemoteAddr().String(); got != net.JoinHostPort(host, "80") {
		t.Errorf("connected to %s", got)
	}
	size := fewer(10<<20, 5)
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(onlyWriter{c}, newStream(1, size))
		sent <- errors.Join(err, c.(*net.TCPConn).CloseWrite())
	}()
	got, err := digest(c)
	want, _ := digest(newStream(1, size)) // a stream has no errors
	if err := errors.Join(err, <-sent); err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	u, err := net.Dial("udp", net.JoinHostPort(host, "53"))
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	if err := u.SetDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 65536)
	for _, n := range []int{0, 1, 1472, 20_000} {
		text := bytes.Repeat([]byte{byte(n)}, n)
		if _, err := u.Write(text); err != nil {
			t.Fatal(err)
		}
		if m, err := u.Read(b); err != nil || !bytes.Equal(b[:m], text) {
			t.Errorf("%d bytes of %d, %v", m, n, err)
		}
	}
	for _, n := range []string{"56", "5000"} {
		run(t, "ping", "-c", "3", "-i", "0.01", "-w", within, "-s", n, host)
	}
}
