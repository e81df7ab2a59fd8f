package relay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// pair returns both ends of a connection.
func pair(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	l := listen(t)
	near = dial(t, l)
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return near, c.(*net.TCPConn)
}

// TestJoin sends a request to its end, and then the response, and counts both.
func TestJoin(t *testing.T) {
	client, a := pair(t)
	b, server := pair(t)
	ended := make(chan error, 1)
	var read, written atomic.Uint64
	go func() { ended <- Join(t.Context(), a, Count(b, &read, &written)) }()
	request, response := bytes.Repeat([]byte("request"), 50_000), []byte("response")
	go func() {
		_, _ = client.Write(request) // what does not arrive shows below
		_ = client.CloseWrite()
	}()
	if got, err := io.ReadAll(server); err != nil || !bytes.Equal(got, request) {
		t.Errorf("%d bytes of %d, %v", len(got), len(request), err)
	}
	if _, err := server.Write(response); err != nil {
		t.Error(err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if got, err := io.ReadAll(client); err != nil || !bytes.Equal(got, response) {
		t.Errorf("%q, %v", got, err)
	}
	wait(t, ended, nil)
	if r, w := int(read.Load()), int(written.Load()); r != len(response) || w != len(request) {
		t.Errorf("%d bytes were read and %d written, want %d and %d", r, w, len(response),
			len(request))
	}
}

// TestIdleJoins holds that connections which have carried bytes, and are idle, have no buffers.
func TestIdleJoins(t *testing.T) {
	const joins, most = 50, 16 << 10
	var read, written atomic.Uint64
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // pools keep what they have for one more
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for range joins {
		client, a := pair(t)
		b, server := pair(t)
		go func() { _ = Join(t.Context(), a, Count(b, &read, &written)) }() // ends with the test
		for _, ends := range [][2]*net.TCPConn{{client, server}, {server, client}} {
			if _, err := ends[0].Write([]byte("text")); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(ends[1], make([]byte, 4)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if each := int64(heap()-before) / joins; each > most {
		t.Errorf("%d bytes for each, at most %d may be", each, most)
	}
}

// TestJoinEnds ends a join by a reset, by the context, and because a direction cannot be closed.
func TestJoinEnds(t *testing.T) {
	type plain struct{ net.Conn } // without CloseWrite
	var read, written atomic.Uint64
	reset := func(client *net.TCPConn, _ context.CancelFunc) { Reset(client) }
	for _, c := range []struct {
		name  string
		end   func(client *net.TCPConn, cancel context.CancelFunc)
		want  error
		reads error // at the other side
	}{
		{"reset", reset, syscall.ECONNRESET, syscall.ECONNRESET},
		{"reset, counted", reset, syscall.ECONNRESET, syscall.ECONNRESET},
		{"context", func(_ *net.TCPConn, cancel context.CancelFunc) { cancel() }, net.ErrClosed,
			syscall.ECONNRESET},
		{"no half-close", func(client *net.TCPConn, _ context.CancelFunc) {
			_ = client.CloseWrite()
		}, errNoHalfClose, io.EOF},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, a := pair(t)
			b, server := pair(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			far := net.Conn(b)
			switch {
			case c.want == errNoHalfClose:
				far = Count(plain{b}, &read, &written)
			case strings.HasSuffix(c.name, "counted"):
				far = Count(b, &read, &written)
			}
			go func() { ended <- Join(ctx, a, far) }()
			c.end(client, cancel)
			wait(t, ended, c.want)
			if n, err := server.Read(make([]byte, 1)); !errors.Is(err, c.reads) {
				t.Errorf("%d, %v at the other side, want %v", n, err, c.reads)
			}
		})
	}
}

// TestBufferPool holds that so many large buffers are in use at once, and small ones beyond.
func TestBufferPool(t *testing.T) {
	var taken []*[]byte
	sizes := map[int]int{}
	for range 2 * largeBuffers {
		b := buffers.take()
		sizes[len(*b)]++
		taken = append(taken, b)
	}
	if sizes[bufferLen] != largeBuffers || sizes[smallLen] != largeBuffers {
		t.Errorf("buffers by their size: %v", sizes)
	}
	for _, b := range taken {
		buffers.give(b)
	}
	if b := buffers.take(); len(*b) != bufferLen {
		t.Errorf("a buffer of %d bytes", len(*b))
	} else {
		buffers.give(b)
	}
	if n := buffers.used.Load(); n != 0 {
		t.Errorf("%d buffers are in use", n)
	}
}
