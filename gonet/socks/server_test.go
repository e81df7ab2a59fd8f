package socks

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
	"testing/synctest"
	"time"

	"interleave/gonet/relay"
)

// served bounds what must happen at all; nothing is expected to be fast.
const served = 5 * time.Minute

// startServer serves at 127.0.0.1 until the test ends, or until the function that it returns is
// called.
func startServer(t *testing.T, s *Server) (address string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(served):
			t.Error("Serve did not end with its context")
		}
	}
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

// dialServer connects to a server and sends bytes.
func dialServer(t *testing.T, address, said string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(served)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, said); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// reply is the encoded reply of a server without an address.
func reply(code Code) string {
	return "\x05" + string(rune(code)) + "\x00\x01\x00\x00\x00\x00\x00\x00"
}

// TestServerHandshake sends what clients say, right and wrong, to a server whose dials are refused.
func TestServerHandshake(t *testing.T) {
	const greeting, to = "\x05\x01\x00", "\x0a\x09\x00\x01\x1f\x90"
	const hello = "\x05\x00"
	login := relay.Login{User: "me", Password: "secret"}
	for _, c := range []struct {
		name         string
		login        relay.Login
		said, hears  string
		dialed, logs string
	}{
		{"an address", relay.Login{}, greeting + "\x05\x01\x00\x01" + to, hello + reply(Refused),
			"10.9.0.1:8080", "refused"},
		{"a name", relay.Login{}, "\x05\x02\x02\x00" + "\x05\x01\x00\x03\x09host.test\x00\x50",
			hello + reply(Refused), "host.test:80", "refused"},
		{"of IPv6", relay.Login{}, greeting + "\x05\x01\x00\x04\xfd" + strings.Repeat("\x00", 14) +
			"\x01\x00\x50", hello + reply(Refused), "[fd00::1]:80", "refused"},
		{"IPv4 as IPv6", relay.Login{}, greeting + "\x05\x01\x00\x04" +
			strings.Repeat("\x00", 10) + "\xff\xff" + to, hello + reply(Refused),
			"10.9.0.1:8080", "refused"},
		{"all methods", relay.Login{}, "\x05\xff" + strings.Repeat("\x01", 254) + "\x00" +
			"\x05\x01\x00\x01" + to, hello + reply(Refused), "10.9.0.1:8080", "refused"},
		{"version 4", relay.Login{}, "\x04\x01", "", "", "version 4"},
		{"HTTP", relay.Login{}, "GET / HTTP/1.1\r\n\r\n", "", "", "version 71"},
		{"only a password is offered", relay.Login{}, "\x05\x01\x02", "\x05\xff", "",
			"no method"},
		{"no password is offered", login, greeting, "\x05\xff", "", "no method"},
		{"the password", login, "\x05\x02\x00\x02" + "\x01\x02me\x06secret" +
			"\x05\x01\x00\x01" + to, "\x05\x02" + "\x01\x00" + reply(Refused),
			"10.9.0.1:8080", "refused"},
		{"a wrong password", login, "\x05\x01\x02" + "\x01\x02me\x06secreT" +
			"\x05\x01\x00\x01" + to, "\x05\x02" + "\x01\x01", "", "wrong user name or password"},
		{"a wrong user", login, "\x05\x01\x02" + "\x01\x00\x06secret", "\x05\x02" + "\x01\x01", "",
			"wrong user name or password"},
		{"BIND", relay.Login{}, greeting + "\x05\x02\x00\x01" + to,
			hello + reply(CommandNotSupported), "", "command 2"},
		{"BIND, and data behind it", relay.Login{}, greeting + "\x05\x02\x00\x01" + to +
			strings.Repeat("data", 5000), hello + reply(CommandNotSupported), "", "command 2"},
		{"UDP without a socket", relay.Login{}, greeting + "\x05\x03\x00\x01" + to,
			hello + reply(CommandNotSupported), "", "command 3"},
		{"no such command", relay.Login{}, greeting + "\x05\x09\x00\x01" + to,
			hello + reply(CommandNotSupported), "", "command 9"},
		{"no such type", relay.Login{}, greeting + "\x05\x01\x00\x02" + to,
			hello + reply(AddressNotSupported), "", "type 2"},
		{"an empty name", relay.Login{}, greeting + "\x05\x01\x00\x03\x00\x00\x50",
			hello + reply(GeneralFailure), "", "invalid name"},
		{"a name with a line", relay.Login{}, greeting + "\x05\x01\x00\x03\x03a\nb\x00\x50",
			hello + reply(GeneralFailure), "", "invalid name"},
		{"cut off", relay.Login{}, greeting + "\x05\x01\x00\x01\x0a", hello, "", "unexpected EOF"},
		{"nothing", relay.Login{}, "", "", "", "EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var dialed string
			logged := make(chan string, 10)
			address, stop := startServer(t, &Server{Login: c.login,
				Dial: func(_ context.Context, network, address string) (net.Conn, error) {
					dialed = address
					return nil, &net.OpError{Op: "dial", Net: network,
						Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
				},
				Log: func(format string, args ...any) { logged <- fmt.Sprintf(format, args...) }})
			client := dialServer(t, address, c.said)
			err := client.CloseWrite()
			heard, bad := io.ReadAll(client)
			// A server that has not read all of a wrong greeting resets the connection.
			if err = errors.Join(err, bad); err != nil && c.hears != "" {
				t.Error(err)
			}
			var log string
			select {
			case log = <-logged:
			case <-time.After(served):
				t.Error("nothing was logged")
			}
			stop()
			if string(heard) != c.hears || dialed != c.dialed {
				t.Errorf("heard %q and dialed %q, want %q and %q", heard, dialed, c.hears, c.dialed)
			}
			if !strings.Contains(log, c.logs) {
				t.Errorf("logged %q, want %q", log, c.logs)
			}
			if strings.Contains(strings.ToLower(log), "secret") {
				t.Errorf("logged %q, with the password", log)
			}
		})
	}
}

