package link

import "sync"

// virtioLen is the length in bytes of the header before each frame (struct virtio_net_hdr,
// linux/virtio_net.h).
const virtioLen = 10

// Buffer is the memory in which a frame was read. The link uses it again, unless Keep was called:
// the data of super-frames then needs no copy while it waits for its reader.
type Buffer struct {
	room []byte
	slot **Buffer // where the link refers to it
}

var buffers = sync.Pool{New: func() any { return &Buffer{room: make([]byte, virtioLen+maxFrame)} }}

// Keep takes the buffer away from the link. Only the goroutine that reads the link may call it, and
// only before its next read.
func (b *Buffer) Keep() {
	if b.slot != nil {
		*b.slot, b.slot = nil, nil
	}
}

// Return gives a kept buffer back to the pool. Any goroutine, once.
func (b *Buffer) Return() { buffers.Put(b) }

// borrow returns the buffer in slot; if there is none, it takes one from the pool.
func borrow(slot **Buffer) *Buffer {
	if *slot == nil {
		b := buffers.Get().(*Buffer)
		b.slot, *slot = slot, b
	}
	return *slot
}
