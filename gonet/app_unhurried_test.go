package gonet

import (
	"bytes"
	"context"
	"net"
	"sync"
	"time"
)

// unhurried is a connection on which Write and Close do not wait: a goroutine writes what was said,
// in order, and closes. A program that writes while it holds a mutex, as those of HTTP/2 and SSH
// do, can run on it in fake time, which stands still while somebody waits for a mutex.
type unhurried struct {
	net.Conn
	mu     sync.Mutex
	queue  [][]byte
	closed bool
	err    error         // of a write before
	more   chan struct{} // has an element when there is something to write, or to close
}

func newUnhurried(c net.Conn) net.Conn {
	u := &unhurried{Conn: c, more: make(chan struct{}, 1)}
	go u.carry()
	return u
}

// carry writes what is said until the connection is closed.
func (u *unhurried) carry() {
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
			_ = u.Conn.Close() // who reads at the other end tells
			return
		}
	}
}

func (u *unhurried) Write(b []byte) (int, error) {
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

func (u *unhurried) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	u.wake()
	return u.Conn.SetReadDeadline(time.Unix(1, 0)) // who reads here ends at once
}

func (u *unhurried) wake() {
	select {
	case u.more <- struct{}{}:
	default: // it has not looked since the last one
	}
}

// unhurriedListener accepts connections of that kind.
type unhurriedListener struct{ net.Listener }

func (l unhurriedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newUnhurried(c), nil
}

// dial connects the client to the server.
func (p *pairing) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := p.client.DialContext(ctx, network, address)
	if err != nil || !p.unhurried {
		return c, err
	}
	return newUnhurried(c), nil
}
