//go:build !linux

package slirp

import (
	"errors"
	"syscall"
)

// reusePort fails: only Linux is known to hand a datagram to the socket that is connected to its
// sender, if several have its port.
func reusePort(syscall.RawConn) error { return errors.ErrUnsupported }
