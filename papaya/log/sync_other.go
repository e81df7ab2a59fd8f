//go:build !linux

package log

import "os"

// syncData puts a file on the disk.
func syncData(f *os.File) error { return f.Sync() }
