package log

import (
	"errors"
	"os"
	"syscall"
)

// Space reports ENOSPC if the file system of folder has no room for size bytes beside a reserve in
// bytes, which is smaller on a small disk. A folder that does not exist is no error: creating it
// will report one.
func Space(folder string, reserve uint64, size int) error {
	var fs syscall.Statfs_t
	err := syscall.Statfs(folder, &fs)
	if errors.Is(err, syscall.ENOENT) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "statfs", Path: folder, Err: err}
	}
	keep := min(reserve, fs.Blocks*uint64(fs.Bsize)/16) + uint64(size)
	// On FreeBSD it is negative when the reserve of root is in use.
	available := max(int64(fs.Bavail), 0)
	if uint64(available)*uint64(fs.Bsize) < keep {
		return &os.PathError{Op: "write", Path: folder, Err: syscall.ENOSPC}
	}
	return nil
}
