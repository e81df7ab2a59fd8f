package interp

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// registerTrees makes the natives of module fs that copy, link, and remove all of a directory.
func registerTrees(onPath func(name, what string, do func(c *called) (value, syscall.Errno))) {
	onPath("copy", "copy", func(c *called) (value, syscall.Errno) {
		return nil, copyFile(c.str(0), c.str(1))
	})
	onPath("remove_all", "remove", func(c *called) (value, syscall.Errno) {
		if strings.Contains(c.str(0), "\x00") {
			return nil, syscall.EINVAL
		}
		if _, err := os.Lstat(c.str(0)); err != nil {
			return nil, errnoOf(err)
		}
		return nil, errnoOf(os.RemoveAll(c.str(0)))
	})
	onPath("make_link", "make link", func(c *called) (value, syscall.Errno) {
		return nil, retried(func() error { return syscall.Symlink(c.str(0), c.str(1)) })
	})
	onPath("read_link", "read link", func(c *called) (value, syscall.Errno) {
		to, err := os.Readlink(c.str(0))
		return to, errnoOf(err)
	})
	onPath("set_permissions", "set permissions of", func(c *called) (value, syscall.Errno) {
		return nil, retried(func() error {
			return syscall.Chmod(c.str(0), uint32(c.int(1))&0o7777)
		})
	})
}

// copyFile copies a file to a new one beside the old one, and renames it.
func copyFile(from, to string) syscall.Errno {
	if strings.Contains(to, "\x00") {
		return syscall.EINVAL
	}
	data, errno := readWhole(from, 1<<62)
	if errno != 0 {
		return errno
	}
	about, err := os.Stat(from)
	if err != nil {
		return errnoOf(err)
	}
	f, err := os.CreateTemp(filepath.Dir(to), "copy")
	if err != nil {
		return errnoOf(err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // unless it was renamed
	if _, err = f.Write(data); err == nil {
		err = f.Chmod(about.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky))
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = syscall.Rename(f.Name(), to)
	}
	return errnoOf(err)
}
