package gonet

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"

	"interleave/gonet/tcp"
)

// The errors of connections and sockets. As in package net, each wraps the error of the operating
// system that programs look for with errors.Is.
var (
	errClosed          = net.ErrClosed
	errUnreachable     = os.NewSyscallError("connect", enetunreach)
	errUnreachableHost = os.NewSyscallError("connect", ehostunreach)
	errInUse           = os.NewSyscallError("bind", eaddrinuse)
	errNotOurs         = os.NewSyscallError("bind", eaddrnotavail)
	errNoPort          = os.NewSyscallError("connect", eaddrnotavail)
	errTooLong         = os.NewSyscallError("sendto", emsgsize)
	errReset           = os.NewSyscallError("read", econnreset)
	errRefused         = os.NewSyscallError("connect", econnrefused)
	errTimedOut        = os.NewSyscallError("connect", syscall.ETIMEDOUT)
	errNoBuffers       = os.NewSyscallError("setsockopt", enobufs)
	errPipe            = os.NewSyscallError("write", epipe)
)

// timeout makes the error of a context or a deadline a net.Error.
type timeout struct{ error }

func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }
func (t timeout) Unwrap() error { return t.error }

// translate converts an error of the machine to that of the operating system.
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, tcp.ErrReset):
		return errReset
	case errors.Is(err, tcp.ErrRefused):
		return errRefused
	case errors.Is(err, tcp.ErrTimeout):
		return errTimedOut
	case errors.Is(err, tcp.ErrClosed):
		return errClosed
	case errors.Is(err, context.DeadlineExceeded):
		return timeout{err}
	}
	return err
}
