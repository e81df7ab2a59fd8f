package gonet

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
)

// nameIs is a Resolver that has these addresses for every name.
type nameIs []string

func (n nameIs) LookupNetIP(context.Context, string, string) (all []netip.Addr, err error) {
	for _, a := range n {
		all = append(all, netip.MustParseAddr(a))
	}
	return all, nil
}

// TestFallback dials names with addresses of both families, of which one does not answer: nobody
// has 2001:db8::99 and 10.0.0.99. Another host would be resolved in vain for 3 s.
func TestFallback(t *testing.T) {
	const dead6, dead4, live6, live4 = "2001:db8::99", "10.0.0.99", "2001:db8::2", "10.0.0.2"
	for name, c := range map[string]struct {
		names    nameIs
		network  string
		delay    time.Duration
		want     string        // the address of the connection; empty: there is none
		earliest time.Duration // of the end
	}{
		"IPv6 is dead":           {nameIs{dead6, live4}, "tcp", 0, live4, fallbackDelay},
		"IPv4 is dead":           {nameIs{dead4, live6}, "tcp", 0, live6, fallbackDelay},
		"the first one lives":    {nameIs{live6, dead4}, "tcp", 0, live6, 0},
		"both live":              {nameIs{live6, live4}, "tcp", 0, live6, 0},
		"another delay":          {nameIs{dead6, live4}, "tcp", time.Second, live4, time.Second},
		"in turn":                {nameIs{dead6, live4}, "tcp", -1, live4, 2 * time.Second},
		"more of each":           {nameIs{dead6, dead6, live4}, "tcp", 0, live4, fallbackDelay},
		"one family":             {nameIs{dead4, live4}, "tcp", 0, live4, 2 * time.Second},
		"one family is asked of": {nameIs{dead4, live4}, "tcp4", 0, live4, 2 * time.Second},
		"none lives":             {nameIs{dead6, dead4}, "tcp", 0, "", 2 * time.Second},
	} {
		bubble6(t, link.Fault{}, func(t *testing.T, x, y *Stack) {
			time.Sleep(5 * time.Second) // duplicate address detection has ended
			l := serveEcho(t, y, ":7")
			d := Dialer{Stack: x, Resolver: c.names, FallbackDelay: c.delay}
			begun := time.Now()
			conn, err := d.DialContext(t.Context(), c.network, "name.test:7")
			took := time.Since(begun)
			switch {
			case c.want == "" && !errors.Is(err, syscall.EHOSTUNREACH):
				t.Errorf("%s: %v, %v", name, conn, err)
			case c.want != "" && err != nil:
				t.Errorf("%s: %v", name, err)
			case err == nil:
				if to := net.JoinHostPort(c.want, "7"); conn.RemoteAddr().String() != to {
					t.Errorf("%s: connected with %v, want %s", name, conn.RemoteAddr(), to)
				}
				expectEcho(t, conn, 100)
				closeConns(t, conn)
			}
			if took < c.earliest || took > c.earliest+2*time.Second {
				t.Errorf("%s: it took %v, want %v", name, took, c.earliest)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFallbackRefused does not wait when the first family refuses.
func TestFallbackRefused(t *testing.T) {
	bubble6(t, link.Fault{}, func(t *testing.T, x, y *Stack) {
		l, err := y.Listen("tcp4", ":7")
		if err != nil {
			t.Fatal(err)
		}
		d := Dialer{Stack: x, Resolver: nameIs{"2001:db8::2", "10.0.0.2"}}
		begun := time.Now()
		c, err := d.DialContext(t.Context(), "tcp", "name.test:7")
		if err != nil || time.Since(begun) >= fallbackDelay {
			t.Fatalf("%v after %v", err, time.Since(begun))
		}
		closeConns(t, c)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := d.DialContext(t.Context(), "tcp", "name.test:7"); !errors.Is(err,
			syscall.ECONNREFUSED) {
			t.Errorf("both refuse: %v", err)
		}
	})
}

// TestFallbackEnds: a context that ends is the end, and of two connections that are made at once
// one is closed.
func TestFallbackEnds(t *testing.T) {
	bubble6(t, link.Fault{}, func(t *testing.T, x, _ *Stack) {
		d := Dialer{Stack: x, Resolver: nameIs{"2001:db8::99", "10.0.0.99"}}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		begun := time.Now()
		if _, err := d.DialContext(ctx, "tcp", "name.test:7"); !errors.Is(err,
			context.DeadlineExceeded) || time.Since(begun) != 500*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
	// Both families answer at the same instant.
	bubble6(t, link.Fault{Delay: 50 * time.Millisecond}, func(t *testing.T, x, y *Stack) {
		time.Sleep(5 * time.Second)
		serveEcho(t, y, ":7")
		for _, to := range []string{"10.0.0.2:7", "[2001:db8::2]:7"} { // the neighbours are known
			closeConns(t, dialed(t, x, to))
		}
		time.Sleep(10 * time.Second)
		d := Dialer{Stack: x, Resolver: nameIs{"2001:db8::2", "10.0.0.2"}, FallbackDelay: 1}
		c, err := d.DialContext(t.Context(), "tcp", "name.test:7")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		s, err := x.Snapshot()
		open := 0
		for _, i := range s.Conns {
			if i.State.String() == "ESTABLISHED" {
				open++
			}
		}
		if err != nil || open != 1 {
			t.Errorf("%d connections are open, %v", open, err)
		}
		closeConns(t, c)
	})
}
