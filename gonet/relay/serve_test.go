package relay

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// patience bounds what must happen at all; nothing is expected to be fast.
const patience = 5 * time.Minute

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func dial(t *testing.T, l net.Listener) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// wait waits for the end of what ended reports.
func wait(t *testing.T, ended <-chan error, want error) {
	t.Helper()
	select {
	case err := <-ended:
		if !errors.Is(err, want) {
			t.Errorf("it ended with %v, want %v", err, want)
		}
	case <-time.After(patience):
		t.Fatal("it has not ended")
	}
}

// TestServe serves two clients, of whom one stays until the context ends.
func TestServe(t *testing.T) {
	l := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, l, func(_ context.Context, c net.Conn) { _, _ = io.Copy(c, c) })
	}()
	short, long := dial(t, l), dial(t, l)
	for _, c := range []*net.TCPConn{short, long} {
		if _, err := io.WriteString(c, "hello"); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 5)
		if _, err := io.ReadFull(c, b); err != nil || string(b) != "hello" {
			t.Fatalf("%q, %v", b, err)
		}
	}
	if err := short.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if n, err := short.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("%d, %v after the handle's end", n, err)
	}
	cancel()
	wait(t, ended, nil)
	if n, err := long.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d, %v after the context's end", n, err)
	}
	if c, err := net.Dial("tcp4", l.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("the listener is still open")
	}
}

// failing is a listener whose Accept has errors.
type failing struct {
	net.Listener
	calls atomic.Int32
	err   error
	times int32 // how often; -1: always
}

func (l *failing) Accept() (net.Conn, error) {
	if n := l.calls.Add(1); l.times < 0 || n <= l.times {
		return nil, l.err
	}
	return l.Listener.Accept()
}

// nowhere is a listener without clients.
type nowhere struct {
	closed chan struct{}
	once   sync.Once
}

func (l *nowhere) Accept() (net.Conn, error) { <-l.closed; return nil, net.ErrClosed }
func (l *nowhere) Addr() net.Addr            { return &net.TCPAddr{} }
func (l *nowhere) Close() error              { l.once.Do(func() { close(l.closed) }); return nil }

// slow is a listener that wakes Accept when it begins to close, and closes later. As with others, a
// further Close does not wait for the first one.
type slow struct {
	nowhere
	begun   atomic.Bool
	release chan struct{}
}

func (l *slow) Close() error {
	if l.begun.Swap(true) {
		return net.ErrClosed
	}
	_ = l.nowhere.Close() // it returns nil
	<-l.release
	return nil
}

// TestServeWaitsForClose holds that the listener is closed when Serve returns.
func TestServeWaitsForClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &slow{nowhere: nowhere{closed: make(chan struct{})}, release: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- Serve(ctx, l, nil) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		select {
		case err := <-ended:
			t.Error("it has returned before the listener is closed")
			ended <- err
		default:
		}
		close(l.release)
		synctest.Wait()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestServeTriesAgain has errors that pass, one that stays, and the end of the context between.
func TestServeTriesAgain(t *testing.T) {
	full := errors.New("too many open files")
	for _, c := range []struct {
		name  string
		err   error
		times int32
		want  error
		calls int32
	}{
		{"it passes", full, maxFailures, nil, maxFailures + 1},
		{"it stays", full, -1, full, maxFailures + 1},
		{"closed", net.ErrClosed, -1, net.ErrClosed, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &failing{Listener: &nowhere{closed: make(chan struct{})}, err: c.err,
					times: c.times}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended := make(chan error, 1)
				go func() { ended <- Serve(ctx, l, func(context.Context, net.Conn) {}) }()
				time.Sleep(time.Minute) // fake
				if got := l.calls.Load(); got != c.calls {
					t.Errorf("%d calls of Accept, want %d", got, c.calls)
				}
				cancel()
				wait(t, ended, c.want)
			})
		})
	}
}

// TestLimit has a client wait until another has gone, and one that waits when the listener is
// closed.
func TestLimit(t *testing.T) {
	l := Limit(listen(t), 1)
	first := dial(t, l)
	one, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	second := dial(t, l)
	accepted := make(chan net.Conn, 1)
	ended := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		accepted <- c
		ended <- err
	}()
	select {
	case <-accepted:
		t.Fatal("two connections at once")
	case <-time.After(20 * time.Millisecond):
	}
	// Its direction can be closed, and it can be closed twice.
	if err := one.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Error(err)
	}
	if n, err := first.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("%d, %v after CloseWrite", n, err)
	}
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	_ = one.Close()
	two := <-accepted
	wait(t, ended, nil)
	if _, err := io.WriteString(two, "hello"); err != nil {
		t.Error(err)
	}
	b := make([]byte, 5)
	if _, err := io.ReadFull(second, b); err != nil || string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
	go func() {
		_, err := l.Accept()
		ended <- err
	}()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	wait(t, ended, net.ErrClosed)
	_ = two.Close()
}

func TestLogin(t *testing.T) {
	l := Login{"me", "secret"}
	for _, c := range []struct {
		user, password string
		want           bool
	}{{"me", "secret", true}, {"me", "secreT", false}, {"m", "secret", false}, {"", "", false},
		{"mes", "ecret", false}} {
		if got := l.Matches(c.user, c.password); got != c.want {
			t.Errorf("%q and %q: %v", c.user, c.password, got)
		}
	}
	if !l.Required() || (Login{}).Required() {
		t.Error("only a login that is set is required")
	}
}
