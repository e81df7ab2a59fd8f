package server

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// TestWebConnections opens more connections of HTTP than an address may have. A further one is
// closed unread, until one of them ends or is a WebSocket.
func TestWebConnections(t *testing.T) {
	const most = 3
	var count atomic.Int32
	srv := open(t, t.TempDir(), func(c *Config) {
		c.Web = []string{"127.0.0.1:0"}
		c.EnterWeb = func(net.Addr) (func(), bool) {
			if count.Add(1) > most {
				count.Add(-1)
				return nil, false
			}
			return func() { count.Add(-1) }, true
		}
	})
	ask := func() (net.Conn, bool) {
		t.Helper()
		c, err := net.Dial("tcp", srv.at[1])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(patience))
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n") // it may be closed already
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return c, false
		}
		return c, r.Body.Close() == nil
	}
	ask()
	c, _ := ask()
	if _, ok := ask(); !ok {
		t.Errorf("connection %d is refused", most)
	}
	if _, ok := ask(); ok {
		t.Errorf("connection %d is served", most+1)
	}
	_ = c.Close()
	// The server hears of the end a little later.
	oneLess := func() {
		for end := time.Now().Add(patience); count.Load() == most && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}
	oneLess()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ws, _, err := srv.browse(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	oneLess() // the client hears first that its connection is a WebSocket now
	if _, ok := ask(); !ok {
		t.Error("a WebSocket counts as a connection of HTTP")
	}
	if n := count.Load(); n != most {
		t.Errorf("%d connections are counted, want %d", n, most)
	}
}