// FuzzServer holds that whatever a client says ends in a request that can be dialed, or in an
// error.
func FuzzServer(f *testing.F) {
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x01\x0a\x09\x00\x01\x1f\x90"), false)
	f.Add([]byte("\x05\xff"+strings.Repeat("\x00", 255)+"\x05\x01\x00\x03\x01a\x00\x50"), false)
	f.Add([]byte("\x05\x01\x02\x01\x01u\x01p\x05\x01\x00\x04"+strings.Repeat("\xff", 18)), true)
	f.Fuzz(func(t *testing.T, b []byte, login bool) {
		s := &Server{}
		if login {
			s.Login = relay.Login{User: "u", Password: "p"}
		}
		c := &scriptedConn{Reader: bytes.NewReader(b)}
		request, err := s.handshake(c)
		if err != nil {
			return
		}
		if _, _, err := net.SplitHostPort(request.Address.String()); err != nil {
			t.Errorf("the address %q: %v", request.Address, err)
		}
		if want := "\x05\x00"; !login && c.heard.String() != want {
			t.Errorf("%q was said, want %q", &c.heard, want)
		}
		if want := "\x05\x02\x01\x00"; login && c.heard.String() != want {
			t.Errorf("%q was said, want %q", &c.heard, want)
		}
	})
}

// scriptedConn is a connection whose input is fixed; it records what is written.
type scriptedConn struct {
	net.Conn // its other methods are not called
	io.Reader
	heard bytes.Buffer
}

func (c *scriptedConn) Read(p []byte) (int, error)    { return c.Reader.Read(p) }
func (c *scriptedConn) Write(p []byte) (int, error)   { return c.heard.Write(p) }
func (c *scriptedConn) SetDeadline(_ time.Time) error { return nil }

func TestDialErrorsHaveCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Code
	}{
		{&net.OpError{Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, Refused},
		{&net.OpError{Err: syscall.ENETUNREACH}, NetworkUnreachable},
		{&net.OpError{Err: syscall.EHOSTUNREACH}, HostUnreachable},
		{&net.OpError{Err: os.NewSyscallError("connect", syscall.ETIMEDOUT)}, TTLExpired},
		{fmt.Errorf("dial: %w", &net.DNSError{IsNotFound: true}), HostUnreachable},
		{fmt.Errorf("dial: %w", &net.DNSError{IsTimeout: true}), HostUnreachable},
		{&net.OpError{Err: os.ErrDeadlineExceeded}, TTLExpired},
		{fmt.Errorf("upstream: %w", NotAllowed), NotAllowed},
		{errors.New("else"), GeneralFailure},
	} {
		if got := codeOf(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}

// echoServer echoes what its clients send, at 127.0.0.1.
func echoServer(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c) // until the client closes its direction
			}()
		}
	}()
	return netip.MustParseAddrPort(l.Addr().String())
}

