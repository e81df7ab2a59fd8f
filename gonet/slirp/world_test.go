package slirp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet"
	"interleave/gonet/link"
)

// stackHost is a host whose network is a stack.
type stackHost struct {
	*gonet.Stack
	noPing bool
}

func (h stackHost) Ping(ctx context.Context, to netip.Addr, _ uint16, data []byte) error {
	if h.noPing {
		return ErrNoPing
	}
	_, err := h.Stack.Ping(ctx, to, len(data))
	return err
}

func (h stackHost) DialFlow(ctx context.Context, port uint16, address string) (net.Conn, error) {
	d := gonet.Dialer{Stack: h.Stack, LocalAddr: &net.UDPAddr{Port: int(port)}}
	return d.DialContext(ctx, "udp", address)
}

func (h stackHost) Listen(network, address string) (net.Listener, error) {
	l, err := h.Stack.Listen(network, address)
	if err != nil {
		return nil, err // not a nil *gonet.Listener
	}
	return l, nil
}

func (h stackHost) ListenPacket(network, address string) (net.PacketConn, error) {
	p, err := h.Stack.ListenPacket(network, address)
	if err != nil {
		return nil, err // not a nil *gonet.PacketConn
	}
	return p, nil
}

// world is a guest behind a Slirp, whose host is in a network with a server.
type world struct {
	t      *testing.T
	wire   link.Link // the guest's end of its Ethernet
	guest  *gonet.Stack
	slirp  *Slirp
	host   *gonet.Stack
	server *gonet.Stack
	served chan error // the result of Serve
	stop   context.CancelFunc

	mu   sync.Mutex
	said []string // the log
}

// The addresses of the host and the server.
const (
	hostAddr    = "198.51.100.1"
	serverAddr  = "198.51.100.7"
	hostAddr6   = "2001:db8:9::1"
	serverAddr6 = "2001:db8:9::7"
)

func newStack(t *testing.T, l link.Link, change func(*gonet.Config),
	addresses ...string) *gonet.Stack {
	t.Helper()
	c := gonet.Config{Link: l, NoAutoconf: true, NoDAD: true}
	for _, a := range addresses {
		c.Addresses = append(c.Addresses, netip.MustParsePrefix(a))
	}
	if change != nil {
		change(&c)
	}
	s, err := gonet.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // some tests close it
	return s
}

// defaultNetwork is 10.0.2.0/24.
func defaultNetwork(t testing.TB, ipv6 bool) Network {
	t.Helper()
	n, err := NewNetwork(netip.MustParsePrefix("10.0.2.0/24"), ipv6)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// newWorld makes a world without a guest. It runs in a bubble of synctest, and ends with it.
func newWorld(t *testing.T, ipv6 bool, change ...func(*Config)) *world {
	t.Helper()
	w := &world{t: t, served: make(chan error, 1)}
	near, far := link.Pair()
	w.host = newStack(t, near, nil, hostAddr+"/24", hostAddr6+"/64")
	w.server = newStack(t, far, nil, serverAddr+"/24", serverAddr6+"/64")
	guest, gateway := link.Pair()
	w.wire = guest
	cfg := Config{Link: gateway, Network: defaultNetwork(t, ipv6), Host: stackHost{Stack: w.host},
		Log: w.log}
	for _, f := range change {
		f(&cfg)
	}
	var err error
	if w.slirp, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.stop = cancel
	go func() { w.served <- w.slirp.Serve(ctx) }()
	synctest.Wait()
	return w
}

// inWorld runs f in fake time, with a guest that has the usual addresses.
func inWorld(t *testing.T, f func(t *testing.T, w *world), change ...func(*Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, true, change...)
		n := &w.slirp.cfg.Network
		w.guest = newStack(t, w.wire, func(c *gonet.Config) {
			c.Gateways = []netip.Addr{n.Gateway, n.Gateway6}
		}, "10.0.2.100/24", "fd00::100/64")
		f(t, w)
		w.end()
	})
}

// end ends the Slirp, and checks that nothing of it is left.
func (w *world) end() {
	w.t.Helper()
	w.stop()
	if err := <-w.served; err != nil {
		w.t.Error(err)
	}
	if n := len(w.slirp.forwards.list()); n != 0 {
		w.t.Errorf("%d forwards are left", n)
	}
	if n := w.dialed(); n != 0 || len(w.slirp.mappings.all) != 0 {
		w.t.Errorf("%d sockets of the host and %d mappings are left", n,
			len(w.slirp.mappings.all))
	}
}

// dialed returns how many sockets of UDP the host has at ports that it has not listened at.
func (w *world) dialed() (n int) {
	w.t.Helper()
	s, err := w.host.Snapshot()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, a := range s.Sockets {
		if a.Port() >= 32768 { // the first ephemeral port
			n++
		}
	}
	return n
}

func (w *world) log(format string, args ...any) {
	w.t.Logf(format, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, format)
}

// stats returns the counters, when all that is under way has come to rest and is counted.
func (w *world) stats() Stats {
	synctest.Wait()
	return w.slirp.Stats()
}

// times returns how often a line of the log had a format.
func (w *world) times(format string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.said {
		if s == format {
			n++
		}
	}
	return n
}

// serveEcho has a stack send back what comes at an address, by TCP and UDP.
func serveEcho(t *testing.T, s *gonet.Stack, address string) {
	t.Helper()
	l, err := s.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.ListenPacket("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c) // the client compares
			}()
		}
	}()
	go func() {
		b := make([]byte, maxDatagram)
		for {
			n, from, err := p.ReadFromAddrPort(b)
			if err != nil {
				return
			}
			_, _ = p.WriteToAddrPort(b[:n], from) // the client compares
		}
	}()
}

// dial connects a stack with an address.
func dial(t *testing.T, s *gonet.Stack, network, to string) net.Conn {
	t.Helper()
	c, err := s.Dial(network, to)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// expectEcho sends a text, and expects it back.
func expectEcho(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, len(text)+1)
	if n, err := io.ReadAtLeast(c, b, len(text)); err != nil || string(b[:n]) != text {
		t.Errorf("%v: %q, %v, want %q", c.RemoteAddr(), b[:n], err, text)
	}
}

// expectError connects, and expects an error.
func expectError(t *testing.T, s *gonet.Stack, to string, want error) {
	t.Helper()
	c, err := s.Dial("tcp", to)
	if err == nil {
		_ = c.Close() // the test has failed
	}
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", to, err, want)
	}
}

// expectReset connects to where connections are reset. As with connect(2), the reset is an error of
// the dial if it has come before the dialer has run again.
func expectReset(t *testing.T, s *gonet.Stack, to string) {
	t.Helper()
	c, err := s.Dial("tcp", to)
	if err == nil {
		_, err = c.Read(make([]byte, 1))
		_ = c.Close() // it has ended
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%s: %v, want a reset", to, err)
	}
}

// expectRefusedDatagram sends a datagram, and expects an ICMP error.
func expectRefusedDatagram(t *testing.T, s *gonet.Stack, to string) {
	t.Helper()
	time.Sleep(errorInterval) // no stack sends two at once
	c := dial(t, s, "udp", to)
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	var timeout net.Error
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.As(err, &timeout) &&
		timeout.Timeout() {
		t.Errorf("%s: %v, want an ICMP error", to, err)
	}
}
