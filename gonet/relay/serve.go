// Package relay has what proxies and port forwards share: it accepts clients in bounded numbers,
// copies between two connections, and forwards datagrams.
package relay

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Accept may fail for a while, for example when the process has too many open files. Serve then
// tries again after a pause, which doubles from firstPause on, and gives up after maxFailures in a
// row: after five seconds. Guesses.
const (
	firstPause  = 5 * time.Millisecond
	maxFailures = 10
)

// Serve accepts connections until the context ends, and calls handle for each in a goroutine of its
// own. It closes a connection when its handle returns, and resets all when the context ends. It
// returns when the listener is closed and every handle has returned. An error is one of Accept.
func Serve(ctx context.Context, l net.Listener,
	handle func(ctx context.Context, c net.Conn)) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	defer closeWith(ctx, l)()
	failures := 0
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil
		case failures == maxFailures || errors.Is(err, net.ErrClosed):
			return err
		default:
			pause(ctx, firstPause<<failures)
			failures++
			continue
		}
		failures = 0
		running.Go(func() {
			defer func() { _ = c.Close() }() // it may be closed already
			defer context.AfterFunc(ctx, func() { Reset(c) })()
			handle(ctx, c)
		})
	}
}

// closeWith closes c when the context ends, or else when the function that it returns is called.
// That returns when c is closed: a second Close, which need not wait for the first, would not do.
func closeWith(ctx context.Context, c io.Closer) (now func()) {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = c.Close() // it may be closed already
	})
	return func() {
		if stop() {
			_ = c.Close() // likewise
			return
		}
		<-closed
	}
}

// pause waits, at most until the context ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Limited is a listener with a bound on its connections.
type Limited struct {
	net.Listener
	slots  chan struct{} // one element for each open connection
	closed chan struct{}
	once   sync.Once
}

// Limit returns a listener whose connections are at most so many at once. Accept waits while there
// are; further clients are in the backlog of l meanwhile.
func Limit(l net.Listener, most int) *Limited {
	return &Limited{Listener: l, slots: make(chan struct{}, most), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *Limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &limitedConn{wrapped: wrapped{c}, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

// Close implements net.Listener.
func (l *Limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// NearlyFull tells whether more than three quarters of the connections are open, with the one for
// which Accept waits. Then those that are idle should be closed.
func (l *Limited) NearlyFull() bool { return len(l.slots) > cap(l.slots)*3/4 }

// limitedConn is a connection that gives its slot back when it is closed.
type limitedConn struct {
	wrapped
	release func()
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
