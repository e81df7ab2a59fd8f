package relay

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// The sizes of a buffer in bytes: about that of the longest super-frame of a stack, which one write
// then fills, and a small one.
const (
	bufferLen = 64 << 10
	smallLen  = 4 << 10
)

// largeBuffers is how many large buffers all copies together use at once. A copy holds its buffer
// while the other side takes no bytes. So peers that never read make a program hold 16 MiB of large
// buffers at most, and then a small one for each copy.
const largeBuffers = 256

// bufferPool has buffers of both sizes.
type bufferPool struct {
	large, small sync.Pool
	used         atomic.Int32 // large ones
}

var buffers = bufferPool{
	large: sync.Pool{New: func() any { b := make([]byte, bufferLen); return &b }},
	small: sync.Pool{New: func() any { b := make([]byte, smallLen); return &b }},
}

func (p *bufferPool) take() *[]byte {
	if p.used.Add(1) <= largeBuffers {
		return p.large.Get().(*[]byte)
	}
	p.used.Add(-1)
	return p.small.Get().(*[]byte)
}

func (p *bufferPool) give(b *[]byte) {
	if len(*b) == smallLen {
		p.small.Put(b)
		return
	}
	p.used.Add(-1)
	p.large.Put(b)
}

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
	b := buffers.take()
	defer buffers.give(b)
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, *b)
	return err
}
