package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"interleave/internal/irctest"
	"interleave/papaya/log"
)

// patience bounds every wait; nothing is expected to be fast.
const patience = irctest.Patience

// A house is a server in this process, with all listeners at ports of the kernel's choice.
type house struct {
	t       *testing.T
	said    lockedBuffer // what it says about itself
	mu      sync.Mutex
	at      []string // plain, TLS, web
	stopped chan error
	stop    context.CancelFunc
}

// lockedBuffer is written by the server and read by the test.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// open starts a server on a folder; change may change what it is told.
func open(t *testing.T, folder string, change func(*Config)) *house {
	t.Helper()
	text, err := log.OpenText(folder)
	if err != nil {
		t.Fatal(err)
	}
	store, err := log.Open(t.Context(), log.Options{Folder: filepath.Join(folder, "stream"),
		Name: "test"})
	if err != nil {
		text.Close()
		t.Fatal(err)
	}
	h := &house{t: t, stopped: make(chan error, 1)}
	ready := make(chan struct{})
	config := Config{
		Plain: []string{"127.0.0.1:0"}, Data: folder, Text: text, Log: store,
		Logger: slog.New(slog.NewTextHandler(&h.said,
			&slog.HandlerOptions{Level: slog.LevelDebug})),
		Ready: func() { close(ready) },
		Listen: func(network, address string) (net.Listener, error) {
			l, err := net.Listen(network, address)
			if err == nil {
				h.mu.Lock()
				h.at = append(h.at, l.Addr().String())
				h.mu.Unlock()
			}
			return l, err
		},
	}
	if change != nil {
		change(&config)
	}
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	go func() {
		err := Run(ctx, config)
		h.stopped <- errors.Join(err, store.Close(), text.Close())
	}()
	t.Cleanup(h.end)
	select {
	case <-ready:
	case err := <-h.stopped:
		t.Fatalf("the server has ended: %v", err)
	case <-time.After(patience):
		t.Fatal("the server is not ready")
	}
	return h
}

// end stops the server, once.
func (h *house) end() {
	if h.stop == nil {
		return
	}
	h.stop()
	h.stop = nil
	select {
	case err := <-h.stopped:
		if err != nil {
			h.t.Errorf("the server has ended with %v", err)
		}
	case <-time.After(patience):
		h.t.Error("the server does not end")
	}
}

// connect connects to the first listener.
func (h *house) connect() *irctest.Client {
	h.t.Helper()
	return irctest.Dial(h.t, h.at[0])
}

// connectTLS is for servers whose first listener is for TLS.
func (h *house) connectTLS(config *tls.Config) *irctest.Client {
	h.t.Helper()
	return irctest.DialTLS(h.t, h.at[0], config)
}

// synced returns when everything that the client has sent is in the log.
func synced(c *irctest.Client) {
	c.Send("PING synced")
	c.Expect("PONG chat :synced")
}
