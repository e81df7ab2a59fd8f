//go:build darwin || freebsd || linux || openbsd

package link

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// NewDescriptor makes a link of a descriptor that another process has opened and handed in: that of
// a tun or, on Linux, of a tap; of a stream socket, as NewStream does; or of a connected socket of
// datagrams, as NewPackets does. A tap or tun of Linux must be attached with IFF_NO_PI, which the
// kernel does not tell. QEMU takes the other end of a pair of sockets with -netdev
// stream,addr.type=fd or -netdev dgram,local.type=fd.
//
// Offloads among the features are ignored: those of a device are its own. So is L3 for a device,
// and an MTU of 0 is the device's. The link owns the descriptor; if NewDescriptor fails, the caller
// still does.
func NewDescriptor(fd int, features Features) (Link, error) {
	l, err := fromDevice(fd, features)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d: %w", fd, err)
	}
	if l != nil {
		return l, nil
	}
	kind, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TYPE)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d: neither a device nor a socket: %w", fd, err)
	}
	// Anybody could send to a socket that is not connected, and what it sends goes nowhere.
	if _, err := syscall.Getpeername(fd); errors.Is(err, syscall.ENOTCONN) {
		return nil, fmt.Errorf("descriptor %d: a socket without a peer: %w", fd, err)
	}
	conn, err := socketConn(fd)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d: %w", fd, err)
	}
	_ = syscall.Close(fd) // conn has a copy
	if kind == syscall.SOCK_STREAM {
		return NewStream(conn, features), nil
	}
	return NewPackets(conn, features), nil
}

// socketConn makes a connection of a copy of a descriptor. In a connection of package net, unlike
// in a file, a datagram of no bytes is not the end.
func socketConn(fd int) (net.Conn, error) {
	own, err := dup(fd)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(own), "socket")
	defer file.Close() // the connection has another copy
	return net.FileConn(file)
}
