//go:build unix

package relay

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
)

// roomyConn is a connection with Fill. At every third call it has no room. If fails is set, all
// calls but the first one fail.
type roomyConn struct {
	net.Conn
	fails        error
	calls, waits int
	most         int // the largest room that was asked for
}

func (c *roomyConn) Fill(size int, f func(a, b []byte) int) (int, error) {
	c.most = max(c.most, size)
	switch c.calls++; {
	case c.fails != nil && c.calls > 1:
		return 0, c.fails
	case c.calls%3 == 0:
		return 0, nil
	}
	a, b := make([]byte, size/3), make([]byte, size-size/3)
	n := f(a, b)
	return c.Conn.Write(append(a, b...)[:n])
}

func (c *roomyConn) WaitWritable(int) error {
	c.waits++
	return nil
}

func (c *roomyConn) CloseWrite() error { return closeWrite(c.Conn) }

// TestFillFrom copies from a socket into a connection with Fill, and counts.
func TestFillFrom(t *testing.T) {
	client, a := pair(t)
	b, server := pair(t)
	var read, written atomic.Uint64
	to := &roomyConn{Conn: b}
	ended := make(chan error, 1)
	go func() { ended <- Join(t.Context(), to, Count(a, &read, &written)) }()
	want := make([]byte, 3_000_000)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range want {
		want[i] = byte(random.Uint32())
	}
	go func() {
		_, _ = client.Write(want) // what does not arrive shows below
		_ = client.CloseWrite()
	}()
	if got, err := io.ReadAll(server); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
	_ = server.Close() // nothing was sent
	wait(t, ended, nil)
	if n := int(read.Load()); n != len(want) {
		t.Errorf("%d bytes were counted, want %d", n, len(want))
	}
	if to.waits == 0 || to.most <= leastRoom || to.most > mostRoom {
		t.Errorf("%d times without room; room for %d bytes at most", to.waits, to.most)
	}
}

// TestFillFromEnds ends a copy by an error of either side, and by the context.
func TestFillFromEnds(t *testing.T) {
	for name, c := range map[string]struct {
		fails error
		end   func(client *net.TCPConn, cancel context.CancelFunc)
		want  error
	}{
		"connection": {syscall.EPIPE, func(client *net.TCPConn, _ context.CancelFunc) {
			_, _ = client.Write([]byte("x")) // it is lost
		}, syscall.EPIPE},
		"socket": {nil, func(client *net.TCPConn, _ context.CancelFunc) { Reset(client) },
			syscall.ECONNRESET},
		"context": {nil, func(_ *net.TCPConn, cancel context.CancelFunc) { cancel() },
			net.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			client, a := pair(t)
			b, _ := pair(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- Join(ctx, &roomyConn{Conn: b, fails: c.fails}, a) }()
			c.end(client, cancel)
			wait(t, ended, c.want)
		})
	}
}
