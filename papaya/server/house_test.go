package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"interleave/papaya/log"
)

// patience is a net under what must happen; nothing is expected to be fast.
const patience = 5 * time.Minute

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

// A guest is a client of the test.
type guest struct {
	t     *testing.T
	c     net.Conn
	lines *bufio.Scanner
}

func (h *house) connect() *guest {
	h.t.Helper()
	c, err := net.Dial("tcp", h.at[0])
	return newGuest(h.t, c, err)
}

// connectTLS is for servers whose first listener is for TLS.
func (h *house) connectTLS(config *tls.Config) *guest {
	h.t.Helper()
	c, err := tls.Dial("tcp", h.at[0], config)
	return newGuest(h.t, c, err)
}

func newGuest(t *testing.T, c net.Conn, err error) *guest {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(c)
	lines.Buffer(nil, 16<<10)
	return &guest{t, c, lines}
}

func (g *guest) say(format string, words ...any) {
	g.t.Helper()
	if _, err := fmt.Fprintf(g.c, format+"\r\n", words...); err != nil {
		g.t.Fatal(err)
	}
}

// hear reads to a line that holds a text, and returns all that came, that line the last.
func (g *guest) hear(text string) []string {
	g.t.Helper()
	var all []string
	for g.lines.Scan() {
		all = append(all, g.lines.Text())
		if strings.Contains(g.lines.Text(), text) {
			return all
		}
	}
	g.t.Fatalf("no %q in\n%s\nthe end: %v", text, strings.Join(all, "\n"), g.lines.Err())
	return nil
}

// last is the last line of what hear reads.
func (g *guest) last(text string) string {
	g.t.Helper()
	all := g.hear(text)
	return all[len(all)-1]
}

// ended reads to the end of the connection and returns what came before.
func (g *guest) ended() []string {
	g.t.Helper()
	var all []string
	for g.lines.Scan() {
		all = append(all, g.lines.Text())
	}
	var late net.Error
	if err := g.lines.Err(); errors.As(err, &late) && late.Timeout() {
		g.t.Fatalf("the connection is still open; heard\n%s", strings.Join(all, "\n"))
	}
	return all
}

// enter registers and joins rooms.
func (g *guest) enter(nick string, rooms ...string) *guest {
	g.t.Helper()
	g.say("NICK %s\r\nUSER %s 0 * :%s", nick, nick, nick)
	g.hear(" 422 ")
	for _, r := range rooms {
		g.say("JOIN %s", r)
		g.hear(" 366 ")
	}
	return g
}

// synced returns when all that was said is in the log.
func (g *guest) synced() {
	g.t.Helper()
	g.say("PING synced")
	g.hear("PONG chat :synced")
}
