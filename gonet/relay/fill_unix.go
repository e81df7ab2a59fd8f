//go:build unix

package relay

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
)

// The room in bytes for which a send buffer is asked: little for a connection with few bytes, so
// that many of those need little memory, and more while a socket fills it.
const (
	leastRoom = 16 << 10
	mostRoom  = 256 << 10
)

// fillFrom copies until the end of a socket into the send buffer of a connection, and counts what
// it has read.
func fillFrom(to filler, raw syscall.RawConn, read *atomic.Uint64) error {
	f := fillReader{to: to, size: leastRoom}
	receive, fill := f.receive, f.fill // made once
	f.fillRoom = fill
	for {
		err := raw.Read(receive)
		switch {
		case err != nil:
			return err
		case f.failed != nil:
			return f.failed
		case f.err != nil:
			return os.NewSyscallError("read", f.err)
		case !f.called: // not inside raw.Read, which keeps the socket from being closed
			if err := to.WaitWritable(f.size); err != nil {
				return err
			}
		case f.n == 0:
			return nil
		default:
			read.Add(uint64(f.n))
			f.adapt()
		}
	}
}

// fillReader reads from a socket into the room of a send buffer.
type fillReader struct {
	to       filler
	size     int // of the room that is asked for
	fd       int
	fillRoom func(a, b []byte) int
	// The result of one call of receive.
	called  bool  // there was room
	room, n int   // in bytes
	err     error // of the socket
	failed  error // of the connection
}

// receive is called by RawConn.Read until it returns true. The poller waits before each further
// call.
func (f *fillReader) receive(fd uintptr) bool {
	f.fd, f.called, f.n, f.err = int(fd), false, 0, nil
	_, f.failed = f.to.Fill(f.size, f.fillRoom)
	if f.failed == nil && errors.Is(f.err, syscall.EAGAIN) {
		return false
	}
	return true
}

// fill reads what waits at the socket into the room.
func (f *fillReader) fill(a, b []byte) int {
	f.called, f.room = true, len(a)+len(b)
	f.n, f.err = readSocket(f.fd, a)
	if f.n == len(a) && len(b) > 0 {
		if n, err := readSocket(f.fd, b); err == nil { // else the next call has the error
			f.n += n
		}
	}
	f.n = max(f.n, 0)
	return f.n
}

// adapt asks for more room if the socket has filled what there was, and else for less.
func (f *fillReader) adapt() {
	switch {
	case f.n == f.room:
		f.size = min(2*f.size, mostRoom)
	case f.n < f.size/4:
		f.size = max(f.size/2, leastRoom)
	}
}
