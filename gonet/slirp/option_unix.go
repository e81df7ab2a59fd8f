//go:build unix

package slirp

import (
	"os"
	"syscall"
)

// setOption sets an option of a socket.
func setOption(c syscall.RawConn, option, value int) error {
	var failed error
	if err := c.Control(func(fd uintptr) {
		failed = os.NewSyscallError("setsockopt",
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, option, value))
	}); err != nil {
		return err
	}
	return failed
}

// refuseBroadcast keeps a socket from sending to a broadcast address of the host's networks, which
// package net lets all sockets of UDP do. To connect it to one then fails with EACCES.
func refuseBroadcast(c syscall.RawConn) error {
	return setOption(c, syscall.SO_BROADCAST, 0)
}
