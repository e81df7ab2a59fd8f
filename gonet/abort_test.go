package gonet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
)

// slowClose is a link whose Close delivers the frames that are in flight, as a tap's does.
type slowClose struct{ link.Link }

func (s slowClose) Close() error {
	time.Sleep(time.Second)
	return s.Link.Close()
}

// TestAbortOfAStack aborts a stack with open connections: both ends of each get an error at once,
// and a later dial is not answered.
func TestAbortOfAStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := link.Pair()
		a, b := twoHosts(t, one, slowClose{other})
		// a listener that waits for more connections
		if _, err := b.Listen("tcp4", ":7"); err != nil {
			t.Fatal(err)
		}
		var clients, servers []net.Conn
		for range 20 {
			c, s := connected(t, a, b, "10.0.0.2")
			clients, servers = append(clients, c), append(servers, s)
		}
		if err := servers[0].Close(); err != nil { // a connection that is closing already
			t.Error(err)
		}
		synctest.Wait()
		if err := b.Abort(); err != nil {
			t.Error(err)
		}
		for i, c := range clients {
			_, err := c.Read(make([]byte, 1))
			if i == 0 && !errors.Is(err, io.EOF) || i > 0 && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("client %d: got %v, want a reset", i, err)
			}
		}
		for i, s := range servers {
			if _, err := s.Write([]byte("x")); err == nil {
				t.Errorf("server %d still writes", i)
			}
		}
		if err := b.Abort(); err != nil {
			t.Error("once more:", err)
		}
	})
}

// TestCloseFlushes closes a stack right after bytes were written on a slow path: the bytes arrive,
// whether their connection was closed or not. A connection that makes no progress does not delay
// the end for long.
func TestCloseFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := link.Pair()
		a, b := twoHosts(t, link.NewFaults(one, 1, link.Fault{Delay: 20 * time.Millisecond},
			link.Fault{}), slowClose{other})
		var clients, servers []net.Conn
		for range 3 {
			c, s := connected(t, a, b, "10.0.0.2")
			clients, servers = append(clients, c), append(servers, s)
		}
		// ends with an error: nobody reads
		go func() { _, _ = servers[1].Write(make([]byte, 32<<20)) }()
		time.Sleep(10 * time.Second)
		text := bytes.Repeat([]byte("x"), 50_000) // more than the initial congestion window
		for _, s := range []net.Conn{servers[0], servers[2]} {
			if _, err := s.Write(text); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range servers[:2] {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		// slowClose takes a second
		if d := time.Since(begun); d > closeGrace+time.Second+flushPoll {
			t.Errorf("the end took %v", d)
		}
		for _, c := range []net.Conn{clients[0], clients[2]} {
			if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, text) {
				t.Errorf("got %d bytes and %v, want %d and the end", len(got), err, len(text))
			}
		}
		if _, err := io.Copy(io.Discard, clients[1]); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("who does not read: got %v, want a reset", err)
		}
	})
}

// slowHosts are two hosts with 100 ms between them, and a connection from one to the other.
func slowHosts(t *testing.T) (a, b *Stack, client, server net.Conn) {
	one, other := link.Pair()
	a, b = twoHosts(t, link.NewFaults(one, 1, link.Fault{Delay: 100 * time.Millisecond},
		link.Fault{}), slowClose{other})
	client, server = connected(t, a, b, "10.0.0.2")
	return a, b, client, server
}

// TestAbortDropsWhatWasClosed aborts a stack after 60 KB were written and closed: the peer gets a
// reset, and not the bytes.
func TestAbortDropsWhatWasClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b, client, server := slowHosts(t)
		if _, err := server.Write(make([]byte, 60_000)); err != nil {
			t.Fatal(err)
		}
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
		if err := b.Abort(); err != nil {
			t.Error(err)
		}
		if got, err := io.ReadAll(client); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("got %d bytes and %v, want a reset", len(got), err)
		}
	})
}

// TestShutdownIsBounded shuts a stack down with more to send than fits into the context's time, and
// then with enough time.
func TestShutdownIsBounded(t *testing.T) {
	for _, c := range []struct {
		limit time.Duration
		want  error
	}{{150 * time.Millisecond, context.DeadlineExceeded}, {time.Minute, nil}} {
		synctest.Test(t, func(t *testing.T) {
			_, b, client, server := slowHosts(t)
			text := bytes.Repeat([]byte("x"), 60_000)
			if _, err := server.Write(text); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), c.limit)
			defer cancel()
			if err := b.Shutdown(ctx); !errors.Is(err, c.want) {
				t.Errorf("within %v: %v, want %v", c.limit, err, c.want)
			}
			got, err := io.ReadAll(client)
			if c.want == nil && (err != nil || !bytes.Equal(got, text)) {
				t.Errorf("within %v: %d bytes, %v", c.limit, len(got), err)
			}
			if c.want != nil && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("within %v: %v, want a reset", c.limit, err)
			}
			if _, err := b.Dial("tcp4", "10.0.0.1:1"); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a dial after the end: %v", err)
			}
		})
	}
}
