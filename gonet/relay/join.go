package relay

import (
	"context"
	"errors"
	"net"
)

// Join copies between two connections in both directions, and returns when both have ended. The end
// of one direction is passed on by CloseWrite, so that the other direction may go on. An error of
// either connection, or the end of the context, resets both: what was cut off must not look like a
// whole. Join closes the connections, and returns the first error.
func Join(ctx context.Context, a, b net.Conn) error {
	resetBoth := func() {
		Reset(a)
		Reset(b)
	}
	defer func() { _, _ = a.Close(), b.Close() }() // they may be closed already
	defer context.AfterFunc(ctx, resetBoth)()
	copied := make(chan error, 2)
	one := func(to, from net.Conn) {
		err := copyAll(to, from)
		if err == nil {
			err = closeWrite(to)
		}
		copied <- err // before the reset, whose consequences are no news
		if err != nil {
			resetBoth()
		}
	}
	go one(a, b)
	one(b, a)
	first, second := <-copied, <-copied
	if first == nil {
		return second
	}
	return first
}

// Reset closes a connection with a reset, if it is of TCP: its peer sees an error and not an end.
func Reset(c net.Conn) {
	if l, ok := c.(interface{ SetLinger(seconds int) error }); ok {
		_ = l.SetLinger(0) // it may be closed already
	}
	_ = c.Close() // likewise
}

var errNoHalfClose = errors.New("the connection cannot close one direction")

// closeWrite closes the sending direction of a connection.
func closeWrite(c net.Conn) error {
	w, ok := c.(interface{ CloseWrite() error })
	if !ok {
		return errNoHalfClose
	}
	return w.CloseWrite()
}
