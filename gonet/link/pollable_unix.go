//go:build darwin || freebsd || linux || openbsd

package link

import (
	"os"

	"golang.org/x/sys/unix"
)

// pollable makes a file of a descriptor whose reads and writes wait in Go's poller, so that Close
// ends them.
func pollable(fd int) (*os.File, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "link"), nil
}