// kernelDial dials by the kernel.
func kernelDial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}

// ask sends a greeting and a request without waiting for replies.
func ask(t *testing.T, server string, command Command, to Address) *net.TCPConn {
	t.Helper()
	b, err := Request{command, to}.Append(AppendGreeting(nil, MethodNone))
	if err != nil {
		t.Fatal(err)
	}
	return dialServer(t, server, string(b))
}

// hear reads the replies to ask.
func hear(t *testing.T, c net.Conn) Reply {
	t.Helper()
	if m, err := ReadMethod(c); err != nil || m != MethodNone {
		t.Fatalf("method %d, %v", m, err)
	}
	p, err := ReadReply(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestServerBoundsItsClients has more clients than the server serves at once: the last is served
// when another has ended. All end with the server.
func TestServerBoundsItsClients(t *testing.T) {
	far := AddressOf(echoServer(t))
	const slots = 2
	server, stop := startServer(t, &Server{Dial: kernelDial, MaxClients: slots})
	var clients []*net.TCPConn
	for range slots {
		c := ask(t, server, Connect, far)
		if p := hear(t, c); p.Code != Succeeded || p.Address.IP != far.IP {
			t.Fatalf("%+v", p)
		}
		clients = append(clients, c)
	}
	last := ask(t, server, Connect, far)
	if m, err := ReadMethod(last); err != nil || m != MethodNone {
		t.Fatalf("method %d, %v", m, err)
	}
	if err := last.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if p, err := ReadReply(last); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a client for whom there is no place heard %+v, %v", p, err)
	}
	if err := last.SetReadDeadline(time.Now().Add(served)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(clients[0], "ping"); err != nil {
		t.Fatal(err)
	}
	if err := clients[0].CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(clients[0]); err != nil || string(got) != "ping" {
		t.Errorf("%q, %v", got, err)
	}
	if p, err := ReadReply(last); err != nil || p.Code != Succeeded {
		t.Errorf("when a place was free: %+v, %v", p, err)
	}
	stop()
	for _, c := range []net.Conn{clients[1], last} {
		if n, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("%d bytes after the server's end", n)
		}
	}
}

// TestSilentClientsKeepNobodyOut has as many clients without a request as the server keeps: the
// oldest is closed, and a client with a request is served.
func TestSilentClientsKeepNobodyOut(t *testing.T) {
	far := AddressOf(echoServer(t))
	server, _ := startServer(t, &Server{Dial: kernelDial, MaxClients: 1})
	var silent []net.Conn
	for range maxPending {
		c := dialServer(t, server, string(AppendGreeting(nil, MethodNone)))
		if m, err := ReadMethod(c); err != nil || m != MethodNone {
			t.Fatalf("method %d, %v", m, err)
		}
		silent = append(silent, c)
	}
	for range 3 {
		c := ask(t, server, Connect, far)
		if p := hear(t, c); p.Code != Succeeded {
			t.Fatalf("%+v", p)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := silent[0].Read(make([]byte, 1)); err == nil ||
		errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the oldest silent client: %v", err)
	}
}

// datagrams opens a UDP socket of 127.0.0.1.
func datagrams(t *testing.T) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(served)); err != nil {
		t.Fatal(err)
	}
	return c
}

// udpServer is a server with UDP ASSOCIATE, which knows the name far.test.
func udpServer(t *testing.T) string {
	t.Helper()
	server, _ := startServer(t, &Server{Dial: kernelDial,
		ListenPacket: func() (net.PacketConn, error) {
			return net.ListenPacket("udp4", "127.0.0.1:0")
		},
		Lookup: func(_ context.Context, name string) (netip.Addr, error) {
			if name != "far.test" {
				return netip.Addr{}, &net.DNSError{Name: name, IsNotFound: true}
			}
			return netip.MustParseAddr("127.0.0.1"), nil
		}})
	return server
}

