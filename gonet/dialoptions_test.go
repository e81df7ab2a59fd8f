package gonet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// TestOptionsOfDialers looks at the SYN, and at what follows: they have the options of the Dialer,
// for connections of both kinds. A Dialer without options makes connections as the stack does.
func TestOptionsOfDialers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair()
		sent := &tee{End: a}
		x, y := host6(t, sent, "1", quiet), host6(t, b, "2", quiet)
		l, err := y.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		go acceptAll(l, func(net.Conn) {}) // ends with the stack
		all := Dialer{Stack: x, TTL: 7, TOS: 0xbb, TCP: &tcp.Config{NoTimestamps: true,
			ReceiveBuffer: 5000, UserTimeout: 7 * time.Second}}
		for _, c := range []struct {
			name            string
			d               Dialer
			to              string
			ttl, tos, scale uint8
			window          uint16
			timestamps      bool
		}{
			{"all", all, "10.0.0.2:80", 7, 0xb8, 0, 5000, false},
			{"all", all, "[2001:db8::2]:80", 7, 0xb8, 0, 5000, false},
			{"a TTL", Dialer{Stack: x, TTL: 9}, "10.0.0.2:80", 9, 0, 7, 0xffff, true},
			{"a scale", Dialer{Stack: x, TCP: &tcp.Config{ReceiveBuffer: 1 << 20}},
				"10.0.0.2:80", defaultTTL, 0, 5, 0xffff, true},
			{"none", Dialer{Stack: x}, "10.0.0.2:80", defaultTTL, 0, 7, 0xffff, true},
			{"none", Dialer{Stack: x}, "[2001:db8::2]:80", defaultTTL, 0, 7, 0xffff, true},
		} {
			for kind, conn := range map[string]*Conn{"a socket": dialedBy(t, c.d, c.to),
				"callbacks": asyncDialedBy(t, c.d, c.to)} {
				name := fmt.Sprintf("%s, %s, to %s", c.name, kind, c.to)
				segments := sent.tcpFrom(conn.localAddr().Port())
				if len(segments) < 2 { // the SYN and the acknowledgement of its answer
					t.Fatalf("%s: %d segments were sent", name, len(segments))
				}
				h, _, err := wire.ParseTCP(segments[0].bytes)
				o := h.Options
				if err != nil || h.Flags != wire.SYN || !o.HasWindowScale ||
					o.WindowScale != c.scale || h.Window != c.window ||
					o.HasTimestamp != c.timestamps {
					t.Errorf("%s: the SYN is %+v, %v", name, h, err)
				}
				for _, s := range segments {
					if s.ttl != c.ttl || s.tos != c.tos {
						t.Errorf("%s: a TTL of %d and a TOS of %#x", name, s.ttl, s.tos)
					}
				}
				if conn.cfg.KeepAlive != keepAlive || (c.d.TCP == nil) != isOfStack(conn) {
					t.Errorf("%s: a configuration of its own: %v; %+v", name, !isOfStack(conn),
						conn.cfg)
				}
				if conn.close() != nil {
					t.Error(name)
				}
			}
		}
	})
}

// dialedBy returns a connection that a Dialer has made.
func dialedBy(t *testing.T, d Dialer, to string) *Conn {
	t.Helper()
	c, err := d.DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	return c.(*Conn)
}

// asyncDialedBy is dialedBy for callbacks.
func asyncDialedBy(t *testing.T, d Dialer, to string) *Conn {
	t.Helper()
	connected := false
	a, err := d.DialAsync(netip.MustParseAddrPort(to),
		&callbacks{connected: func(*AsyncConn) { connected = true }})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	synctest.Wait()
	if !connected {
		t.Fatal("no connection")
	}
	return &a.conn
}

// isOfStack tells whether a connection shares its configuration with those that have no options.
func isOfStack(c *Conn) bool {
	for i := range c.stack.tcp.configs {
		if c.cfg == c.stack.tcp.configs[i].last.Load() {
			return true
		}
	}
	return false
}

// TestOptionsOfDialedSockets has a Dialer make sockets of UDP.
func TestOptionsOfDialedSockets(t *testing.T) {
	bubble(t, link.Fault{}, func(t *testing.T, x, y *Stack) {
		p := listenAt(t, y, "udp", ":53")
		for _, want := range []struct {
			d        Dialer
			ttl, tos uint8
			kept     int
		}{
			{Dialer{Stack: x, TTL: 5, TOS: 0x20, ReadBuffer: 1500}, 5, 0x20, 1},
			{Dialer{Stack: x}, defaultTTL, 0, 3},
		} {
			c, err := want.d.DialContext(t.Context(), "udp", "10.0.0.2:53")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			_, from, info, err := p.ReadInfo(make([]byte, 9))
			if err != nil || info.TTL != want.ttl || info.TOS != want.tos {
				t.Errorf("%+v, %v, want %+v", info, err, want)
			}
			for range 3 {
				if _, err := p.WriteToAddrPort(make([]byte, 1000), from); err != nil {
					t.Fatal(err)
				}
			}
			if got := arrived(t, c); len(got) != want.kept {
				t.Errorf("%d datagrams wait, want %d", len(got), want.kept)
			}
		}
	})
}

