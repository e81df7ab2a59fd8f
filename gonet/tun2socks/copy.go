package tun2socks

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// running counts the handlers that run, and lets none begin once wait was called.
type running struct {
	mu    sync.Mutex
	ended bool
	all   sync.WaitGroup
}

func (r *running) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.all.Add(1)
	}
	return !r.ended
}

func (r *running) leave() { r.all.Done() }

func (r *running) wait() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.all.Wait()
}

// buffers has the buffers of copyTo. Bulk transfers do not gain from larger ones: a piece that the
// stack hands out has at most 64 KiB, and most have less.
var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// copyTo copies until the end of from, and passes that on. It returns false after an error.
func copyTo(to, from net.Conn, count *atomic.Uint64) bool {
	b := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(b)
	for {
		n, err := from.Read(b[:])
		if n > 0 {
			if _, err := to.Write(b[:n]); err != nil {
				return false
			}
			count.Add(uint64(n))
		}
		switch {
		case errors.Is(err, io.EOF):
			w, ok := to.(interface{ CloseWrite() error })
			return ok && w.CloseWrite() == nil
		case err != nil:
			return false
		}
	}
}
