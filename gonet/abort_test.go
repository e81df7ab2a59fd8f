package gonet

import (
	"bytes"
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

// TestAbortLetsFinish aborts a stack right after a connection with unsent bytes on a slow path was
// closed: the bytes arrive. A connection that makes no progress does not delay the end.
func TestAbortLetsFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := link.Pair()
		a, b := twoHosts(t, link.NewFaults(one, 1, link.Fault{Delay: 20 * time.Millisecond},
			link.Fault{}), slowClose{other})
		var clients, servers []net.Conn
		for range 2 {
			c, s := connected(t, a, b, "10.0.0.2")
			clients, servers = append(clients, c), append(servers, s)
		}
		// ends with an error: nobody reads
		go func() { _, _ = servers[1].Write(make([]byte, 32<<20)) }()
		time.Sleep(10 * time.Second)
		text := bytes.Repeat([]byte("x"), 50_000) // more than the initial congestion window
		if _, err := servers[0].Write(text); err != nil {
			t.Fatal(err)
		}
		for _, s := range servers {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Abort(); err != nil {
			t.Error(err)
		}
		if got, err := io.ReadAll(clients[0]); err != nil || !bytes.Equal(got, text) {
			t.Errorf("got %d bytes and %v, want %d and the end", len(got), err, len(text))
		}
		if _, err := io.Copy(io.Discard, clients[1]); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("who does not read: got %v, want a reset", err)
		}
	})
}
