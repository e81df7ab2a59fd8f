package gateway

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"interleave/gonet/relay"
)

// answered is a response whose body was read.
type answered struct {
	status int
	header http.Header
	body   string
}

// exchange sends a request as it is written, and returns the response.
func exchange(t *testing.T, address, request string) answered {
	t.Helper()
	c := dial(t, "tcp", address)
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answered{response.StatusCode, response.Header, string(body)}
}

// httpProxy starts a proxy.
func httpProxy(t *testing.T, o Options) (address string, stop func()) {
	t.Helper()
	s, err := HTTP(Kernel(), farNetwork(), "127.0.0.1:0", o)
	stop = run(t, s, err)
	return s.Addr.String(), stop
}

// TestHTTPAbsolute sends requests with absolute URLs: what belongs to the hop is taken off, and all
// else arrives as it was sent.
func TestHTTPAbsolute(t *testing.T) {
	port := page(t)
	address, _ := httpProxy(t, Options{})
	got := exchange(t, address, "POST http://far.test:"+port+
		"/a%20b?x=1;2&y HTTP/1.1\r\nHost: ignored.test\r\n"+
		"Connection: close, X-Mine\r\nProxy-Connection: keep-alive\r\n"+
		"Proxy-Authorization: Basic bWU6c2VjcmV0\r\nX-Mine: of this hop\r\n"+
		"X-Forwarded-For: 10.1.1.1\r\nX-Kept: yes\r\nContent-Length: 4\r\n\r\nbody")
	if got.status != http.StatusOK || got.header.Get("X-Hop") != "" {
		t.Errorf("%d, %v", got.status, got.header)
	}
	want := "POST /a%20b?x=1;2&y of far.test:" + port + ", \"body\"\n" +
		"Content-Length: 4\r\nX-Forwarded-For: 10.1.1.1\r\nX-Kept: yes\r\n"
	if got.body != want {
		t.Errorf("the server got\n%s\nwant\n%s", got.body, want)
	}
}

// TestHTTPRefuses has requests that no server gets.
func TestHTTPRefuses(t *testing.T) {
	closed, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	address, _ := httpProxy(t, Options{})
	for _, c := range []struct {
		line   string
		status int
		words  string
	}{
		{"GET http://none.test/", http.StatusBadGateway, "none.test cannot be reached"},
		{"GET http://slow.test/", http.StatusGatewayTimeout, "slow.test cannot be reached"},
		{"GET http://" + closed.Addr().String() + "/", http.StatusBadGateway, "refused"},
		{"CONNECT none.test:443", http.StatusBadGateway, "none.test:443 cannot be reached"},
		{"CONNECT slow.test:443", http.StatusGatewayTimeout, "cannot be reached"},
		{"CONNECT " + closed.Addr().String(), http.StatusBadGateway, "refused"},
		{"CONNECT none.test", http.StatusBadRequest, "HOST:PORT"},
		{"GET https://far.test/", http.StatusBadRequest, "URLs of http"},
		{"GET ftp://far.test/", http.StatusBadRequest, "URLs of http"},
		{"GET /", http.StatusBadRequest, "This is a proxy"},
	} {
		got := exchange(t, address, c.line+" HTTP/1.1\r\nHost: far.test\r\n"+
			"Connection: close\r\n\r\n")
		if got.status != c.status || !strings.Contains(got.body, c.words) {
			t.Errorf("%s: %d, %q, want %d and %q", c.line, got.status, got.body, c.status, c.words)
		}
	}
}

