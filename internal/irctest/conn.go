// Package irctest is a client of IRC for tests of servers. It sends lines and waits for lines. A
// failure shows the lines that it has received last.
package irctest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Patience bounds every wait. A test that passes comes nowhere near it on any machine.
const Patience = 5 * time.Minute

// maxLine is in bytes: room for 8191 bytes of tags (IRCv3, message-tags) and a message of 512.
const maxLine = 16 << 10

// lastLines is how many received lines a failure shows.
const lastLines = 8

// A Conn sends and receives lines, and reports errors to its caller. Several goroutines may write
// at the same time, but only one may receive.
type Conn struct {
	net.Conn
	// Silent is for clients that do not answer PING. They receive it as any other line.
	Silent   bool
	received *bufio.Reader
	last     []string
	// writing has room for the one goroutine that writes. It is no mutex: in a bubble of
	// testing/synctest, time stands still while a goroutine waits for a mutex.
	writing chan struct{}
}

// NewConn speaks IRC over an open connection, such as one end of a net.Pipe.
func NewConn(c net.Conn) *Conn {
	return &Conn{Conn: c, received: bufio.NewReaderSize(c, maxLine),
		writing: make(chan struct{}, 1)}
}

// Read returns bytes that Next has not returned yet.
func (c *Conn) Read(b []byte) (int, error) { return c.received.Read(b) }

// Write writes all of b before another goroutine's bytes, within Patience.
func (c *Conn) Write(b []byte) (int, error) {
	c.writing <- struct{}{}
	defer func() { <-c.writing }()
	if err := c.SetWriteDeadline(time.Now().Add(Patience)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// Next returns the next line without its end, and waits for it up to Patience. It answers PING, and
// does not return it. With an error it returns the part of a line that was received.
func (c *Conn) Next() (string, error) {
	for {
		c.limit()
		data, err := c.received.ReadSlice('\n')
		if err != nil {
			return string(data), err
		}
		line, found := strings.CutSuffix(string(data), "\r\n")
		if !found {
			return line, fmt.Errorf("a line that does not end in CR LF: %q", line)
		}
		if len(c.last) == lastLines {
			c.last = append(c.last[:0], c.last[1:]...)
		}
		c.last = append(c.last, line)
		token, ping := strings.CutPrefix(line, "PING ")
		if !ping || c.Silent {
			return line, nil
		}
		// The server may have closed its side already: then the next read reports it.
		_, _ = fmt.Fprintf(c, "PONG %s\r\n", token)
	}
}

// Await reads up to the first line that is wanted, and returns all lines that it has read.
func (c *Conn) Await(wanted func(line string) bool) ([]string, error) {
	var lines []string
	for {
		line, err := c.Next()
		if err != nil {
			return lines, err
		}
		if lines = append(lines, line); wanted(line) {
			return lines, nil
		}
	}
}

// Rest returns the bytes up to the end of the connection, which may be a reset.
func (c *Conn) Rest() ([]byte, error) {
	c.limit()
	return io.ReadAll(c.received)
}

// limit gives the next read up to Patience. A pipe whose other end is closed refuses a limit: lines
// may still stand in the buffer, and the read after them returns the error.
func (c *Conn) limit() { _ = c.SetReadDeadline(time.Now().Add(Patience)) }

// open says whether an error means that the other side has not ended the connection in time.
func open(err error) bool {
	var late net.Error
	return errors.As(err, &late) && late.Timeout()
}
