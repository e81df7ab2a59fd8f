package gonet

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// pattern returns n bytes with a long period, so that a piece in the wrong place is noticed.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * i >> 7)
	}
	return b
}

// web is an HTTPS server and its client; accepted counts connections.
type web struct {
	*http.Client
	server   *httptest.Server
	url      string
	accepted atomic.Int32
}

// newWeb starts a server over TLS, with HTTP/2 if http2 is set.
func newWeb(t *testing.T, p *hostPair, http2 bool, handler http.Handler,
	change ...func(*http.Server)) *web {
	t.Helper()
	w := &web{server: httptest.NewUnstartedServer(handler), url: "https://" + p.at(443) + "/"}
	_ = w.server.Listener.Close() // a listener of the kernel, which httptest always opens
	w.server.Listener = p.listen(t, 443)
	w.server.EnableHTTP2 = http2
	// clients that send nothing are part of the tests
	w.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	w.server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			w.accepted.Add(1)
		}
	}
	for _, c := range change {
		c(w.server.Config)
	}
	w.server.StartTLS()
	t.Cleanup(w.server.Close)
	// the name in httptest's certificate
	its := w.server.Client().Transport.(*http.Transport).TLSClientConfig
	trust := &tls.Config{RootCAs: its.RootCAs, ServerName: "example.com"}
	w.Client = &http.Client{Transport: &http.Transport{DialContext: p.dial, TLSClientConfig: trust,
		ForceAttemptHTTP2: http2}}
	t.Cleanup(w.CloseIdleConnections)
	return w
}

// bothHTTP runs f for both versions of HTTP, over the wires that over selects.
func bothHTTP(t *testing.T, over func(*testing.T, func(*testing.T, *hostPair)),
	f func(t *testing.T, p *hostPair, http2 bool)) {
	for _, http2 := range []bool{false, true} {
		t.Run(map[bool]string{false: "1.1", true: "2"}[http2], func(t *testing.T) {
			over(t, func(t *testing.T, p *hostPair) { f(t, p, http2) })
		})
	}
}

// TestAppHTTPTransfers sends many bodies at once, and gets them back while they are still being
// sent; with HTTP/2 over one connection.
func TestAppHTTPTransfers(t *testing.T) {
	t.Parallel()
	streams := fewer(12, 2)
	bothHTTP(t, overWires, func(t *testing.T, p *hostPair, http2 bool) {
		w := newWeb(t, p, http2, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 has it anyway
			w.Header().Set("Trailer", "X-Length")
			n, err := io.Copy(w, r.Body)
			if err != nil {
				t.Error(err)
			}
			w.Header().Set("X-Length", strconv.FormatInt(n, 10))
		}))
		sizes := []int{0, 1, 1460, 65_536, 200_000}
		// negotiates the version before many requests start at once
		if r, err := w.Get(w.url); err != nil {
			t.Fatal(err)
		} else if err := r.Body.Close(); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range streams {
			all.Go(func() {
				body := pattern(sizes[i%len(sizes)] + i)
				// of unknown length
				r, err := w.Post(w.url, "", struct{ io.Reader }{bytes.NewReader(body)})
				if err != nil {
					t.Error(err)
					return
				}
				defer r.Body.Close()
				got, err := io.ReadAll(r.Body)
				if err != nil || !bytes.Equal(got, body) ||
					r.Trailer.Get("X-Length") != strconv.Itoa(len(body)) {
					t.Errorf("%d bytes back of %d, trailer %v, %v", len(got), len(body), r.Trailer,
						err)
				}
				if want := map[bool]int{false: 1, true: 2}[http2]; r.ProtoMajor != want {
					t.Errorf("by %s", r.Proto)
				}
			})
		}
		all.Wait()
		if n := w.accepted.Load(); http2 && n != 1 || int(n) > 1+streams {
			t.Errorf("%d connections", n)
		}
	})
}

