package tun2socks

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"interleave/gonet"
	"interleave/gonet/link"
	"interleave/gonet/relay"
	"interleave/gonet/socks"
)

// world is a guest behind a proxy, and the proxy's server in another network.
type world struct {
	t            *testing.T
	guest        *gonet.Stack
	proxy        *Proxy
	served       chan error // the result of Serve
	stop         context.CancelFunc
	server       *gonet.Stack
	associations atomic.Int32
	mu           sync.Mutex
	controls     []net.Conn // of associations
	asked        []string   // the destinations of CONNECT
	ends         []error    // of connections, as the server has seen them
}

// The ports whose connections the server refuses, the one that it forgets, and the one at which it
// resets in the middle of its answer.
var refusals = map[uint16]socks.Code{1: socks.Refused, 2: socks.HostUnreachable,
	3: socks.NotAllowed, 4: socks.NetworkUnreachable, 5: socks.GeneralFailure}

const (
	silent   = 6
	resetsAt = 7
)

// testFlows bounds the flows in these tests.
const testFlows = 40

func newStack(t *testing.T, l link.Link, change func(*gonet.Config),
	addresses ...string) *gonet.Stack {
	t.Helper()
	c := gonet.Config{Link: l, NoAutoconf: true}
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

// inWorld runs f in fake time.
func inWorld(t *testing.T, cfg Config, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, served: make(chan error, 1)}
		near, far := link.Pair(link.L3())
		w.guest = newStack(t, near, func(c *gonet.Config) {
			c.Gateways = []netip.Addr{netip.MustParseAddr("10.0.0.2"),
				netip.MustParseAddr("fd00::2")}
		}, "10.0.0.1/24", "fd00::1/64")
		router := newStack(t, far, func(c *gonet.Config) {
			c.Forward.Flows = testFlows
			c.Promiscuous = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"),
				netip.MustParsePrefix("::/0")}
		}, "10.0.0.2/24", "fd00::2/64")
		near, far = link.Pair(link.L3())
		client := newStack(t, near, nil, "10.1.0.1/24")
		w.server = newStack(t, far, nil, "10.1.0.2/24")
		w.serve()
		cfg.Stack = router
		cfg.Server = &socks.Dialer{Server: "10.1.0.2:1080", Dial: client.DialContext}
		cfg.Log = t.Logf
		var err error
		if w.proxy, err = New(cfg); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		w.stop = cancel
		go func() { w.served <- w.proxy.Serve(ctx) }()
		synctest.Wait()
		f(t, w)
		w.end()
	})
}

// end ends the proxy, and checks that nothing of it is left.
func (w *world) end() {
	w.t.Helper()
	w.stop()
	if err := <-w.served; err != nil {
		w.t.Error(err)
	}
	w.served <- nil
	if n := w.proxy.Stats().Open; n != 0 || len(w.proxy.sources.all) != 0 {
		w.t.Errorf("%d connections and %d sources are left", n, len(w.proxy.sources.all))
	}
}

// serve is the server: it sends back what it gets, and each datagram as if from its destination.
func (w *world) serve() {
	l, err := w.server.Listen("tcp", ":1080")
	if err != nil {
		w.t.Fatal(err)
	}
	relay, err := w.server.ListenPacket("udp", ":1081")
	if err != nil {
		w.t.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.client(c)
		}
	}()
	go func() {
		b := make([]byte, 65536)
		for {
			n, from, err := relay.ReadFromAddrPort(b)
			if err != nil {
				return
			}
			a, data, err := socks.ParseDatagram(b[:n])
			if err != nil {
				w.t.Error(err)
				return
			}
			if a.Name != "" {
				a = socks.Address{IP: netip.MustParseAddr("192.0.2.53"), Port: a.Port}
			}
			out, err := socks.AppendDatagram(nil, a)
			if err != nil {
				w.t.Error(err)
				return
			}
			_, _ = relay.WriteToAddrPort(append(out, bytes.ToUpper(data)...), from) // may be lost
		}
	}()
}

