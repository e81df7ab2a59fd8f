package gonet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"
)

// readResolverConfig has package net read its configuration. It does so once, and keeps a channel
// that must not be made inside a synctest bubble.
func readResolverConfig(t *testing.T) {
	t.Helper()
	over, end := context.WithCancel(t.Context())
	end()
	if _, err := (&net.Resolver{PreferGo: true}).LookupHost(over, "nobody.test."); err == nil {
		t.Fatal("a lookup that is over has an answer")
	}
}

func TestAppDNS(t *testing.T) {
	t.Parallel()
	readResolverConfig(t)
	inFakeTime(t, func(t *testing.T, p *hostPair) {
		n := newNames()
		u, err := p.server.ListenPacket("udp", ":53")
		if err != nil {
			t.Fatal(err)
		}
		go n.serve(u)
		go n.serveTCP(p.listen(t, 53))
		r := p.client.Resolver(netip.AddrPortFrom(p.addr, 53))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		for _, c := range []struct{ network, name, want string }{
			{"ip4", "host.test.", "[10.0.0.2]"},
			{"ip6", "host.test.", "[2001:db8::2]"},
			{"ip", "new.test.", "[2001:db8::2]"},
			{"ip", "old.test.", "[10.0.0.2]"},
		} {
			if got, err := r.LookupNetIP(ctx, c.network, c.name); err != nil ||
				fmt.Sprint(got) != c.want {
				t.Errorf("%s of %s: %v, %v, want %s", c.network, c.name, got, err, c.want)
			}
		}
		if n.tcp.Load() != 0 {
			t.Error("asked by TCP before something did not fit")
		}
		if got, err := r.LookupNetIP(ctx, "ip4", "many.test."); err != nil || len(got) != 200 ||
			got[199] != netip.MustParseAddr("10.1.0.199") {
			t.Errorf("%d addresses of 200, %v", len(got), err)
		}
		if n.tcp.Load() == 0 {
			t.Error("what fits in no datagram was not asked for by TCP")
		}
		var none *net.DNSError
		if _, err := r.LookupNetIP(ctx, "ip6", "old.test."); !errors.As(err, &none) ||
			!none.IsNotFound {
			t.Errorf("a family that a name has not: %v", err)
		}
		if _, err := r.LookupNetIP(ctx, "ip", "nobody.test."); !errors.As(err, &none) ||
			!none.IsNotFound {
			t.Errorf("a name that is not there: %v", err)
		}
		begun := time.Now()
		if _, err := r.LookupNetIP(ctx, "ip4", "silent.test."); !errors.As(err, &none) ||
			!none.IsTimeout || time.Since(begun) < time.Second {
			t.Errorf("a server that does not answer: %v after %v", err, time.Since(begun))
		}
		short, end := context.WithTimeout(ctx, 300*time.Millisecond)
		defer end()
		begun = time.Now()
		if _, err := r.LookupNetIP(short, "ip4", "silent.test."); err == nil ||
			time.Since(begun) != 300*time.Millisecond {
			t.Errorf("a context that ends: %v after %v", err, time.Since(begun))
		}

		// A server that does not listen refuses at once, and the next one is asked.
		turns := p.client.Resolver(netip.AddrPortFrom(p.addr, 54), netip.AddrPortFrom(p.addr, 53))
		for try := 1; ; try++ { // a lossy wire may lose the only datagram
			begun = time.Now()
			got, err := turns.LookupNetIP(ctx, "ip4", "host.test.")
			if err == nil && len(got) == 1 && time.Since(begun) < time.Second {
				break
			}
			if try == 4 {
				t.Fatalf("the second server: %v, %v after %v", got, err, time.Since(begun))
			}
		}
		byName(ctx, t, p, r)
	})
}

// byName gets a page from a server by its name.
func byName(ctx context.Context, t *testing.T, p *hostPair, r Resolver) {
	server := &http.Server{ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, r.Host)
		})}
	l := p.listen(t, 80)
	go func() { _ = server.Serve(l) }() // until Close
	t.Cleanup(func() { _ = server.Close() })
	dialer := Dialer{Stack: p.client, Resolver: r}
	client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
	t.Cleanup(client.CloseIdleConnections)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://host.test./", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if b, err := io.ReadAll(answer.Body); err != nil || string(b) != "host.test." {
		t.Errorf("%q, %v", b, err)
	}
}
