package slirp

import "syscall"

// soReusePort is SO_REUSEPORT of Linux (asm-generic/socket.h), which package syscall does not have.
const soReusePort = 15

// reusePort lets further sockets of this user have the port of a socket.
func reusePort(c syscall.RawConn) error { return setOption(c, soReusePort, 1) }
