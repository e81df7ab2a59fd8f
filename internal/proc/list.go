package proc

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// PIDs appends the numbers of all processes that /proc shows to pids.
func (r *Reader) PIDs(pids []int) []int {
	r.path = append(r.path[:0], "/proc"...)
	return r.list(pids)
}

// Tasks appends the numbers of a process's threads to tids.
func (r *Reader) Tasks(pid int, tids []int) []int {
	r.pidPath(pid)
	r.path = append(r.path, "task"...)
	return r.list(tids)
}

// Descriptors returns the number of descriptors of a process. Since Linux 6.2 it is the size of the
// folder; before that they are counted.
func (r *Reader) Descriptors(pid int) int {
	r.pidPath(pid)
	r.path = append(r.path, "fd"...)
	fd := r.open(unix.O_RDONLY | unix.O_CLOEXEC | unix.O_DIRECTORY)
	if fd < 0 {
		return 0
	}
	defer closeFD(fd)
	var st unix.Stat_t
	if _, _, errno := unix.Syscall(unix.SYS_FSTAT, uintptr(fd), uintptr(unsafe.Pointer(&st)),
		0); errno == 0 && st.Size > 0 {
		return int(st.Size)
	}
	n := 0
	r.entries(fd, func(int) { n++ })
	return n
}

func (r *Reader) list(to []int) []int {
	fd := r.open(unix.O_RDONLY | unix.O_CLOEXEC | unix.O_DIRECTORY)
	if fd < 0 {
		return to
	}
	defer closeFD(fd)
	r.entries(fd, func(n int) { to = append(to, n) })
	return to
}

// entries calls each for every entry of an open folder whose name is a number.
func (r *Reader) entries(fd int, each func(int)) {
	if r.buf == nil {
		r.buf = make([]byte, bufBytes)
	}
	for {
		got, _, errno := unix.Syscall(unix.SYS_GETDENTS64, uintptr(fd),
			uintptr(unsafe.Pointer(&r.buf[0])), uintptr(len(r.buf)))
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 || got == 0 {
			return
		}
		numbers(r.buf[:got], each)
	}
}

// numbers walks linux_dirent64 records: inode 8, offset 8, length 2, type 1, then the
// name, ended by 0.
func numbers(b []byte, each func(int)) {
	const name = 19
	for len(b) > name {
		size := int(binary.NativeEndian.Uint16(b[16:]))
		if size <= name || size > len(b) {
			return
		}
		n, rest, ok := number(b[name:size])
		if ok && len(rest) > 0 && rest[0] == 0 {
			each(int(n))
		}
		b = b[size:]
	}
}