func TestHTTPLogin(t *testing.T) {
	port := page(t)
	var said lines
	address, _ := httpProxy(t, Options{Login: relay.Login{User: "me", Password: "secret"},
		Verbose: said.logf})
	for _, c := range []struct {
		field  string
		status int
	}{
		{"", http.StatusProxyAuthRequired},
		{"Authorization: Basic bWU6c2VjcmV0\r\n", http.StatusProxyAuthRequired}, // the server's
		{"Proxy-Authorization: Basic bWU6d3Jvbmc=\r\n", http.StatusProxyAuthRequired},
		{"Proxy-Authorization: Bearer bWU6c2VjcmV0\r\n", http.StatusProxyAuthRequired},
		{"Proxy-Authorization: Basic bWU6c2VjcmV0\r\n", http.StatusOK},
	} {
		got := exchange(t, address, "GET http://u:p4ss@far.test:"+port+"/ HTTP/1.1\r\n"+
			"Host: far.test\r\nConnection: close\r\n"+c.field+"\r\n")
		if got.status != c.status {
			t.Errorf("%q: %d, %q", c.field, got.status, got.body)
		}
		if asked := got.header.Get("Proxy-Authenticate") != ""; asked !=
			(c.status == http.StatusProxyAuthRequired) {
			t.Errorf("%q: Proxy-Authenticate: %v", c.field, asked)
		}
		if strings.Contains(got.body, "bWU6c2VjcmV0") {
			t.Errorf("the server has got the proxy's password: %q", got.body)
		}
	}
	if log := said.String(); strings.Contains(log, "secret") || strings.Contains(log, "p4ss") {
		t.Errorf("a password is logged: %q", log)
	}
}

// TestHTTPConnect joins a client with a server: what the client sends with its request arrives, and
// each direction ends by itself. The connection ends with the proxy.
func TestHTTPConnect(t *testing.T) {
	far, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	go func() {
		for {
			c, err := far.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				all, err := io.ReadAll(c)
				if err == nil {
					_, _ = c.Write(bytes.ToUpper(all)) // a lost answer shows in the test
				}
			}()
		}
	}()
	address, stop := httpProxy(t, Options{})
	_, port, err := net.SplitHostPort(far.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	open := func() net.Conn {
		c := dial(t, "tcp", address)
		request := fmt.Sprintf("CONNECT far.test:%s HTTP/1.1\r\nHost: far.test:%[1]s\r\n\r\nearly",
			port)
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		const want = "HTTP/1.1 200 Connection established\r\n\r\n"
		b := make([]byte, len(want))
		if _, err := io.ReadFull(c, b); err != nil || string(b) != want {
			t.Fatalf("%q, %v", b, err)
		}
		return c
	}
	c := open()
	if _, err := io.WriteString(c, " and late"); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); err != nil || string(got) != "EARLY AND LATE" {
		t.Errorf("%q, %v", got, err)
	}
	c = open()
	stop()
	if got, err := io.ReadAll(c); err == nil && len(got) > 0 {
		t.Errorf("%q after the proxy's end", got)
	}
}

// TestHTTPStreams reads the first part of a response while its second part is not sent yet, and
// cancels the request at its server by going away.
func TestHTTPStreams(t *testing.T) {
	gone := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "first")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-r.Context().Done()
		close(gone)
	}))
	defer s.Close()
	address, _ := httpProxy(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) {
		return &url.URL{Scheme: "http", Host: address}, nil
	}}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	if err != nil || line != "first\n" {
		t.Errorf("%q, %v", line, err)
	}
	_ = response.Body.Close()
	<-gone
}

// TestHTTPMakesRoom keeps connections for the next request until most places are taken. The place
// of a connection that was not kept is free for the next client.
func TestHTTPMakesRoom(t *testing.T) {
	port := page(t)
	address, _ := httpProxy(t, Options{MaxClients: 4})
	for i, closes := range []bool{false, false, true, true} {
		c := dial(t, "tcp", address)
		if _, err := io.WriteString(c, "GET http://far.test:"+port+"/ HTTP/1.1\r\n"+
			"Host: far.test\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if err != nil || response.Close != closes {
			t.Errorf("client %d: closed %v, %v, want %v", i, response.Close, err, closes)
		}
	}
}
