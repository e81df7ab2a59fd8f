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

// filler is a connection that is written to without a copy, as one of a stack: see its methods in
// package gonet.
type filler interface {
	Fill(size int, f func(a, b []byte) int) (int, error)
	WaitWritable(size int) error
}

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
	if f, ok := to.(filler); ok {
		return true, fillFrom(f, raw, read)
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
	r.n, r.err = readSocket(int(fd), *r.buffer)
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

// readSocket reads what waits at a socket, also if a signal comes.
func readSocket(fd int, b []byte) (n int, err error) {
	for {
		n, err = syscall.Read(fd, b)
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}
