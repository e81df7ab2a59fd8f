package link

import "sync"

// virtioLen is the length in bytes of the header that stands before each frame (struct
// virtio_net_hdr, linux/virtio_net.h).
const virtioLen = 10

// Buffer is memory in which a frame has been read. It is the link's, until somebody keeps it: what
// arrives in super-frames need not be copied then to wait for its reader.
type Buffer struct {
	room []byte
	slot **Buffer // where the link has it
}

var buffers = sync.Pool{New: func() any { return &Buffer{room: make([]byte, virtioLen+maxFrame)} }}

// Keep takes the buffer from the link. Only the goroutine that reads the link may, before
// it reads again.
func (b *Buffer) Keep() {
	if b.slot != nil {
		*b.slot, b.slot = nil, nil
	}
}

// Return gives a kept buffer to whatever link needs one. Any goroutine, once.
func (b *Buffer) Return() { buffers.Put(b) }

// borrow has a buffer in slot.
func borrow(slot **Buffer) *Buffer {
	if *slot == nil {
		b := buffers.Get().(*Buffer)
		b.slot, *slot = slot, b
	}
	return *slot
}
