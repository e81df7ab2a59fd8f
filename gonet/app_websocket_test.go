package gonet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// serveWebSocket echoes each message, until its client closes or sends "bye".
func serveWebSocket(t *testing.T, limit int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r,
			&websocket.AcceptOptions{CompressionMode: websocket.CompressionContextTakeover})
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = c.CloseNow() }() // the connection may have ended
		c.SetReadLimit(limit)
		for {
			kind, b, err := c.Read(r.Context())
			if err != nil {
				return // the client gets the error
			}
			if string(b) == "bye" {
				_ = c.Close(4321, "as you wish") // the client checks
				return
			}
			if err := c.Write(r.Context(), kind, b); err != nil {
				return
			}
		}
	})
}

// TestAppWebSocket exchanges many messages and pings, closes from either side, and sends a message
// that is too long.
func TestAppWebSocket(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	inFakeTime(t, func(t *testing.T, p *hostPair) {
		server := &http.Server{Handler: serveWebSocket(t, limit), ReadHeaderTimeout: time.Minute}
		l := p.listen(t, 80)
		go func() { _ = server.Serve(l) }() // until Close
		t.Cleanup(func() { _ = server.Close() })
		client := &http.Client{Transport: &http.Transport{DialContext: p.client.DialContext}}
		t.Cleanup(client.CloseIdleConnections)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		dial := func(mode websocket.CompressionMode) *websocket.Conn {
			c, r, err := websocket.Dial(ctx, "ws://"+p.at(80)+"/", &websocket.DialOptions{HTTPClient: client, CompressionMode: mode}) //nolint:bodyclose // the connection is the body
			if err != nil {
				t.Fatal(err)
			}
			if r.StatusCode != http.StatusSwitchingProtocols {
				t.Errorf("answered %s", r.Status)
			}
			c.SetReadLimit(limit)
			return c
		}
		var all sync.WaitGroup
		for i := range fewer(8, 2) {
			c := dial([]websocket.CompressionMode{websocket.CompressionDisabled,
				websocket.CompressionContextTakeover}[i%2])
			all.Go(func() { converse(ctx, t, c, i) })
		}
		all.Wait()

		var end websocket.CloseError
		c := dial(websocket.CompressionDisabled)
		if err := c.Write(ctx, websocket.MessageText, []byte("bye")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Read(ctx); !errors.As(err, &end) || end.Code != 4321 ||
			end.Reason != "as you wish" {
			t.Errorf("the server's end: %v", err)
		}
		c = dial(websocket.CompressionDisabled)
		if err := c.Write(ctx, websocket.MessageBinary, make([]byte, limit+1)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Read(ctx); !errors.As(err, &end) ||
			end.Code != websocket.StatusMessageTooBig {
			t.Errorf("of a message that is too long: %v", err)
		}
	})
}

// converse sends messages of all lengths that the protocol frames differently, one of them in
// several writes.
func converse(ctx context.Context, t *testing.T, c *websocket.Conn, i int) {
	for _, n := range []int{0, 1, 125, 126, 65_535, 65_536, 100_000 + i} {
		w, err := c.Writer(ctx, websocket.MessageBinary)
		if err != nil {
			t.Error(err)
			return
		}
		want := pattern(n)
		if _, err := io.CopyBuffer(struct{ io.Writer }{w},
			struct{ io.Reader }{bytes.NewReader(want)}, make([]byte, 10_000)); err != nil {
			t.Error(err)
			return
		}
		if err := w.Close(); err != nil {
			t.Error(err)
			return
		}
		if kind, got, err := c.Read(ctx); err != nil || kind != websocket.MessageBinary ||
			!bytes.Equal(got, want) {
			t.Errorf("%v of %d bytes for %d, %v", kind, len(got), n, err)
			return
		}
	}
	ctx = c.CloseRead(ctx) // the pong must be read
	if err := c.Ping(ctx); err != nil {
		t.Errorf("ping: %v", err)
	}
	if err := c.Close(websocket.StatusNormalClosure, "done"); err != nil {
		t.Errorf("our end: %v", err)
	}
}
