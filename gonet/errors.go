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
	errUnreachable     = os.NewSyscallError("connect", syscall.ENETUNREACH)
	errUnreachableHost = os.NewSyscallError("connect", syscall.EHOSTUNREACH)
	errInUse           = os.NewSyscallError("bind", syscall.EADDRINUSE)
	errNotOurs         = os.NewSyscallError("bind", syscall.EADDRNOTAVAIL)
	errNoPort          = os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)
	errTooLong         = os.NewSyscallError("sendto", syscall.EMSGSIZE)
	errReset           = os.NewSyscallError("read", syscall.ECONNRESET)
	errRefused         = os.NewSyscallError("connect", syscall.ECONNREFUSED)
	errTimedOut        = os.NewSyscallError("connect", syscall.ETIMEDOUT)
	errPipe            = os.NewSyscallError("write", syscall.EPIPE)
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
