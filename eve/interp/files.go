package interp

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// Module fs on the machine's own files. The functions do their work at once, and answer later.

// Values of the natives of module fs.
type (
	// A diskFile is an open file. fd is below 0 when it is closed.
	diskFile struct {
		fd       int
		path     string
		position int64
	}
	fileInfo struct {
		size, modified int64 // bytes; nanoseconds since 1970
		mode           uint32
		device, inode  uint64
	}
	dirEntry struct {
		name string
		mode os.FileMode
	}
)

// mostBytes is the most that one read returns, as in the runtime.
const mostBytes = 1 << 20

// systemError is an error of the system, with the message of Linux.
func systemError(what, path string, code syscall.Errno) *fault {
	text := code.Error()
	text = strings.ToUpper(text[:1]) + text[1:]
	return &fault{code: int64(code), text: what + " " + path + ": " + text,
		cause: &fault{code: int64(code), text: text}}
}

// errnoOf is the number of an error of the system; 0 for none.
func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &errno):
		return errno
	}
	return syscall.EIO
}

// retried repeats a call that a signal has interrupted.
func retried(f func() error) syscall.Errno {
	for {
		if errno := errnoOf(f()); errno != syscall.EINTR {
			return errno
		}
	}
}

// outcome is the T! that an operation answers.
func outcome(what, path string, v value, errno syscall.Errno) value {
	if errno != 0 {
		return failed(systemError(what, path, errno))
	}
	return ok(v)
}

// registerFiles makes the natives of module fs.
func registerFiles() {
	onPath := func(name, what string, do func(c *called) (value, syscall.Errno)) {
		asyncs["fs."+name] = func(c *called, answer func(value)) {
			v, errno := do(c)
			path := c.str(0)
			switch {
			case name == "make_link":
				path = c.str(1)
			case name == "open_beneath":
				path += "/" + c.str(1)
			case (name == "rename" || name == "copy") && errno != 0:
				path += " to " + c.str(1)
			}
			c.in.after(0, func() { answer(outcome(what, path, v, errno)) })
		}
	}
	onPath("read", "read", func(c *called) (value, syscall.Errno) {
		data, errno := readWhole(c.str(0), c.int(1))
		return bytesOf(string(data)), errno
	})
	for name, flags := range map[string]int{"write": syscall.O_TRUNC, "append": syscall.O_APPEND} {
		onPath(name, map[string]string{"write": "write", "append": "append to"}[name],
			func(c *called) (value, syscall.Errno) {
				return nil, writeWhole(c.str(0), flags, raw(c.args[1]))
			})
	}
	onPath("replace", "replace", func(c *called) (value, syscall.Errno) {
		return nil, replaceFile(c.str(0), raw(c.args[1]))
	})
	for name, flags := range map[string]int{
		"open": syscall.O_RDONLY, "create": syscall.O_WRONLY | syscall.O_CREAT | syscall.O_TRUNC,
		"open_append": syscall.O_WRONLY | syscall.O_CREAT | syscall.O_APPEND,
		"open_update": syscall.O_RDWR | syscall.O_CREAT,
	} {
		onPath(name, "open", func(c *called) (value, syscall.Errno) {
			fd, errno := openFile(c.str(0), flags)
			if errno != 0 {
				return nil, errno
			}
			f := &diskFile{fd: fd, path: c.str(0)}
			c.in.files = append(c.in.files, f)
			return c.in.object(f, c.t.Elem.Elem), 0
		})
	}
	onPath("list", "list", func(c *called) (value, syscall.Errno) {
		return listDirectory(c.str(0))
	})
	onPath("make_directory", "make directory", func(c *called) (value, syscall.Errno) {
		return nil, makeDirectory(c.str(0), c.args[1].(bool), uint32(c.int(2))&0o7777)
	})
	onPath("remove", "remove", func(c *called) (value, syscall.Errno) {
		errno := retried(func() error { return syscall.Unlink(c.str(0)) })
		if errno == syscall.EISDIR {
			errno = retried(func() error { return syscall.Rmdir(c.str(0)) })
		}
		return nil, errno
	})
	onPath("rename", "rename", func(c *called) (value, syscall.Errno) {
		return nil, retried(func() error { return syscall.Rename(c.str(0), c.str(1)) })
	})
	onPath("info", "info of", func(c *called) (value, syscall.Errno) {
		var about syscall.Stat_t
		errno := retried(func() error { return syscall.Stat(c.str(0), &about) })
		return infoOf(&about), errno
	})
	registerOpenFiles()
	registerFileValues()
	registerTrees(onPath)
	registerMore(onPath)
	registerTemporary()
	registerWatches()
}