// TestAppHTTPKeepsConnectionsAlive sends requests one after the other over one connection, until
// the server closes it as idle.
func TestAppHTTPKeepsConnectionsAlive(t *testing.T) {
	t.Parallel()
	bothHTTP(t, inFakeTime, func(t *testing.T, p *hostPair, http2 bool) {
		w := newWeb(t, p, http2, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, r.RemoteAddr)
		}),
			func(s *http.Server) { s.IdleTimeout = time.Minute })
		ask := func() string {
			r, err := w.Get(w.url)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			b, err := io.ReadAll(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		first := ask()
		for range 20 {
			advanceTime(30 * time.Second)
			if got := ask(); got != first {
				t.Errorf("from %s after %s", got, first)
			}
		}
		advanceTime(2 * time.Minute)
		if got := ask(); got == first || w.accepted.Load() != 2 {
			t.Errorf("after a silence from %s, as before; %d connections", got, w.accepted.Load())
		}
	})
}

// TestAppHTTPTimeouts has each side wait too long for the other.
func TestAppHTTPTimeouts(t *testing.T) {
	t.Parallel()
	bothHTTP(t, inFakeTime, func(t *testing.T, p *hostPair, http2 bool) {
		gone := make(chan struct{}, 1)
		w := newWeb(t, p, http2, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done() // the client has gone
			gone <- struct{}{}
		}), func(s *http.Server) { s.ReadHeaderTimeout = 5 * time.Second })
		w.Timeout = 10 * time.Second
		begun := time.Now()
		r, err := w.Get(w.url)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(r.Body)
		_ = r.Body.Close()
		var late net.Error
		if took := time.Since(begun); !errors.As(err, &late) || !late.Timeout() ||
			took != 10*time.Second {
			t.Errorf("a body that does not come: %v after %v", err, took)
		}
		<-gone
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r, err = w.Do(request); err == nil {
			_, err = io.ReadAll(r.Body)
			_ = r.Body.Close()
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a request that is given up: %v", err)
		}
		<-gone

		// The server closes a connection whose client sends nothing.
		c, err := p.client.Dial("tcp", p.at(443))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		begun = time.Now()
		if n, err := c.Read(make([]byte, 100)); err == nil || time.Since(begun) < 4*time.Second ||
			time.Since(begun) > 10*time.Second {
			t.Errorf("a silent client: %d bytes, %v after %v", n, err, time.Since(begun))
		}
	})
}

// TestAppHTTPShutdown shuts a server down while it serves: requests in progress are finished, idle
// connections closed, new ones refused.
func TestAppHTTPShutdown(t *testing.T) {
	t.Parallel()
	bothHTTP(t, inFakeTime, func(t *testing.T, p *hostPair, http2 bool) {
		begun, finish := make(chan struct{}), make(chan struct{})
		w := newWeb(t, p, http2, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "slow") {
				close(begun)
				<-finish
			}
			_, _ = w.Write(pattern(100_000)) // the client checks
		}))
		get := func(path string) error {
			r, err := w.Get(w.url + path)
			if err != nil {
				return err
			}
			defer r.Body.Close()
			b, err := io.ReadAll(r.Body)
			if err == nil && !bytes.Equal(b, pattern(100_000)) {
				err = fmt.Errorf("%d bytes that are others", len(b))
			}
			return err
		}
		if err := get(""); err != nil {
			t.Fatal(err)
		}
		slow, ended := make(chan error, 1), make(chan error, 1)
		go func() { slow <- get("slow") }()
		<-begun
		go func() { ended <- w.server.Config.Shutdown(t.Context()) }()
		advanceTime(time.Second)
		if _, err := p.client.Dial("tcp", p.at(443)); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("a server that ends takes a connection: %v", err)
		}
		select {
		case err := <-ended:
			t.Errorf("the end has not waited for what was begun: %v", err)
		default:
		}
		close(finish)
		if err := <-slow; err != nil {
			t.Errorf("what was begun: %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("the end: %v", err)
		}
	})
}
