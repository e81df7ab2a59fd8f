package relay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

func datagrams(t *testing.T) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

// forwarded starts flows to a socket, and returns the address for clients.
func forwarded(t *testing.T, f *Flows, to *net.UDPConn) (at net.Addr, stop func()) {
	t.Helper()
	if f.Dial == nil {
		f.Dial = func(ctx context.Context) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "udp4", to.LocalAddr().String())
		}
	}
	in := datagrams(t)
	if err := in.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Serve(ctx, in) }()
	stop = sync.OnceFunc(func() {
		cancel()
		wait(t, ended, nil)
	})
	t.Cleanup(stop)
	return in.LocalAddr(), stop
}

// ask has a client send a datagram, and the destination answer it. It returns the flow's address.
func ask(t *testing.T, client, server *net.UDPConn, at net.Addr, said string) string {
	t.Helper()
	if _, err := client.WriteTo([]byte(said), at); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 2000)
	n, flow, err := server.ReadFrom(b)
	if err != nil || string(b[:n]) != said {
		t.Fatalf("%q, %v, want %q", b[:n], err, said)
	}
	if _, err := server.WriteTo(append([]byte("re: "), said...), flow); err != nil {
		t.Fatal(err)
	}
	n, from, err := client.ReadFrom(b)
	if err != nil || string(b[:n]) != "re: "+said || from.String() != at.String() {
		t.Fatalf("%q from %v, %v", b[:n], from, err)
	}
	return flow.String()
}

// TestFlows has two clients, whose replies do not mix, and a third one, for which the flow that was
// idle for longest ends.
func TestFlows(t *testing.T) {
	server := datagrams(t)
	at, stop := forwarded(t, &Flows{Most: 2}, server)
	clients := []*net.UDPConn{datagrams(t), datagrams(t), datagrams(t)}
	flows := make([]string, 3)
	for round := range 3 {
		for i, c := range clients[:2] {
			flow := ask(t, c, server, at, fmt.Sprintf("%d of %d", round, i))
			if round > 0 && flow != flows[i] {
				t.Errorf("client %d has moved from %s to %s", i, flows[i], flow)
			}
			flows[i] = flow
		}
	}
	if flows[0] == flows[1] {
		t.Errorf("both clients have the flow %s", flows[0])
	}
	flows[2] = ask(t, clients[2], server, at, "third")
	if got := ask(t, clients[1], server, at, "again"); got != flows[1] {
		t.Errorf("client 1 has moved from %s to %s", flows[1], got)
	}
	// The first client's flow has ended, and it gets another.
	ask(t, clients[0], server, at, "once more")
	stop()
	if again, err := net.ListenPacket("udp4", at.String()); err != nil {
		t.Errorf("the socket is still open: %v", err)
	} else {
		_ = again.Close()
	}
}

// TestIdleFlowsEnd waits until a client's next datagram comes from another port.
func TestIdleFlowsEnd(t *testing.T) {
	server, client := datagrams(t), datagrams(t)
	var dials, ends counter
	at, _ := forwarded(t, &Flows{Idle: time.Millisecond,
		Dial: func(ctx context.Context) (net.Conn, error) {
			dials.add()
			var d net.Dialer
			c, err := d.DialContext(ctx, "udp4", server.LocalAddr().String())
			return &counted{c, &ends}, err
		}}, server)
	if _, err := client.WriteTo([]byte("hello"), at); err != nil {
		t.Fatal(err)
	}
	ends.await(t, 1)
	if _, err := client.WriteTo([]byte("hello"), at); err != nil {
		t.Fatal(err)
	}
	dials.await(t, 2)
}

// counter counts events.
type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

func (c *counter) await(t *testing.T, n int) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		c.mu.Lock()
		done := c.n >= n
		c.mu.Unlock()
		if done {
			return
		}
	}
	t.Fatalf("not %d events", n)
}

// counted is a connection whose Close is counted.
type counted struct {
	net.Conn
	ends *counter
}

func (c *counted) Close() error {
	defer c.ends.add()
	return c.Conn.Close()
}

// TestFlowsCannotDial reports a failure, and tries again with the next datagram.
func TestFlowsCannotDial(t *testing.T) {
	client := datagrams(t)
	said := make(chan string, 10)
	at, _ := forwarded(t, &Flows{
		Dial: func(context.Context) (net.Conn, error) { return nil, errors.New("no route") },
		Log:  func(format string, args ...any) { said <- fmt.Sprintf(format, args...) },
	}, nil)
	for range 2 {
		if _, err := client.WriteTo([]byte("hello"), at); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-said:
			if want := client.LocalAddr().String() + ": no route"; !strings.Contains(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		case <-time.After(patience):
			t.Fatal("no failure was reported")
		}
	}
}