// openFile opens a file, but no pipe, socket or terminal.
func openFile(path string, flags int) (fd int, errno syscall.Errno) {
	errno = retried(func() (err error) {
		fd, err = syscall.Open(path, flags|syscall.O_CLOEXEC|syscall.O_NOCTTY|syscall.O_NONBLOCK,
			0o666)
		return err
	})
	if errno != 0 {
		return -1, errno
	}
	return onlyFile(fd)
}

// onlyFile takes a descriptor over, unless it is of a pipe, socket or terminal.
func onlyFile(fd int) (int, syscall.Errno) {
	var about syscall.Stat_t
	errno := errnoOf(syscall.Fstat(fd, &about))
	kind := about.Mode & syscall.S_IFMT
	if errno == 0 && (kind == syscall.S_IFIFO || kind == syscall.S_IFSOCK || isTerminal(fd)) {
		errno = syscall.EOPNOTSUPP
	}
	if errno == 0 {
		errno = errnoOf(syscall.SetNonblock(fd, false))
	}
	if errno != 0 {
		_ = syscall.Close(fd) // the first error counts
		return -1, errno
	}
	return fd, 0
}

func isTerminal(fd int) bool {
	var state syscall.Termios
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TCGETS,
		uintptr(unsafe.Pointer(&state)))
	return errno == 0
}

func readWhole(path string, most int64) ([]byte, syscall.Errno) {
	fd, errno := openFile(path, syscall.O_RDONLY)
	if errno != 0 {
		return nil, errno
	}
	defer func() { _ = syscall.Close(fd) }() // it was only read
	var about syscall.Stat_t
	if errno := errnoOf(syscall.Fstat(fd, &about)); errno != 0 {
		return nil, errno
	}
	switch {
	case about.Mode&syscall.S_IFMT == syscall.S_IFDIR:
		return nil, syscall.EISDIR
	case about.Size > most:
		return nil, syscall.EFBIG
	}
	var all []byte
	for {
		block, errno := readSome(fd, int64(len(all)), mostBytes)
		if errno != 0 {
			return nil, errno
		}
		all = append(all, block...)
		if int64(len(all)) > most {
			return nil, syscall.EFBIG
		}
		if len(block) == 0 {
			return all, 0
		}
	}
}

func readSome(fd int, at, most int64) ([]byte, syscall.Errno) {
	block := make([]byte, most)
	n := 0
	errno := retried(func() (err error) {
		n, err = syscall.Pread(fd, block, at)
		return err
	})
	return block[:max(n, 0)], errno
}

// writeAll writes data at an offset, which a file that is open to append ignores.
func writeAll(fd int, data []byte, at int64) (written int64, errno syscall.Errno) {
	for written < int64(len(data)) {
		n := 0
		errno := retried(func() (err error) {
			n, err = syscall.Pwrite(fd, data[written:], at+written)
			return err
		})
		if errno == 0 && n == 0 {
			errno = syscall.EIO
		}
		if errno != 0 {
			return written, errno
		}
		written += int64(n)
	}
	return written, 0
}

func writeWhole(path string, flags int, data []byte) syscall.Errno {
	fd, errno := openFile(path, syscall.O_WRONLY|syscall.O_CREAT|flags)
	if errno != 0 {
		return errno
	}
	_, errno = writeAll(fd, data, 0)
	if closed := errnoOf(syscall.Close(fd)); errno == 0 && closed != syscall.EINTR {
		errno = closed
	}
	return errno
}