func (w *world) client(c net.Conn) {
	defer c.Close()
	if _, err := socks.ReadGreeting(c); err != nil {
		return // the proxy has given up
	}
	_, _ = c.Write(socks.AppendMethod(nil, socks.MethodNone)) // the proxy may have gone
	q, err := socks.ReadRequest(c)
	if err != nil {
		return
	}
	answer := socks.Reply{Code: refusals[q.Address.Port]}
	if q.Command == socks.Associate {
		w.associations.Add(1)
		w.mu.Lock()
		w.controls = append(w.controls, c)
		w.mu.Unlock()
		answer.Address = socks.AddressOf(netip.MustParseAddrPort("0.0.0.0:1081"))
	} else {
		w.mu.Lock()
		w.asked = append(w.asked, q.Address.String())
		w.mu.Unlock()
	}
	if q.Address.Port != silent {
		b, err := answer.Append(nil)
		if err != nil {
			w.t.Error(err)
		}
		_, _ = c.Write(b) // the proxy may have gone
	}
	switch {
	case q.Address.Port == resetsAt:
		_, _ = io.WriteString(c, halfAnswer) // what arrives shows at the guest
		_, _ = c.Read(make([]byte, 1))       // until the guest has read it
		relay.Reset(c)
	case answer.Code == socks.Succeeded:
		_, err := io.Copy(c, c)
		w.mu.Lock()
		w.ends = append(w.ends, err)
		w.mu.Unlock()
	}
}

// halfAnswer is what the server says at the port resetsAt, before it resets.
const halfAnswer = "the first half"

// lastAsked returns the last destination of a CONNECT.
func (w *world) lastAsked() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[len(w.asked)-1]
}

func (w *world) dial(network, to string) net.Conn {
	w.t.Helper()
	c, err := w.guest.Dial(network, to)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// echo sends text, and expects want.
func (w *world) echo(c net.Conn, text, want string) {
	w.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		w.t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		w.t.Fatal(err)
	}
	b := make([]byte, len(want)+1)
	if n, err := io.ReadAtLeast(c, b, len(want)); err != nil || string(b[:n]) != want {
		w.t.Errorf("%q, %v, want %q", b[:n], err, want)
	}
}

func TestConnections(t *testing.T) {
	inWorld(t, Config{}, func(t *testing.T, w *world) {
		text := bytes.Repeat([]byte("bytes of the guest "), 20_000)
		for _, to := range []string{"198.51.100.7:80", "[2001:db8:9::7]:443"} {
			c := w.dial("tcp", to)
			go func() {
				_, err := c.Write(text)
				if err := errors.Join(err, c.(*gonet.Conn).CloseWrite()); err != nil {
					t.Error(err)
				}
			}()
			got, err := io.ReadAll(c)
			if err != nil || !bytes.Equal(got, text) {
				t.Errorf("%d bytes back of %d, %v", len(got), len(text), err)
			}
			_ = c.Close()
			if last := w.lastAsked(); last != to {
				t.Errorf("the server was asked for %s, want %s", last, to)
			}
		}
		synctest.Wait()
		want := Stats{Connections: 2, Sent: 2 * uint64(len(text)), Received: 2 * uint64(len(text))}
		if s := w.proxy.Stats(); s != want {
			t.Errorf("%+v, want %+v", s, want)
		}
		if want := []error{nil, nil}; !slices.Equal(w.ends, want) {
			t.Errorf("the server has seen the ends %v", w.ends)
		}
	})
}

// TestCutOff cuts transfers off: at the server, at the guest, and by the end of the proxy. The
// other side sees a reset, and not an end, which would make a part look like a whole.
func TestCutOff(t *testing.T) {
	inWorld(t, Config{}, func(t *testing.T, w *world) {
		c := w.dial("tcp", "198.51.100.7:7")
		w.echo(c, "", halfAnswer)
		if _, err := io.WriteString(c, "go on"); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(make([]byte, 100)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%d bytes, %v at the guest, want a reset", n, err)
		}
		c = w.dial("tcp", "198.51.100.7:80")
		w.echo(c, "hello", "hello")
		if err := c.(*gonet.Conn).Abort(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if n := w.proxy.Stats().Open; n != 0 {
			t.Errorf("%d connections are open", n)
		}
		c = w.dial("tcp", "198.51.100.7:80")
		w.echo(c, "hello", "hello")
		w.stop()
		if n, err := c.Read(make([]byte, 100)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%d bytes, %v at the guest after the end, want a reset", n, err)
		}
		synctest.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.ends) != 2 {
			t.Fatalf("the server has seen the ends %v, want two", w.ends)
		}
		for _, err := range w.ends {
			if !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the server has seen %v, want a reset", err)
			}
		}
	})
}

