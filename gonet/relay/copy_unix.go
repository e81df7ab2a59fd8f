//go:build unix

package relay

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
)

// copySocket copies until the end of from, if that is a socket of the kernel, and else returns
// false.
func copySocket(to io.Writer, from net.Conn) (done bool, err error) {
	read := new(atomic.Uint64)
	if counted, ok := from.(*countedConn); ok {
		from, read = counted.Conn, counted.read
	}
	socket, ok := from.(syscall.Conn)
	if !ok {
		return false, nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true, err
	}
	r := socketReader{}
	receive := r.receive // made once
	for {
		err := raw.Read(receive)
		if err == nil {
			err = os.NewSyscallError("read", r.err)
		}
		if r.n > 0 && err == nil {
			read.Add(uint64(r.n))
			_, err = to.Write((*r.buffer)[:r.n])
		}
		r.release()
		if r.n <= 0 || err != nil {
			return true, err
		}
	}
}

// socketReader reads from a socket, into a buffer that it takes when there are bytes.
type socketReader struct {
	buffer *[]byte
	n      int
	err    error
}

// receive is called by RawConn.Read until it returns true. The poller waits before each further
// call.
func (r *socketReader) receive(fd uintptr) bool {
	r.buffer = buffers.take()
	for {
		r.n, r.err = syscall.Read(int(fd), *r.buffer)
		if !errors.Is(r.err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(r.err, syscall.EAGAIN) {
		r.release()
		return false
	}
	return true
}

// release gives the buffer back, if there is one.
func (r *socketReader) release() {
	if r.buffer != nil {
		buffers.give(r.buffer)
		r.buffer = nil
	}
}
