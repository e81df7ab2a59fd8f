//go:build !linux

package log

import "os"

// syncData returns when a file is on the disk.
func syncData(f *os.File) error { return f.Sync() }
