package relay

import (
	"io"
	"net"
	"sync"
	"syscall"
)

// bufferLen is the size of a buffer in bytes: about that of the longest super-frame of a stack,
// which one write then fills.
const bufferLen = 64 << 10

// buffers has the buffers of copyAll.
var buffers = sync.Pool{New: func() any { return new([bufferLen]byte) }}

// copyAll copies until the end of from. Most connections of a proxy are idle. So it has a buffer
// only while bytes are on their way, if from is a socket of the kernel or a connection of a stack.
func copyAll(to, from net.Conn) error {
	_, isSocket := to.(syscall.Conn)
	if _, both := from.(syscall.Conn); isSocket && both {
		_, err := io.Copy(to, from) // the kernel copies
		return err
	}
	if done, err := copySocket(to, from); done {
		return err
	}
	if w, ok := from.(io.WriterTo); ok {
		_, err := w.WriteTo(to)
		return err
	}
	b := buffers.Get().(*[bufferLen]byte)
	defer buffers.Put(b)
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, b[:])
	return err
}
