package slirp

import (
	"os"
	"syscall"
)

// soReusePort is SO_REUSEPORT of Linux (asm-generic/socket.h), which package syscall does not have.
const soReusePort = 15

// reusePort lets further sockets of this user have the port of a socket.
func reusePort(c syscall.RawConn) error {
	var failed error
	if err := c.Control(func(fd uintptr) {
		failed = os.NewSyscallError("setsockopt",
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, soReusePort, 1))
	}); err != nil {
		return err
	}
	return failed
}
