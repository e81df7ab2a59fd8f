package gonet

import (
	"bytes"
	"context"
	"net"
	"sync"
	"time"
)

// asyncConn is a connection on which Write and Close do not block: a goroutine writes the queued
// bytes in order, and closes. Programs that write under a mutex, such as those of HTTP/2 and SSH,
// can run on it in fake time, which stands still while a goroutine waits for a mutex.
type asyncConn struct {
	net.Conn
	mu     sync.Mutex
	queue  [][]byte
	closed bool
	err    error         // of an earlier write
	more   chan struct{} // signals that there is something to write, or to close
}

func newAsyncConn(c net.Conn) net.Conn {
	u := &asyncConn{Conn: c, more: make(chan struct{}, 1)}
	go u.writeQueued()
	return u
}

// writeQueued is the goroutine that writes the queue until the connection is closed.
func (u *asyncConn) writeQueued() {
	for range u.more {
		u.mu.Lock()
		queue, closed := u.queue, u.closed
		u.queue = nil
		u.mu.Unlock()
		for _, b := range queue {
			if _, err := u.Conn.Write(b); err != nil {
				u.mu.Lock()
				u.err = err
				u.mu.Unlock()
			}
		}
		if closed {
			_ = u.Conn.Close() // the reader at the other end checks
			return
		}
	}
}

func (u *asyncConn) Write(b []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return 0, net.ErrClosed
	}
	if u.err != nil {
		return 0, u.err
	}
	u.queue = append(u.queue, bytes.Clone(b))
	u.wake()
	return len(b), nil
}

func (u *asyncConn) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	u.wake()
	return u.Conn.SetReadDeadline(time.Unix(1, 0)) // ends a blocked Read
}

func (u *asyncConn) wake() {
	select {
	case u.more <- struct{}{}:
	default: // a signal is pending
	}
}

// asyncListener accepts connections as asyncConn.
type asyncListener struct{ net.Listener }

func (l asyncListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newAsyncConn(c), nil
}

// dial connects the client to the server.
func (p *hostPair) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := p.client.DialContext(ctx, network, address)
	if err != nil || !p.asyncWrites {
		return c, err
	}
	return newAsyncConn(c), nil
}
