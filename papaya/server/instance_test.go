package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"interleave/internal/irctest"
	"interleave/papaya/hall"
	"interleave/papaya/log"
)

// testSecret is that of all servers of tests, so that a restart keeps msgids.
var testSecret = hall.Secret{1}

// msgidOf returns the msgid of a line that a client has received.
func msgidOf(t testing.TB, line string) string {
	t.Helper()
	id := regexp.MustCompile(`msgid=(\w+)`).FindStringSubmatch(line)
	if id == nil {
		t.Fatalf("%q has no msgid", line)
	}
	return id[1]
}

// patience bounds every wait; nothing is expected to be fast.
const patience = irctest.Patience

// patient gives clients as much time as the tests have.
var patient = Limits{Register: patience, Answer: patience}

// An instance is a server in this process. The kernel chooses the ports.
type instance struct {
	t       testing.TB
	said    lockedBuffer // its log
	text    *log.Text
	mu      sync.Mutex
	at      []string // addresses: plain, TLS, web
	stopped chan error
	stop    context.CancelFunc
}

// lockedBuffer is written by the server and read by the test.
type lockedBuffer struct {
	mu      sync.Mutex
	text    strings.Builder
	written chan struct{} // closed by the next Write, if somebody waits for it
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.written != nil {
		close(b.written)
		b.written = nil
	}
	return b.text.Write(p)
}

// until waits until the text has some words.
func (b *lockedBuffer) until(t testing.TB, words string) {
	t.Helper()
	late := time.After(patience)
	for {
		b.mu.Lock()
		text := b.text.String()
		if b.written == nil {
			b.written = make(chan struct{})
		}
		written := b.written
		b.mu.Unlock()
		if strings.Contains(text, words) {
			return
		}
		select {
		case <-written:
		case <-late:
			t.Fatalf("nobody says %q:\n%s", words, text)
		}
	}
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// open starts a server on a folder. change may change its configuration.
func open(t testing.TB, folder string, change func(*Config)) *instance {
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
	srv := &instance{t: t, text: text, stopped: make(chan error, 1)}
	ready := make(chan struct{})
	config := Config{Secret: testSecret,
		Plain: []string{"127.0.0.1:0"}, Data: folder, Text: text, Log: store, Limits: patient,
		Logger: slog.New(slog.NewTextHandler(&srv.said,
			&slog.HandlerOptions{Level: slog.LevelDebug})),
		Ready: func() { close(ready) },
		Listen: func(network, address string) (net.Listener, error) {
			l, err := net.Listen(network, address)
			if err == nil {
				srv.mu.Lock()
				srv.at = append(srv.at, l.Addr().String())
				srv.mu.Unlock()
			}
			return l, err
		},
	}
	if change != nil {
		change(&config)
	}
	ctx, stop := context.WithCancel(context.Background())
	srv.stop = stop
	go func() {
		err := Run(ctx, config)
		srv.stopped <- errors.Join(err, store.Close(), text.Close())
	}()
	t.Cleanup(func() {
		srv.end()
		if said := srv.said.String(); t.Failed() && said != "" {
			t.Logf("the server's last words:\n%s", said[max(0, len(said)-lastWords):])
		}
	})
	select {
	case <-ready:
	case err := <-srv.stopped:
		t.Fatalf("the server has ended: %v", err)
	case <-time.After(patience):
		t.Fatal("the server is not ready")
	}
	return srv
}

// lastWords is how many bytes of a server's log a failure shows.
const lastWords = 4 << 10

// end stops the server; a second call has no effect.
func (srv *instance) end() {
	if srv.stop == nil {
		return
	}
	srv.stop()
	srv.stop = nil
	select {
	case err := <-srv.stopped:
		if err != nil {
			srv.t.Errorf("the server has ended with %v", err)
		}
	case <-time.After(patience):
		srv.t.Error("the server does not end")
	}
}

// connect connects to the first listener.
func (srv *instance) connect() *irctest.Client {
	srv.t.Helper()
	return irctest.Dial(srv.t, srv.at[0])
}

// connectTLS is for servers whose first listener is for TLS.
func (srv *instance) connectTLS(config *tls.Config) *irctest.Client {
	srv.t.Helper()
	return irctest.DialTLS(srv.t, srv.at[0], config)
}

// synced returns when everything that the client has sent is in the log.
func synced(c *irctest.Client) {
	c.Send("PING synced")
	c.Expect("PONG chat :synced")
}
