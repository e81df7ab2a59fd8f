package play

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"interleave/internal/probe/serve"
)

// What one client of a transcript does: each method plays one verb and returns what it saw and
// what it expected.

const (
	// oneWrite is up to where data without a pace is given to the kernel in one write.
	oneWrite = 64 << 20
	// readAtOnce is how much a reader without a pace asks for.
	readAtOnce = 256 << 10
	// blockedFor is how long a writer must be stuck before the server counts as not reading.
	blockedFor = 500 * time.Millisecond
)

func isEOF(err error) bool { return errors.Is(err, io.EOF) }

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func (c *client) send(ctx context.Context, s *send) error {
	c.spoke = time.Now()
	c.old = c.old || s.data.has(" HTTP/1.0\r\n")
	sent, err := c.write(ctx, s.data, s.pace)
	if s.gone { // a reset after the end of the data makes the server's next write a broken pipe
		err = errors.Join(err, c.conn.CloseWrite(), c.end("reset"))
	}
	if err == nil || s.try && isReset(err) {
		return nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("the server stopped reading: it took %d of %d bytes", sent, s.data.size())
	}
	return fmt.Errorf("%s after %d of %d bytes", why(err), sent, s.data.size())
}

// write sends data at its pace and returns how much the kernel took.
func (c *client) write(ctx context.Context, d data, p pace) (sent int64, err error) {
	chunk := make([]byte, min(d.size(), cmp.Or(p.by, oneWrite)))
	for r := d.reader(); ; {
		n, end := io.ReadFull(r, chunk)
		if n == 0 {
			return sent, nil
		}
		wrote, err := c.conn.Write(chunk[:n])
		if sent += int64(wrote); err != nil || end != nil {
			return sent, err
		}
		if err := serve.Sleep(ctx, p.every); err != nil {
			return sent, err
		}
	}
}

func (c *client) receive(ctx context.Context, r *receive) error {
	if r.filled {
		return c.expect(ctx, io.LimitReader(c.filled.reader(), c.sent), c.sent, r.pace)
	}
	return c.expect(ctx, r.data.reader(), r.data.size(), r.pace)
}

// expect reads size bytes, which must be those of want.
func (c *client) expect(ctx context.Context, want io.Reader, size int64, p pace) error {
	got := make([]byte, min(max(size, 1), cmp.Or(p.by, readAtOnce)))
	right := make([]byte, len(got))
	for at := int64(0); at < size; {
		n, err := c.Read(got[:min(int64(len(got)), size-at)])
		if _, err := io.ReadFull(want, right[:n]); err != nil {
			return err
		}
		if !bytes.Equal(got[:n], right[:n]) {
			wrong := 0
			for got[wrong] == right[wrong] {
				wrong++
			}
			return fmt.Errorf("after %d right bytes got %s, want %s", at+int64(wrong),
				short(got[wrong:n]), short(right[wrong:n]))
		}
		if at += int64(n); at == size {
			return nil
		}
		if err != nil {
			n, _ := io.ReadFull(want, right[:min(int64(len(right)), size-at)])
			return fmt.Errorf("got %d of %d bytes, then %s; want %s", at, size, why(err),
				short(right[:n]))
		}
		if err := serve.Sleep(ctx, p.every); err != nil {
			return err
		}
	}
	return nil
}

// echo sends and reads at the same time: a server that answers while it reads would otherwise fill
// the buffers of both ways.
func (c *client) echo(ctx context.Context, e *echo) error {
	wrote := make(chan error, 1)
	go func() {
		err := c.send(ctx, &send{data: e.data, pace: e.pace})
		if err != nil {
			// what is under way may still come
			_ = c.conn.SetReadDeadline(time.Now().Add(blockedFor))
		}
		wrote <- err
	}()
	read := c.expect(ctx, e.data.reader(), e.data.size(), pace{})
	if read != nil {
		_ = c.conn.SetWriteDeadline(time.Now())
	}
	if err := <-wrote; err != nil && read == nil {
		return err
	}
	return read
}

// fill sends until the server stops reading, as it must when nobody reads its answers.
func (c *client) fill(ctx context.Context, f *fill, deadline time.Time) error {
	c.filled, c.sent = f.data, 0
	reader, chunk := f.data.reader(), make([]byte, 64<<10)
	defer func() { _ = c.conn.SetWriteDeadline(deadline) }()
	for ctx.Err() == nil {
		n, _ := io.ReadFull(reader, chunk)
		if n == 0 {
			return fmt.Errorf("the server took all %d bytes though nobody reads its answers: it "+
				"keeps them", c.sent)
		}
		for left := chunk[:n]; len(left) > 0; {
			if time.Now().After(deadline) {
				return fmt.Errorf("the server still read after %d bytes", c.sent)
			}
			_ = c.conn.SetWriteDeadline(time.Now().Add(blockedFor))
			wrote, err := c.conn.Write(left)
			c.sent += int64(wrote)
			left = left[wrote:]
			if errors.Is(err, os.ErrDeadlineExceeded) && wrote == 0 {
				return nil
			}
			if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				return fmt.Errorf("%s after %d bytes", why(err), c.sent)
			}
		}
	}
	return context.Cause(ctx)
}

func (c *client) end(verb string) error {
	switch verb {
	case "shut":
		return c.conn.CloseWrite()
	case "close":
		return c.conn.Close()
	case "reset":
		if err := c.conn.SetLinger(0); err != nil {
			return err
		}
		return c.conn.Close()
	}
	n, err := c.Read(make([]byte, 1))
	switch {
	case n > 0:
		return errors.New("got more bytes, want the end of the connection")
	case isEOF(err), isReset(err) && verb == "closed":
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errors.New("the server kept the connection open within the transcript's limit")
	}
	return fmt.Errorf("%s, want an orderly close", why(err))
}

func (c *client) silent(s *silent, deadline time.Time) error {
	_ = c.conn.SetReadDeadline(time.Now().Add(s.during))
	defer func() { _ = c.conn.SetReadDeadline(deadline) }()
	got := make([]byte, shortBytes)
	n, err := c.Read(got)
	if n > 0 {
		return fmt.Errorf("got %s, want nothing for %v", short(got[:n]), s.during)
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%s, want an open connection on which nothing comes for %v", why(err),
			s.during)
	}
	return nil
}

// values reads replies of eight bytes, big-endian.
func (c *client) values(v *values, from uint64) error {
	var reply [8]byte
	for i, want := range v.want {
		want += from
		n, err := io.ReadFull(c, reply[:])
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF
		}
		if err != nil {
			return fmt.Errorf("%s after %d bytes of reply %d; want the value %d", why(err), n, i+1,
				want)
		}
		if got := binary.BigEndian.Uint64(reply[:]); got != want {
			return fmt.Errorf("got the value %d (%s), want %d", got, short(reply[:]), want)
		}
	}
	return nil
}
