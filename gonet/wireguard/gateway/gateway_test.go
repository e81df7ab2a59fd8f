package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds what must happen at all; nothing is expected to be fast.
const patience = 5 * time.Minute

// farNetwork is the other side of the tests: the kernel, but its name far.test is 127.0.0.1, and
// nothing answers at slow.test.
func farNetwork() Network {
	n := Kernel()
	dial := n.Dial
	n.ListenPacket = func(network, _ string) (net.PacketConn, error) {
		return net.ListenPacket(network, "127.0.0.1:0")
	}
	n.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		switch host {
		case "far.test", "127.0.0.1":
			return dial(ctx, network, net.JoinHostPort("127.0.0.1", port))
		case "slow.test":
			return nil, &net.OpError{Op: "dial", Net: network, Err: context.DeadlineExceeded}
		}
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return n
}

// run serves until the test ends, or until the function that it returns is called.
func run(t *testing.T, s *Service, err error) (stop func()) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		case <-time.After(patience):
			t.Errorf("%s has not ended with its context", s.Name)
		}
	})
	t.Cleanup(stop)
	return stop
}

// dial connects to a service, with a deadline for all that follows.
func dial(t *testing.T, network, address string) net.Conn {
	t.Helper()
	c, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

// lines collects what a service logs.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) logf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(&l.all, format+"\n", args...)
}

// await waits until a text is logged.
func (l *lines) await(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if strings.Contains(l.String(), text) {
			return
		}
	}
	t.Errorf("logged %q, want %q", l, text)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// page is a server whose body is the request line, the host and the fields of the request.
func page(t *testing.T) (port string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Connection", "X-Hop")
		w.Header().Set("X-Hop", "of this hop")
		fmt.Fprintf(w, "%s %s of %s, %q\n", r.Method, r.RequestURI, r.Host, body)
		_ = r.Header.WriteSubset(w, nil) // a short body shows in the test
	}))
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestParseForward(t *testing.T) {
	for _, c := range []struct{ text, listenHost, toHost, want, err string }{
		{"8080=10.0.0.1:80", "127.0.0.1", "", "127.0.0.1:8080=10.0.0.1:80", ""},
		{"127.0.0.1:0=far.test:80/tcp", "127.0.0.1", "", "127.0.0.1:0=far.test:80", ""},
		{"[::1]:53=[fd00::1]:053/udp", "127.0.0.1", "", "[::1]:53=[fd00::1]:53/udp", ""},
		{"80=8080", "", "127.0.0.1", ":80=127.0.0.1:8080", ""},
		{"10.0.0.2:80=8080/udp", "", "127.0.0.1", "10.0.0.2:80=127.0.0.1:8080/udp", ""},
		{"", "", "", "", "expected LISTEN=TO"},
		{"8080", "", "", "", "expected LISTEN=TO"},
		{"8080=10.0.0.1:80/sctp", "", "", "", "expected LISTEN=TO"},
		{"8080=10.0.0.1:80/", "", "", "", "expected LISTEN=TO"},
		{"8080=10.0.0.1:80/udp/udp", "", "", "", "expected LISTEN=TO"},
		{"8080=80", "127.0.0.1", "", "", `"80": expected HOST:PORT`},
		{"8080=", "127.0.0.1", "", "", "expected HOST:PORT"},
		{"8080=10.0.0.1:0", "127.0.0.1", "", "", "port 0"},
		{"8080=10.0.0.1:65536", "127.0.0.1", "", "", "not a number from 0 to 65535"},
		{"-1=10.0.0.1:80", "127.0.0.1", "", "", "not a number from 0 to 65535"},
		{"http=10.0.0.1:80", "127.0.0.1", "", "", "not a number from 0 to 65535"},
		{":8080=10.0.0.1:80", "127.0.0.1", "", "", "such as 127.0.0.1:8080"},
		{"8080=fd00::1:80", "127.0.0.1", "", "", "in brackets"},
		{"8080=a b:80", "127.0.0.1", "", "", "expected HOST:PORT"},
		{"8080=a:80=b:80", "127.0.0.1", "", "", "expected HOST:PORT"},
	} {
		f, err := ParseForward(c.text, c.listenHost, c.toHost)
		if c.err == "" && (err != nil || f.String() != c.want) {
			t.Errorf("%q: %v, %v, want %s", c.text, f, err, c.want)
		}
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%q: %v, %v, want %s", c.text, f, err, c.err)
		}
	}
}

// FuzzParseForward holds that what is parsed is written as it is parsed.
func FuzzParseForward(f *testing.F) {
	for _, text := range []string{"8080=10.0.0.1:80", "[::1]:53=[fd00::1]:53/udp", "1=a:2/tcp"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		one, err := ParseForward(text, "127.0.0.1", "")
		if err != nil {
			return
		}
		if two, err := ParseForward(one.String(), "127.0.0.1", ""); err != nil || two != one {
			t.Errorf("%q is %v, which is %v, %v", text, one, two, err)
		}
	})
}

// TestForward fetches a page through a forwarded port, and finds a reset where nobody answers.
func TestForward(t *testing.T) {
	port := page(t)
	var said lines
	o := Options{Log: said.logf}
	f := Forward{Listen: "127.0.0.1:0", To: "far.test:" + port}
	s, err := f.Open("forward", Kernel(), farNetwork(), o)
	stop := run(t, s, err)
	response, err := http.Get("http://" + s.Addr.String() + "/hello")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || !strings.HasPrefix(string(body), "GET /hello of "+s.Addr.String()) {
		t.Errorf("%q, %v", body, err)
	}
	http.DefaultClient.CloseIdleConnections()

	f.To = "none.test:80"
	nowhere, err := f.Open("forward", Kernel(), farNetwork(), o)
	run(t, nowhere, err)
	c, err := net.Dial("tcp", nowhere.Addr.String())
	if err == nil { // the reset may be there before
		defer c.Close()
		_, err = c.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v of a destination without an address", err)
	}
	said.await(t, "lookup none.test: no such host")
	stop()
	if _, err := net.Dial("tcp", s.Addr.String()); err == nil {
		t.Error("the port is still open")
	}
}

// TestForwardUDP sends datagrams through a forwarded port.
func TestForwardUDP(t *testing.T) {
	far, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	go func() {
		b := make([]byte, 100)
		for {
			n, from, err := far.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = far.WriteTo(bytes.ToUpper(b[:n]), from) // a lost answer shows in the test
		}
	}()
	f := Forward{Listen: "127.0.0.1:0", To: far.LocalAddr().String(), UDP: true}
	s, err := f.Open("forward", Kernel(), farNetwork(), Options{})
	run(t, s, err)
	c := dial(t, "udp", s.Addr.String())
	if _, err := io.WriteString(c, "hello"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	if n, err := c.Read(b); err != nil || string(b[:n]) != "HELLO" {
		t.Errorf("%q, %v", b[:n], err)
	}
	if !strings.HasSuffix(s.To, "/udp") {
		t.Errorf("the destination is shown as %q", s.To)
	}
}

// TestPortsInUse opens each service at a port that is in use.
func TestPortsInUse(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := l.Addr().String()
	_, one := SOCKS5(Kernel(), farNetwork(), at, Options{})
	_, two := HTTP(Kernel(), farNetwork(), at, Options{})
	_, three := Forward{Listen: at, To: "far.test:80"}.Open("forward", Kernel(), farNetwork(),
		Options{})
	for _, err := range []error{one, two, three} {
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%v, want EADDRINUSE", err)
		}
	}
}