func TestRefusals(t *testing.T) {
	inWorld(t, Config{}, func(t *testing.T, w *world) {
		for to, want := range map[string]error{"198.51.100.7:1": syscall.ECONNREFUSED,
			"198.51.100.7:5": syscall.ECONNREFUSED, "198.51.100.7:2": syscall.EHOSTUNREACH,
			"198.51.100.7:3": syscall.EHOSTUNREACH, "[2001:db8:9::7]:4": syscall.EHOSTUNREACH} {
			failed := w.proxy.Stats().Failed
			if _, err := w.guest.Dial("tcp", to); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", to, err, want)
			}
			if w.proxy.Stats().Failed == failed {
				t.Errorf("%s: no failure is counted", to)
			}
		}
		if _, err := w.guest.Dial("tcp", "198.51.100.7:6"); err == nil {
			t.Error("a server that does not answer")
		}
		if s := w.proxy.Stats(); s.Connections != 0 || s.Open != 0 {
			t.Errorf("%+v", s)
		}
		if err := w.server.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := w.guest.Dial("tcp", "198.51.100.7:80"); err == nil {
			t.Error("connected without a server")
		}
		c := w.dial("udp", "198.51.100.7:53")
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 10)); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("a datagram without a server: %v", err)
		}
	})
}

// TestTooManyConnections has a client wait for the end of another's connection.
func TestTooManyConnections(t *testing.T) {
	inWorld(t, Config{Connections: 1}, func(t *testing.T, w *world) {
		first := w.dial("tcp", "198.51.100.7:80")
		time.AfterFunc(10*time.Second, func() { _ = first.Close() })
		start := time.Now()
		w.echo(w.dial("tcp", "198.51.100.7:81"), "hello", "hello")
		if d := time.Since(start); d < 10*time.Second {
			t.Errorf("connected after %v", d)
		}
	})
}

func TestDatagrams(t *testing.T) {
	inWorld(t, Config{}, func(t *testing.T, w *world) {
		for _, to := range []string{"198.51.100.7:123", "[2001:db8:9::7]:123"} {
			w.echo(w.dial("udp", to), "time?", "TIME?")
		}
		if n := w.associations.Load(); n != 2 {
			t.Errorf("%d associations for two sockets", n)
		}
		// One socket with two peers: one association, and each answer from its peer.
		s, err := w.guest.ListenPacket("udp4", ":0")
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 100)
		for _, to := range []string{"198.51.100.7:123", "203.0.113.9:53", "198.51.100.7:123"} {
			a := netip.MustParseAddrPort(to)
			if _, err := s.WriteToAddrPort([]byte(to), a); err != nil {
				t.Fatal(err)
			}
			n, from, err := s.ReadFromAddrPort(b)
			if err != nil || from != a || string(b[:n]) != to {
				t.Errorf("%q from %v, %v, want it from %v", b[:n], from, err, a)
			}
		}
		if n := w.associations.Load(); n != 3 {
			t.Errorf("%d associations for three sockets", n)
		}
		synctest.Wait()
		if n := w.proxy.Stats(); n.Flows != 4 || n.Sent == 0 || n.Sent != n.Received {
			t.Errorf("%+v", n)
		}
		// The server ends an association: the next datagram makes another.
		w.mu.Lock()
		last := w.controls[2]
		w.mu.Unlock()
		_ = last.Close() // the server's end
		synctest.Wait()
		a := netip.MustParseAddrPort("198.51.100.7:123")
		if _, err := s.WriteToAddrPort([]byte("again"), a); err != nil {
			t.Fatal(err)
		}
		n, from, err := s.ReadFromAddrPort(b)
		if err != nil || from != a || string(b[:n]) != "AGAIN" {
			t.Errorf("%q from %v, %v", b[:n], from, err)
		}
		if n := w.associations.Load(); n != 4 {
			t.Errorf("%d associations", n)
		}
		time.Sleep(5 * time.Minute) // all flows end, and their associations
		synctest.Wait()
		if n := len(w.proxy.sources.all); n != 0 {
			t.Errorf("%d sources are left", n)
		}
	})
}

