package load

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// writev writes what is left of a request's head and body, in one call.
func (m *images) writev(fd int32, v *imageClient) (int, syscall.Errno) {
	head := v.head[min(v.out, len(v.head)):]
	body := v.body[max(0, v.out-len(v.head)):]
	m.iov[0] = unix.Iovec{Base: unsafe.SliceData(head), Len: uint64(len(head))}
	m.iov[1] = unix.Iovec{Base: unsafe.SliceData(body), Len: uint64(len(body))}
	n, _, e := unix.RawSyscall(unix.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(&m.iov[0])),
		uintptr(len(m.iov)))
	return int(n), e
}
