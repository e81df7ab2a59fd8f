package log

import (
	"os"
	"syscall"
)

// syncData puts a file's data on the disk, with the metadata that is needed to read them.
func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
