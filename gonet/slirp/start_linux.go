package slirp

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// StartTCP is for Config.StartTCP.
func (k Kernel) StartTCP(to netip.AddrPort) (Starting, error) {
	family := syscall.AF_INET6
	if to.Addr().Is4() {
		family = syscall.AF_INET
	}
	fd, err := syscall.Socket(family,
		syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if from := k.local(to.Addr()); from.IsValid() {
		local := socketAddress(netip.AddrPortFrom(from, 0))
		err = os.NewSyscallError("bind", syscall.Bind(fd, local))
	}
	if err == nil {
		err = os.NewSyscallError("connect", syscall.Connect(fd, socketAddress(to)))
	}
	if err != nil && !errors.Is(err, syscall.EINPROGRESS) {
		return nil, errors.Join(err, syscall.Close(fd))
	}
	return &startedSocket{fd: fd, connected: isConnected(fd)}, nil
}

// socketAddress returns an address as system calls take it.
func socketAddress(a netip.AddrPort) syscall.Sockaddr {
	if a.Addr().Is4() {
		return &syscall.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &syscall.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

// isConnected tells whether a socket has a peer.
func isConnected(fd int) bool {
	_, err := syscall.Getpeername(fd)
	return err == nil
}

// startedSocket is a socket that connects, or has connected.
type startedSocket struct {
	fd        int
	connected bool
}

// Connected implements Starting.
func (c *startedSocket) Connected() bool { return c.connected }

// Wait implements Starting.
func (c *startedSocket) Wait(ctx context.Context) (net.Conn, error) {
	f := os.NewFile(uintptr(c.fd), "socket")
	defer f.Close()
	if !c.connected {
		if err := awaitConnect(ctx, f); err != nil {
			return nil, err
		}
	}
	return net.FileConn(f) // of a copy
}

// awaitConnect waits until a socket is connected, or the context ends.
func awaitConnect(ctx context.Context, f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		_ = f.SetWriteDeadline(time.Unix(1, 0)) // it may be closed by now
	})()
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		code, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
		switch {
		case err != nil:
			failed = os.NewSyscallError("getsockopt", err)
		case code != 0:
			failed = os.NewSyscallError("connect", syscall.Errno(code))
		default:
			return isConnected(int(fd)) // else the poller waits, and this function is called again
		}
		return true
	})
	return cmp.Or(ctx.Err(), err, failed)
}
