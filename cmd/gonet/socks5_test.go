package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// testTimeout bounds what must happen at all; nothing is expected to be fast.
const testTimeout = 5 * time.Minute

// scriptedClient is a client whose input is fixed; it records the replies.
type scriptedClient struct {
	io.Reader
	bytes.Buffer
}

func (t *scriptedClient) Read(p []byte) (int, error) { return t.Reader.Read(p) }

func TestAsk(t *testing.T) {
	for _, c := range []struct {
		name, said, to, hears string
		code                  byte
		err                   string
	}{
		{"an address", "\x05\x01\x00" + "\x05\x01\x00\x01\x0a\x09\x00\x01\x1f\x90", "10.9.0.1:8080",
			"\x05\x00", succeeded, ""},
		{"a name", "\x05\x02\x02\x00" + "\x05\x01\x00\x03\x09host.test\x00\x50", "host.test:80",
			"\x05\x00", succeeded, ""},
		{"of IPv6", "\x05\x01\x00" + "\x05\x01\x00\x04\xfd" + strings.Repeat("\x00", 14) +
			"\x01\x00\x50", "[fd00::1]:80", "\x05\x00", succeeded, ""},
		{"IPv4 as IPv6", "\x05\x01\x00" + "\x05\x01\x00\x04" + strings.Repeat("\x00", 10) +
			"\xff\xff\x0a\x09\x00\x01\x00\x50", "10.9.0.1:80", "\x05\x00", succeeded, ""},
		{"all methods", "\x05\xff" + strings.Repeat("\x01", 254) + "\x00" +
			"\x05\x01\x00\x01\x0a\x09\x00\x01\x1f\x90", "10.9.0.1:8080", "\x05\x00", succeeded, ""},
		{"version 4", "\x04\x01", "", "", 0, "version 4"},
		{"a password wanted", "\x05\x01\x02", "", "\x05\xff", 0, "authentication"},
		{"bind", "\x05\x01\x00" + "\x05\x02\x00\x01\x0a\x09\x00\x01\x1f\x90", "", "\x05\x00",
			notSupported, "command 2"},
		{"no such kind", "\x05\x01\x00" + "\x05\x01\x00\x02", "", "\x05\x00", kindNotSupported,
			"type 2"},
		{"no name", "\x05\x01\x00" + "\x05\x01\x00\x03\x00\x00\x50", "", "\x05\x00", generalFailure,
			"empty name"},
		{"a name with a line", "\x05\x01\x00" + "\x05\x01\x00\x03\x03a\nb\x00\x50", "", "\x05\x00",
			generalFailure, "invalid name"},
		{"cut", "\x05\x01\x00" + "\x05\x01\x00\x01\x0a", "", "\x05\x00", 0, "unexpected EOF"},
		{"nothing", "", "", "", 0, "EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := &scriptedClient{Reader: strings.NewReader(c.said)}
			to, code, err := negotiate(client)
			if to != c.to || code != c.code || client.String() != c.hears {
				t.Errorf("got %q, %d, and %q was said; want %q, %d, %q", to, code, client.String(),
					c.to, c.code, c.hears)
			}
			if (err == nil) != (c.err == "") ||
				err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

// FuzzAsk holds that every input of a client ends in an address that can be dialed, or in an error.
func FuzzAsk(f *testing.F) {
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x01\x0a\x09\x00\x01\x1f\x90"))
	f.Add([]byte("\x05\xff" + strings.Repeat("\x00", 255) + "\x05\x01\x00\x03\x01a\x00\x50"))
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x04" + strings.Repeat("\xff", 18)))
	f.Fuzz(func(t *testing.T, b []byte) {
		to, code, err := negotiate(&scriptedClient{Reader: bytes.NewReader(b)})
		if err != nil {
			const longest = 2 + 255 + 4 + 1 + 255 + 2
			if cut := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF); to != "" ||
				cut && len(b) >= longest {
				t.Fatalf("%q, %d beside %v, of %d bytes", to, code, err, len(b))
			}
			return
		}
		if _, _, err := net.SplitHostPort(to); err != nil || code != succeeded {
			t.Fatalf("%q, %d: %v", to, code, err)
		}
	})
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		err  error
		want byte
	}{
		{&net.OpError{Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, refused},
		{&net.OpError{Err: syscall.ENETUNREACH}, networkUnreachable},
		{fmt.Errorf("dial: %w", &net.DNSError{IsNotFound: true}), hostUnreachable},
		{&net.OpError{Err: os.ErrDeadlineExceeded}, ttlExpired},
		{errors.New("else"), generalFailure},
	} {
		if got := codeOf(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
	if got, want := answer(succeeded,
		netip.MustParseAddrPort("[fd00::1]:80")), "\x05\x00\x00\x04\xfd"+strings.Repeat("\x00", 14)+
		"\x01\x00\x50"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := answer(refused,
		netip.AddrPort{}), "\x05\x05\x00\x01\x00\x00\x00\x00\x00\x00"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestProxyBoundsItsClients has more clients than the proxy serves at once: the last is served when
// another has ended.
func TestProxyBoundsItsClients(t *testing.T) {
	far, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = far.Close() }()
	go func() {
		for {
			c, err := far.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	p := &proxy{dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, address)
	}}
	const slots = 2
	go func() { ended <- p.serve(ctx, l, slots) }()
	begin := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		to := netip.MustParseAddrPort(far.Addr().String())
		said := append(append([]byte("\x05\x01\x00\x05\x01\x00\x01"), to.Addr().AsSlice()...),
			byte(to.Port()>>8), byte(to.Port()))
		if _, err := c.Write(said); err != nil {
			t.Fatal(err)
		}
		return c
	}
	readReply := func(c net.Conn, within time.Duration) error {
		if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
			t.Fatal(err)
		}
		_, err := io.ReadFull(c, make([]byte, 12))
		return err
	}
	var clients []net.Conn
	for range slots {
		c := begin()
		if err := readReply(c, testTimeout); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	last := begin()
	if err := readReply(last, 100*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a client for whom there is no place heard %v", err)
	}
	if _, err := clients[0].Write([]byte("ping")); err != nil {
		t.Fatal(err)
	}
	if err := clients[0].(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(clients[0]); err != nil || string(got) != "ping" {
		t.Errorf("%q, %v", got, err)
	}
	if err := readReply(last, testTimeout); err != nil {
		t.Errorf("when a place was free: %v", err)
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(testTimeout):
		t.Error("it did not end with its context, though clients were connected")
	}
	for _, c := range append(clients, last) {
		_ = c.Close()
	}
}
