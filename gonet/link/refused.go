//go:build !plan9 && !windows

package link

import "syscall"

// errRefused is the error of a datagram socket for an earlier datagram that found no receiver.
const errRefused = syscall.ECONNREFUSED
