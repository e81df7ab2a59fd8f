package log

import (
	"os"
	"syscall"
)

// syncData returns when the bytes of a file are on the disk, and what it takes to read them.
func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
