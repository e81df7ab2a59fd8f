package gonet

import (
	"bytes"
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
)

// takesUpTo is a writer that fails once it has a number of bytes.
type takesUpTo struct {
	bytes.Buffer
	most int
	err  error
}

func (w *takesUpTo) Write(b []byte) (int, error) {
	n := min(len(b), w.most-w.Len())
	w.Buffer.Write(b[:n])
	if n < len(b) {
		return n, w.err
	}
	return n, nil
}

// TestWriteTo copies streams of many lengths to their ends, in plain frames and in super-frames.
func TestWriteTo(t *testing.T) {
	for name, options := range map[string][]link.Option{"plain": nil,
		"super-frames": {link.Offload()}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := link.Pair(options...)
				x, y := twoHosts(t, a, b)
				for _, size := range []int{0, 1, 1460, 1461, 1 << 20} {
					near, far := connected(t, x, y, "10.0.0.2")
					want := numbered(size)
					go func() {
						_, _ = far.Write(want) // what is missing shows below
						_ = far.Close()
					}()
					var got bytes.Buffer
					n, err := io.Copy(&got, near)
					if err != nil || int(n) != size || !bytes.Equal(got.Bytes(), want) {
						t.Errorf("%d bytes of %d, %v", n, size, err)
					}
					if n, err := near.(*Conn).WriteTo(&got); n != 0 || err != nil {
						t.Errorf("behind the end: %d, %v", n, err)
					}
				}
			})
		})
	}
}

// TestWriteToFails holds that bytes which the writer does not take are left to the next reader.
func TestWriteToFails(t *testing.T) {
	bubble(t, link.Fault{}, func(t *testing.T, x, y *Stack) {
		near, far := connected(t, x, y, "10.0.0.2")
		want := numbered(10_000)
		if _, err := far.Write(want); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		c := near.(*Conn)
		full := &takesUpTo{most: 5000, err: syscall.ENOSPC}
		if n, err := c.WriteTo(full); n != 5000 || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%d bytes, %v", n, err)
		}
		short := &takesUpTo{most: 1000}
		if n, err := c.WriteTo(short); n != 1000 || !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%d bytes, %v", n, err)
		}
		if err := c.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		var rest bytes.Buffer
		if _, err := c.WriteTo(&rest); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%v, want the deadline", err)
		}
		got := append(append(full.Bytes(), short.Bytes()...), rest.Bytes()...)
		if !bytes.Equal(got, want) {
			t.Errorf("%d bytes in all, which differ", len(got))
		}
	})
}

// TestWriteToIsCutOff has the connection closed while the writer does not take what has arrived.
// The peer gets a reset, since its bytes are lost.
func TestWriteToIsCutOff(t *testing.T) {
	bubble(t, link.Fault{}, func(t *testing.T, x, y *Stack) {
		near, far := connected(t, x, y, "10.0.0.2")
		if _, err := far.Write([]byte("lost")); err != nil {
			t.Fatal(err)
		}
		r, w := io.Pipe() // a write waits for its reader
		ended := make(chan error, 1)
		go func() {
			_, err := near.(*Conn).WriteTo(w)
			ended <- err
		}()
		synctest.Wait()
		if err := near.Close(); err != nil {
			t.Fatal(err)
		}
		if n, err := far.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the peer reads %d bytes, %v", n, err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%v", err)
		}
	})
}
