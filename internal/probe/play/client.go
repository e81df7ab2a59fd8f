package play

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"interleave/internal/probe/serve"
	"interleave/internal/probe/transcript"
)

const (
	// oneWrite is the most bytes that data without a pace gives to the kernel in one write.
	oneWrite = 64 << 20
	// bufferBytes is what Reader buffers: the longest line of IRC with its tags.
	bufferBytes = 8191 + 512
)

// A Client is one connection of a play.
type Client struct {
	Name  string // "a", or "c[17]" in a group
	Index int    // 17
	Conn  *net.TCPConn
	Spoke time.Time // when it last began to send
	Old   bool      // it has sent a request of HTTP/1.0

	in *bufio.Reader // nil: the connection is read without a buffer
	keeper
}

// PlainName is the client's name without brackets: c17 of a group c.
func (c *Client) PlainName() string { return strings.NewReplacer("[", "", "]", "").Replace(c.Name) }

// Reader returns a buffered reader of the connection. From the first call on, Read takes the
// buffered bytes first.
func (c *Client) Reader() *bufio.Reader {
	if c.in == nil {
		c.in = bufio.NewReaderSize(c.Conn, bufferBytes)
	}
	return c.in
}

// Read reads what comes next.
func (c *Client) Read(b []byte) (int, error) {
	if c.in != nil {
		return c.in.Read(b)
	}
	return c.Conn.Read(b)
}

// Send sends data at its pace.
func (c *Client) Send(ctx context.Context, d transcript.Data, p transcript.Pace) error {
	return c.send(ctx, send{paced: paced{d, p}})
}

// write sends data at its pace and returns how many bytes the kernel has taken.
func (c *Client) write(ctx context.Context, d transcript.Data,
	p transcript.Pace) (sent int64, err error) {
	chunk := make([]byte, min(d.Size(), cmp.Or(p.By, oneWrite)))
	for r := d.Reader(); ; {
		n, end := io.ReadFull(r, chunk)
		if n == 0 {
			return sent, nil
		}
		wrote, err := c.Conn.Write(chunk[:n])
		if sent += int64(wrote); err != nil || end != nil {
			return sent, err
		}
		if err := serve.Sleep(ctx, p.Every); err != nil {
			return sent, err
		}
	}
}

// IsEOF reports whether an error is the orderly end of a connection.
func IsEOF(err error) bool { return errors.Is(err, io.EOF) }

// IsReset reports whether an error is the end of a connection by a reset.
func IsReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// isLate reports whether an error is the end of a limit.
func isLate(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