// replaceFile writes a new file beside the old one and renames it.
func replaceFile(path string, data []byte) syscall.Errno {
	var old syscall.Stat_t
	replaces := syscall.Stat(path, &old) == nil
	if replaces && old.Mode&syscall.S_IFMT == syscall.S_IFDIR {
		return syscall.EISDIR
	}
	name := path + "." + strconv.FormatUint(rand.Uint64(), 16) + ".new"
	fd, errno := openFile(name, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL)
	if errno != 0 {
		return errno
	}
	if replaces {
		errno = errnoOf(syscall.Fchmod(fd, old.Mode&0o7777))
	}
	if errno == 0 {
		_, errno = writeAll(fd, data, 0)
	}
	if errno == 0 {
		errno = retried(func() error { return syscall.Fsync(fd) })
	}
	if closed := errnoOf(syscall.Close(fd)); errno == 0 && closed != syscall.EINTR {
		errno = closed
	}
	if errno == 0 {
		errno = retried(func() error { return syscall.Rename(name, path) })
	}
	if errno != 0 {
		_ = syscall.Unlink(name) // the first error counts
		return errno
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return errnoOf(err)
	}
	defer dir.Close()
	if errno := errnoOf(dir.Sync()); errno != syscall.EINVAL {
		return errno
	}
	return 0
}

func listDirectory(path string) (value, syscall.Errno) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, errnoOf(err)
	}
	l := &list{}
	for _, e := range entries {
		l.elems = append(l.elems, dirEntry{e.Name(), e.Type()})
	}
	return l, 0
}

func makeDirectory(path string, parents bool, mode uint32) syscall.Errno {
	mkdir := func(path string) syscall.Errno {
		return retried(func() error { return syscall.Mkdir(path, mode) })
	}
	isDirectory := func(path string) bool {
		var about syscall.Stat_t
		return syscall.Stat(path, &about) == nil && about.Mode&syscall.S_IFMT == syscall.S_IFDIR
	}
	if !parents {
		return mkdir(path)
	}
	for i := 1; i < len(path); i++ {
		if path[i] != '/' || path[i-1] == '/' {
			continue
		}
		errno := mkdir(path[:i])
		switch {
		case errno == 0 || isDirectory(path[:i]):
		case errno == syscall.EEXIST:
			return syscall.ENOTDIR
		default:
			return errno
		}
	}
	if errno := mkdir(path); errno != syscall.EEXIST || !isDirectory(path) {
		return errno
	}
	return 0
}

func infoOf(about *syscall.Stat_t) fileInfo {
	whole, rest := about.Mtim.Sec, about.Mtim.Nsec
	modified := whole*billion + rest
	switch {
	case whole >= math.MaxInt64/billion:
		modified = math.MaxInt64
	case whole <= math.MinInt64/billion:
		modified = math.MinInt64
	}
	return fileInfo{about.Size, modified, about.Mode, about.Dev, about.Ino}
}

func (c *called) file() *diskFile { return (*c.self()).(*diskFile) }

// registerOpenFiles makes the methods of an open file.
func registerOpenFiles() {
	natives["file.path"] = func(c *called) value { return c.file().path }
	onFile := func(name, what string, do func(c *called, f *diskFile) (value, syscall.Errno)) {
		asyncs["file."+name] = func(c *called, answer func(value)) {
			f := c.file()
			v, errno := value(nil), syscall.EBADF
			if f.fd >= 0 {
				v, errno = do(c, f)
			}
			c.in.after(0, func() { answer(outcome(what, f.path, v, errno)) })
		}
	}
	read := func(f *diskFile, at, most int64) (*list, syscall.Errno) {
		if at < 0 || most < 1 {
			return nil, syscall.EINVAL
		}
		block, errno := readSome(f.fd, at, min(most, mostBytes))
		return bytesOf(string(block)), errno
	}
	onFile("read", "read", func(c *called, f *diskFile) (value, syscall.Errno) {
		block, errno := read(f, f.position, c.int(1))
		if errno == 0 {
			f.position += int64(len(block.elems))
		}
		return block, errno
	})
	onFile("read_at", "read", func(c *called, f *diskFile) (value, syscall.Errno) {
		return read(f, c.int(1), c.int(2))
	})
	onFile("write", "write", func(c *called, f *diskFile) (value, syscall.Errno) {
		n, errno := writeAll(f.fd, raw(c.args[1]), f.position)
		f.position += n
		return nil, errno
	})
	onFile("write_at", "write", func(c *called, f *diskFile) (value, syscall.Errno) {
		if c.int(1) < 0 {
			return nil, syscall.EINVAL
		}
		_, errno := writeAll(f.fd, raw(c.args[2]), c.int(1))
		return nil, errno
	})
	onFile("truncate", "truncate", func(c *called, f *diskFile) (value, syscall.Errno) {
		return nil, retried(func() error { return syscall.Ftruncate(f.fd, c.int(1)) })
	})
	onFile("sync", "sync", func(_ *called, f *diskFile) (value, syscall.Errno) {
		return nil, retried(func() error { return syscall.Fsync(f.fd) })
	})
	onFile("unlock", "unlock", func(_ *called, f *diskFile) (value, syscall.Errno) {
		return nil, retried(func() error { return syscall.Flock(f.fd, syscall.LOCK_UN) })
	})
	onFile("info", "info of", func(_ *called, f *diskFile) (value, syscall.Errno) {
		var about syscall.Stat_t
		errno := errnoOf(syscall.Fstat(f.fd, &about))
		return infoOf(&about), errno
	})
	onFile("close", "close", func(_ *called, f *diskFile) (value, syscall.Errno) {
		return nil, f.close()
	})
	asyncs["file.lock"] = (*called).lock
}

