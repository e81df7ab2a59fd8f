//go:build darwin || freebsd || linux || openbsd

package link

import (
	"os"
	"syscall"
)

// pollable makes a file of a descriptor whose reads and writes wait in Go's poller, so that Close
// ends them.
func pollable(fd int) (*os.File, error) {
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "link"), nil
}

// dup returns a copy of a descriptor, which the programs that this one starts do not get.
func dup(fd int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	own, err := syscall.Dup(fd)
	if err == nil {
		syscall.CloseOnExec(own)
	}
	return own, err
}
