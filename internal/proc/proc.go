// Package proc reads the small text files of /proc and of cgroups again and again without
// allocating: raw open, read and close into one buffer, and parsers that work on bytes.
//
// The trade: it names each file by bytes and calls the kernel itself, which is more code than
// os.ReadFile, and in return a look at 100 processes costs about a millisecond of the machine that
// is being measured. A process that is gone is not an error here: its files are empty.
package proc

import (
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Tick is the unit of the times in stat files: USER_HZ is 100 on every architecture
// that Go runs on.
const Tick = 10 * time.Millisecond

// bufBytes holds the largest file read in one go; longer ones are read by growing the buffer.
const bufBytes = 16 << 10

// A Reader reads files into its own buffer. It is for one goroutine; the zero value is ready.
type Reader struct {
	path []byte
	buf  []byte
}

// File returns the content of /proc/PID/NAME, or nil if the process is gone or may not be read. The
// bytes are valid until the next call.
func (r *Reader) File(pid int, name string) []byte {
	r.pidPath(pid)
	r.path = append(r.path, name...)
	return r.read()
}

// TaskFile is File for one thread: /proc/PID/task/TID/NAME.
func (r *Reader) TaskFile(pid, tid int, name string) []byte {
	r.pidPath(pid)
	r.path = append(r.path, "task/"...)
	r.path = strconv.AppendInt(r.path, int64(tid), 10)
	r.path = append(r.path, '/')
	r.path = append(r.path, name...)
	return r.read()
}

// Path returns the content of any file, or nil.
func (r *Reader) Path(path string) []byte {
	r.path = append(r.path[:0], path...)
	return r.read()
}

// FD returns the content of an open file from its beginning, or nil. The kernel generates its files
// anew for each read at offset 0, so a descriptor can be kept open and asked again.
func (r *Reader) FD(fd int) []byte {
	n := r.fill(fd, true)
	if n < 0 {
		return nil
	}
	return r.buf[:n]
}

func (r *Reader) pidPath(pid int) {
	r.path = append(r.path[:0], "/proc/"...)
	r.path = strconv.AppendInt(r.path, int64(pid), 10)
	r.path = append(r.path, '/')
}

func (r *Reader) read() []byte {
	fd := r.open(unix.O_RDONLY | unix.O_CLOEXEC)
	if fd < 0 {
		return nil
	}
	n := r.fill(fd, false)
	closeFD(fd)
	if n < 0 {
		return nil
	}
	return r.buf[:n]
}

// open opens r.path; unix.Open would copy the path to the heap at each call.
func (r *Reader) open(flags int) int {
	r.path = append(r.path, 0)
	for {
		fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, atCwd, uintptr(unsafe.Pointer(&r.path[0])),
			uintptr(flags), 0, 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		if errno != 0 {
			return -1
		}
		return int(fd)
	}
}

// atCwd is AT_FDCWD as the system call takes it; the paths here are absolute, so it is not used.
var atCwd = func() uintptr { n := unix.AT_FDCWD; return uintptr(n) }()

// fill reads a descriptor to its end into r.buf and returns the length, or -1.
func (r *Reader) fill(fd int, at0 bool) int {
	if r.buf == nil {
		r.buf = make([]byte, bufBytes)
	}
	n := 0
	for {
		if n == len(r.buf) {
			r.buf = append(r.buf, make([]byte, len(r.buf))...)
		}
		var got uintptr
		var errno syscall.Errno
		to, room := uintptr(unsafe.Pointer(&r.buf[n])), uintptr(len(r.buf)-n)
		if at0 {
			got, _, errno = unix.Syscall6(unix.SYS_PREAD64, uintptr(fd), to, room, uintptr(n), 0, 0)
		} else {
			got, _, errno = unix.Syscall(unix.SYS_READ, uintptr(fd), to, room)
		}
		switch {
		case errno == syscall.EINTR:
			continue
		case errno != 0:
			return -1
		case got == 0:
			return n
		}
		n += int(got)
	}
}

func closeFD(fd int) { unix.Syscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }
