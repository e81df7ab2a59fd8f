package load

// The lateness of the engine itself. An engine that only listens has no send to be late with, so
// the kernel is asked when the bytes arrived that the engine reads now: between the two, the texts
// waited for nobody but the engine.

import (
	"encoding/binary"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stampedMost bounds the connections of a thread for which the kernel is asked: such a call takes
// .2 us longer than read, and a thousand texts a second are enough for a percentile.
const stampedMost = 1024

// stamps reads with the kernel's time of arrival from each n-th connection of a thread.
type stamps struct {
	every int32
	head  unix.Msghdr
	iov   unix.Iovec
	stamp [64]byte // a header of 16 bytes and a timespec
}

func newStamps(conns int) stamps {
	return stamps{every: int32((conns + stampedMost - 1) / stampedMost)}
}

// of says whether a connection is one of those.
func (s *stamps) of(c *conn) bool { return c.index%s.every == 0 }

// ask has the kernel keep the time at which something came to a connection.
func (s *stamps) ask(c *conn) error {
	return unix.SetsockoptInt(int(c.fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
}

// read reads once, like rawRead, and tells when the last of what it read had come, by the wall
// clock; 0 if the kernel does not say.
func (s *stamps) read(fd int32, p []byte) (n int, came int64, e syscall.Errno) {
	s.iov.Base, s.iov.Len = unsafe.SliceData(p), uint64(len(p))
	s.head.Iov, s.head.Iovlen = &s.iov, 1
	for {
		s.head.Control, s.head.Controllen = &s.stamp[0], uint64(len(s.stamp))
		r, _, e := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&s.head)),
			0)
		if e == unix.EINTR {
			continue
		}
		return int(r), stampIn(s.stamp[:min(s.head.Controllen, uint64(len(s.stamp)))]), e
	}
}

// stampIn is the time in a control message, which is the only one that was asked for.
func stampIn(p []byte) int64 {
	const seconds = unix.SizeofCmsghdr
	h := (*unix.Cmsghdr)(unsafe.Pointer(unsafe.SliceData(p)))
	if len(p) < seconds+16 || h.Level != unix.SOL_SOCKET || h.Type != unix.SCM_TIMESTAMPNS {
		return 0
	}
	return int64(binary.NativeEndian.Uint64(p[seconds:]))*int64(time.Second) +
		int64(binary.NativeEndian.Uint64(p[seconds+8:]))
}

// receiveStamped reads once, and records how long the bytes had waited.
func (s *streams) receiveStamped(c *conn) (int, syscall.Errno) {
	n, came, e := s.stamps.read(c.fd, s.in)
	if s.measuring && e == 0 && n > 0 && came > 0 {
		s.late.Record(time.Now().UnixNano() - came)
	}
	return n, e
}