// sendTo sends a datagram by way of a server's socket.
func sendTo(t *testing.T, from *net.UDPConn, by netip.AddrPort, to Address, data string) {
	t.Helper()
	b, err := AppendDatagram(nil, to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := from.WriteToUDPAddrPort(append(b, data...), by); err != nil {
		t.Fatal(err)
	}
}

// TestServerUDP sends datagrams to an address and to a name, and gets answers. What another socket
// sends is dropped. The association ends with the client's connection.
func TestServerUDP(t *testing.T) {
	server := udpServer(t)
	far, client, other := datagrams(t), datagrams(t), datagrams(t)
	farAddr := far.LocalAddr().(*net.UDPAddr).AddrPort()
	control := ask(t, server, Associate, Address{IP: netip.IPv4Unspecified()})
	p := hear(t, control)
	if p.Code != Succeeded || p.Address.IP != netip.MustParseAddr("127.0.0.1") {
		t.Fatalf("%+v", p)
	}
	by := p.Address.AddrPort()
	b := make([]byte, 2000)
	for i, to := range []Address{AddressOf(farAddr), {Name: "far.test", Port: farAddr.Port()},
		{Name: "far.test", Port: farAddr.Port()}} {
		said := fmt.Sprintf("datagram %d", i)
		sendTo(t, client, by, to, said)
		n, from, err := far.ReadFromUDPAddrPort(b)
		if err != nil || string(b[:n]) != said {
			t.Fatalf("%q, %v, want %q", b[:n], err, said)
		}
		// None of these is passed on: each is of another socket, a fragment, cut off, or of a name
		// that nobody has. The next datagram that the far side reads is the next one of the loop.
		sendTo(t, other, by, to, "of another user")
		for _, wrong := range []string{"", "\x00\x00", "\x00\x00\x01\x01\x7f\x00\x00\x01\x00\x07x",
			"\x00\x00\x00\x01\x7f", "\x00\x00\x00\x03\x09none.test\x00\x07x"} {
			if _, err := client.WriteToUDPAddrPort([]byte(wrong), by); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := far.WriteToUDPAddrPort([]byte("answer to "+said), from); err != nil {
			t.Fatal(err)
		}
		if n, _, err = client.ReadFromUDPAddrPort(b); err != nil {
			t.Fatal(err)
		}
		source, data, err := ParseDatagram(b[:n])
		if err != nil || source != AddressOf(farAddr) || string(data) != "answer to "+said {
			t.Errorf("%q from %v, %v", data, source, err)
		}
	}
	if err := control.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if n, err := control.Read(b); err != io.EOF {
		t.Errorf("%d bytes, %v at the end", n, err)
	}
	// The server's socket is closed now: its port is free again.
	again, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(by))
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}

// TestServerUDPFromAPort has a client that says from which port it will send: nobody who sends
// first can take its place.
func TestServerUDPFromAPort(t *testing.T) {
	server := udpServer(t)
	far, client, other := datagrams(t), datagrams(t), datagrams(t)
	to := AddressOf(far.LocalAddr().(*net.UDPAddr).AddrPort())
	p := hear(t, ask(t, server, Associate,
		AddressOf(client.LocalAddr().(*net.UDPAddr).AddrPort())))
	by := p.Address.AddrPort()
	sendTo(t, other, by, to, "of another user")
	sendTo(t, client, by, to, "of the client")
	b := make([]byte, 2000)
	if n, _, err := far.ReadFromUDPAddrPort(b); err != nil || string(b[:n]) != "of the client" {
		t.Errorf("%q, %v", b[:n], err)
	}
}

// TestBusyServerRefuses has a client for whom no place becomes free. Its time is fake.
func TestBusyServerRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &service{Server: &Server{}, slots: make(chan struct{})}
		near, far := net.Pipe()
		ended := make(chan error, 1)
		go func() {
			_, err := v.admit(t.Context(), far)
			ended <- err
		}()
		b, err := Request{Connect, Address{Name: "far.test", Port: 80}}.Append(
			AppendGreeting(nil, MethodNone))
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = near.Write(b) }() // a pipe has no buffer
		began := time.Now()
		if m, err := ReadMethod(near); err != nil || m != MethodNone {
			t.Fatalf("method %d, %v", m, err)
		}
		p, err := ReadReply(near)
		if err != nil || p.Code != GeneralFailure || time.Since(began) < slotTime {
			t.Errorf("%+v, %v after %v", p, err, time.Since(began))
		}
		if err := <-ended; !errors.Is(err, errBusy) {
			t.Errorf("%v, want %v", err, errBusy)
		}
		_ = near.Close()
	})
}