func (f *diskFile) close() syscall.Errno {
	fd := f.fd
	f.fd = -1
	if errno := errnoOf(syscall.Close(fd)); errno != syscall.EINTR {
		return errno
	}
	return 0
}

// lock tries again and again, as the runtime does, until the lock is free or the time is over.
func (c *called) lock(answer func(value)) {
	f, how := c.file(), syscall.LOCK_EX
	if c.args[1].(bool) {
		how = syscall.LOCK_SH
	}
	wait := int64(1e6)
	var try func()
	try = func() {
		if c.waiting.answered {
			return
		}
		errno := syscall.EBADF
		if f.fd >= 0 {
			errno = retried(func() error { return syscall.Flock(f.fd, how|syscall.LOCK_NB) })
		}
		if errno == syscall.EWOULDBLOCK {
			c.in.after(wait, try)
			wait = min(2*wait, 32e6)
			return
		}
		answer(outcome("lock", f.path, nil, errno))
	}
	c.in.after(0, try)
}

// registerFileValues makes the methods of what is known about files.
func registerFileValues() {
	info := func(c *called) fileInfo { return (*c.self()).(fileInfo) }
	kind := func(c *called) uint32 { return info(c).mode & syscall.S_IFMT }
	entry := func(c *called) dirEntry { return (*c.self()).(dirEntry) }
	register(map[string]func(*called) value{
		"file_info.size":        func(c *called) value { return info(c).size },
		"file_info.modified":    func(c *called) value { return info(c).modified },
		"file_info.permissions": func(c *called) value { return int64(info(c).mode & 0o7777) },
		"file_info.same_file": func(c *called) value {
			a, b := info(c), c.args[1].(fileInfo)
			return a.device == b.device && a.inode == b.inode
		},
		"file_info.is_file":      func(c *called) value { return kind(c) == syscall.S_IFREG },
		"file_info.is_directory": func(c *called) value { return kind(c) == syscall.S_IFDIR },
		"file_info.is_link":      func(c *called) value { return kind(c) == syscall.S_IFLNK },
		"entry.name":             func(c *called) value { return entry(c).name },
		"entry.is_file":          func(c *called) value { return entry(c).mode.IsRegular() },
		"entry.is_directory":     func(c *called) value { return entry(c).mode.IsDir() },
		"entry.is_link": func(c *called) value {
			return entry(c).mode&os.ModeSymlink != 0
		},
	})
}

// closeFiles closes the files that the program has left open.
func (in *interp) closeFiles() {
	for _, f := range in.files {
		if f.fd >= 0 {
			_ = f.close() // as at the end of a process, nobody hears of it
		}
	}
	for _, n := range in.queues {
		if n.fd >= 0 {
			_ = syscall.Close(n.fd)
		}
	}
	for _, t := range in.temporary {
		if !t.kept {
			_ = os.RemoveAll(t.path)
		}
	}
}
