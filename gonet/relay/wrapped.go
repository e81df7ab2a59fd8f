package relay

import (
	"errors"
	"net"
	"sync/atomic"
)

// wrapped is a connection inside one of ours. It keeps the methods that Join and Reset need, and
// hides those by which package net copies between two sockets without the program.
type wrapped struct{ net.Conn }

// CloseWrite closes the sending direction.
func (c wrapped) CloseWrite() error { return closeWrite(c.Conn) }

// SetLinger is that of net.TCPConn, if the connection has one.
func (c wrapped) SetLinger(seconds int) error {
	if l, ok := c.Conn.(interface{ SetLinger(seconds int) error }); ok {
		return l.SetLinger(seconds)
	}
	return errors.ErrUnsupported
}

// countedConn is a connection whose bytes are counted.
type countedConn struct {
	wrapped
	read, written *atomic.Uint64
}

// Count returns a connection that adds the bytes that are read from c, and those that are written
// to it, to two counters.
func Count(c net.Conn, read, written *atomic.Uint64) net.Conn {
	return &countedConn{wrapped{c}, read, written}
}

// Read implements net.Conn.
func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read.Add(uint64(n))
	return n, err
}

// Write implements net.Conn.
func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.written.Add(uint64(n))
	return n, err
}