// silentPeer is an address on a wire without Ethernet that nobody has: what is sent there gets no
// answer.
const silentPeer = "10.0.0.99:80"

// TestUserTimeoutOfDial dials a peer that does not answer.
func TestUserTimeoutOfDial(t *testing.T) {
	for name, c := range map[string]struct {
		options *tcp.Config
		want    time.Duration
		syns    int // at 0, 1, 3, 7 ... s
	}{
		"none":          {nil, 3 * time.Minute, 8},
		"other options": {&tcp.Config{NoSACK: true}, 3 * time.Minute, 8},
		"short":         {&tcp.Config{UserTimeout: time.Second / 2}, time.Second / 2, 1},
		"long":          {&tcp.Config{UserTimeout: 8 * time.Second}, 8 * time.Second, 4},
		"of handshakes": {&tcp.Config{SynTimeout: 2 * time.Second}, 2 * time.Second, 2},
		"both": {&tcp.Config{SynTimeout: 2 * time.Second, UserTimeout: 7 * time.Second},
			2 * time.Second, 2},
		"longer than of handshakes": {&tcp.Config{UserTimeout: 10 * time.Minute}, 3 * time.Minute,
			8},
	} {
		synctest.Test(t, func(t *testing.T) {
			end, _ := link.Pair(link.L3())
			sent := &tee{End: end}
			d := Dialer{Stack: host6(t, sent, "1", quiet), TCP: c.options}
			check := func(kind string, begun time.Time, err error) {
				t.Helper()
				if d := time.Since(begun); d < c.want || d > c.want+100*time.Millisecond {
					t.Errorf("%s, %s: it took %v, want %v", name, kind, d, c.want)
				}
				var timedOut net.Error
				if !errors.Is(err, syscall.ETIMEDOUT) || !errors.As(err, &timedOut) ||
					!timedOut.Timeout() {
					t.Errorf("%s, %s: %v", name, kind, err)
				}
			}
			begun := time.Now()
			_, err := d.DialContext(t.Context(), "tcp", silentPeer)
			check("a socket", begun, err)
			sent.mu.Lock()
			if n := len(sent.all); n != c.syns {
				t.Errorf("%s: %d SYNs, want %d", name, n, c.syns)
			}
			sent.mu.Unlock()
			ended := make(chan error, 1)
			begun = time.Now()
			_, err = d.DialAsync(netip.MustParseAddrPort(silentPeer),
				&callbacks{closed: func(_ *AsyncConn, err error) { ended <- err }})
			if err != nil {
				t.Fatal(err)
			}
			err = <-ended
			check("callbacks", begun, err)
			if s, err := d.Stack.Snapshot(); err != nil || len(s.Conns) != 0 {
				t.Errorf("%s: %d connections are left, %v", name, len(s.Conns), err)
			}
		})
	}
}

// TestUserTimeoutWhileDialing: a user timeout that is set while the SYN waits bounds the handshake,
// a context may be shorter, and the next address of a name has its turn after the time-out.
func TestUserTimeoutWhileDialing(t *testing.T) {
	bubbleL3(t, link.Fault{}, func(t *testing.T, x, y *Stack) {
		d := Dialer{Stack: x, TCP: &tcp.Config{UserTimeout: 5 * time.Second}}
		ended := make(chan error, 1)
		begun := time.Now()
		a, err := Dialer{Stack: x}.DialAsync(netip.MustParseAddrPort(silentPeer),
			&callbacks{closed: func(_ *AsyncConn, err error) { ended <- err }})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3500 * time.Millisecond)
		if err := a.SetUserTimeout(4 * time.Second); err != nil {
			t.Fatal(err)
		}
		err = <-ended
		if took := time.Since(begun); !errors.Is(err, syscall.ETIMEDOUT) ||
			took.Round(time.Second) != 4*time.Second {
			t.Errorf("set in SYN-SENT: %v after %v", err, took)
		}

		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		begun = time.Now()
		if _, err := d.DialContext(ctx, "tcp", silentPeer); !errors.Is(err,
			context.DeadlineExceeded) || time.Since(begun) != 2*time.Second {
			t.Errorf("a context: %v after %v", err, time.Since(begun))
		}

		serveEcho(t, y, ":80")
		d.Resolver = nameIs{"10.0.0.99", "10.0.0.2"}
		begun = time.Now()
		c, err := d.DialContext(t.Context(), "tcp", "name.test:80")
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took.Round(time.Second) != 5*time.Second {
			t.Errorf("the next address after %v", took)
		}
		expectEcho(t, c, 100)
		closeConns(t, c)
	})
}
