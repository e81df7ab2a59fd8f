package gonet

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
)

// fillFrom copies a stream by Fill until its end. Each call has room for size bytes at most.
func fillFrom(c *Conn, from io.Reader, size int) (err error) {
	for err == nil {
		if err = c.WaitWritable(size); err != nil {
			return err
		}
		var failed error
		_, err = c.Fill(size, func(a, b []byte) int {
			n, err := io.ReadFull(from, a)
			m := 0
			if err == nil {
				m, err = io.ReadFull(from, b)
			}
			failed = err
			return n + m
		})
		if err == nil && failed != nil {
			err = failed
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// TestFill sends streams of many lengths by Fill, also where frames are lost.
func TestFill(t *testing.T) {
	for name, fault := range map[string]link.Fault{"calm": {}, "lossy": {Loss: .02}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, fault, func(t *testing.T, x, y *Stack) {
				for _, size := range []int{0, 1, 1460, 1461, 1 << 20} {
					near, far := connected(t, x, y, "10.0.0.2")
					want := numbered(size)
					go func() {
						if err := fillFrom(near.(*Conn), bytes.NewReader(want),
							50_000); err != nil {
							t.Error(err)
						}
						_ = near.(*Conn).CloseWrite() // what is missing shows below
					}()
					got, err := io.ReadAll(far)
					if err != nil || !bytes.Equal(got, want) {
						t.Errorf("%d bytes of %d, %v", len(got), size, err)
					}
					_, _ = near.Close(), far.Close() // they have ended
				}
			})
		})
	}
}

// TestFillEnds has calls of Fill that end without bytes, or lose them.
func TestFillEnds(t *testing.T) {
	bubble(t, link.Fault{}, func(t *testing.T, x, y *Stack) {
		never := func(_, _ []byte) int {
			t.Error("f was called")
			return 0
		}
		near, far := connected(t, x, y, "10.0.0.2")
		c := near.(*Conn)
		if err := c.SetWriteBuffer(40_000); err != nil {
			t.Fatal(err)
		}
		const size = 1300
		for full := false; !full; {
			n, err := c.Fill(size, func(a, b []byte) int { return len(a) + len(b) })
			if err != nil || n != 0 && n != size {
				t.Fatalf("%d bytes of %d, %v", n, size, err)
			}
			time.Sleep(time.Second) // until all is acknowledged that will be
			full = n == 0
		}
		if err := c.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if err := c.WaitWritable(size); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("no room: %v", err)
		}
		if n, err := c.Fill(1, never); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("behind the deadline: %d, %v", n, err)
		}
		if err := c.SetWriteDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.WaitWritable(size) }()
		synctest.Wait()
		go func() { _, _ = io.Copy(io.Discard, far) }() // until the connection ends
		if err := <-ended; err != nil {
			t.Errorf("there is room: %v", err)
		}
		for name, end := range map[string]struct {
			end  func(c *Conn)
			want error
		}{
			"close":       {func(c *Conn) { _ = c.Close() }, net.ErrClosed},
			"close write": {func(c *Conn) { _ = c.CloseWrite() }, syscall.EPIPE},
			"abort":       {func(c *Conn) { _ = c.Abort() }, net.ErrClosed},
		} {
			near, _ := connected(t, x, y, "10.0.0.2")
			c := near.(*Conn)
			n, err := c.Fill(100, func(a, _ []byte) int {
				end.end(c)
				return len(a)
			})
			if n != 0 || !errors.Is(err, end.want) {
				t.Errorf("%s: %d, %v, want %v", name, n, err, end.want)
			}
			if n, err := c.Fill(100, never); n != 0 || !errors.Is(err, end.want) {
				t.Errorf("behind %s: %d, %v, want %v", name, n, err, end.want)
			}
			if err := c.WaitWritable(1); !errors.Is(err, end.want) {
				t.Errorf("behind %s: %v, want %v", name, err, end.want)
			}
		}
	})
}