// TestAttackSources sends datagrams from hundreds of ports: the associations with the server are
// bounded, and end.
func TestAttackSources(t *testing.T) {
	inWorld(t, Config{}, func(t *testing.T, w *world) {
		sources := func() int {
			w.proxy.sources.mu.Lock()
			defer w.proxy.sources.mu.Unlock()
			return len(w.proxy.sources.all)
		}
		most := 0
		for i := range 800 {
			from := &net.UDPAddr{Port: 1000 + i}
			d := gonet.Dialer{Stack: w.guest, LocalAddr: from}
			c, err := d.DialContext(t.Context(), "udp", "198.51.100.7:123")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			_ = c.Close() // nobody waits for the answer
			if i%20 == 0 {
				synctest.Wait()
				most = max(most, sources())
			}
		}
		synctest.Wait()
		if most = max(most, sources()); most < testFlows || most > 2*testFlows {
			t.Errorf("%d sources at once, with %d flows", most, testFlows)
		}
		w.echo(w.dial("udp", "198.51.100.7:123"), "time?", "TIME?")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := sources(); n != 0 {
			t.Errorf("%d sources are left", n)
		}
	})
}

func TestNoDatagrams(t *testing.T) {
	inWorld(t, Config{NoUDP: true}, func(t *testing.T, w *world) {
		c := w.dial("udp", "198.51.100.7:123")
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 10)); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%v", err)
		}
	})
}

// TestNamesToTheServer looks a name up, and connects to it by TCP and by UDP.
func TestNamesToTheServer(t *testing.T) {
	names := netip.MustParsePrefix("198.18.0.0/15")
	inWorld(t, Config{Names: names}, func(t *testing.T, w *world) {
		c := w.dial("udp", "198.51.100.53:53")
		if _, err := c.Write(ask(t, "host.test.", dnsmessage.TypeA,
			dnsmessage.ClassINET)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 512)
		n, err := c.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		var m dnsmessage.Message
		if err := m.Unpack(b[:n]); err != nil || len(m.Answers) != 1 {
			t.Fatalf("%+v, %v", m, err)
		}
		a := netip.AddrFrom4(m.Answers[0].Body.(*dnsmessage.AResource).A)
		web := w.dial("tcp", netip.AddrPortFrom(a, 80).String())
		w.echo(web, "hello", "hello")
		if got := w.lastAsked(); got != "host.test:80" {
			t.Errorf("the server was asked for %s", got)
		}
		w.echo(w.dial("udp", netip.AddrPortFrom(a, 123).String()), "time?", "TIME?")
		if _, err := w.guest.Dial("tcp", "198.18.9.9:80"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("an address that no name has: %v", err)
		}
		if _, err := c.Write([]byte("no query")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := w.associations.Load(); n != 1 {
			t.Errorf("%d associations: queries are answered here", n)
		}
	})
	if _, err := New(Config{Names: netip.MustParsePrefix("fd00::/64")}); err == nil {
		t.Error("names in a network of IPv6")
	}
}

// TestEnd ends the proxy while a connection is open, one is being made, and datagrams flow; then
// the stack ends.
func TestEnd(t *testing.T) {
	for name, end := range map[string]func(w *world){
		"serve": (*world).end,
		"stack": func(w *world) { _ = w.proxy.cfg.Stack.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Config{}, func(t *testing.T, w *world) {
				c := w.dial("tcp", "198.51.100.7:80")
				w.echo(c, "hello", "hello")
				w.echo(w.dial("udp", "198.51.100.7:123"), "time?", "TIME?")
				failed := make(chan error, 1)
				go func() {
					_, err := w.guest.Dial("tcp", "198.51.100.7:6")
					failed <- err
				}()
				synctest.Wait()
				end(w)
				if _, err := c.Read(make([]byte, 1)); err == nil {
					t.Error("read after the end")
				}
				if <-failed == nil {
					t.Error("connected after the end")
				}
			})
		})
	}
}

// TestServeNeedsNetworks holds that a stack without foreign addresses is refused.
func TestServeNeedsNetworks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := link.Pair(link.L3())
		p, err := New(Config{Stack: newStack(t, l, nil, "10.0.0.1/24"), Server: &socks.Dialer{}})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Serve(t.Context()); err == nil {
			t.Error("served")
		}
	})
}
