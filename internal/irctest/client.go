package irctest

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// A Client is a Conn whose errors fail a test. Only the test's goroutine may use its methods.
type Client struct {
	*Conn
	t testing.TB
}

// New makes a client of an open connection, which is closed when the test ends.
func New(t testing.TB, c net.Conn) *Client {
	t.Helper()
	t.Cleanup(func() { _ = c.Close() }) // the test may have closed it
	return &Client{NewConn(c), t}
}

// Dial connects to a server.
func Dial(t testing.TB, address string) *Client {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, Patience)
	if err != nil {
		t.Fatal(err)
	}
	return New(t, c)
}

// DialTLS connects to a server over TLS.
func DialTLS(t testing.TB, address string, config *tls.Config) *Client {
	t.Helper()
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: Patience}, "tcp", address, config)
	if err != nil {
		t.Fatal(err)
	}
	return New(t, c)
}

// Send sends a line, or several that CR LF separates.
func (c *Client) Send(format string, words ...any) {
	c.t.Helper()
	line := fmt.Sprintf(format, words...)
	if _, err := io.WriteString(c, line+"\r\n"); err != nil {
		c.t.Fatalf("sending %.80q, after %q: %v", line, c.last, err)
	}
}

// Expect reads up to the first line with a text, and returns all lines that it has read.
func (c *Client) Expect(text string) []string {
	c.t.Helper()
	return c.ExpectFunc(fmt.Sprintf("%q", text),
		func(line string) bool { return strings.Contains(line, text) })
}

// ExpectLine is Expect, and returns only the line with the text.
func (c *Client) ExpectLine(text string) string {
	c.t.Helper()
	lines := c.Expect(text)
	return lines[len(lines)-1]
}

// ExpectFunc reads up to the first line that is wanted, and returns all lines that it has read. A
// failure names what was wanted.
func (c *Client) ExpectFunc(what string, wanted func(line string) bool) []string {
	c.t.Helper()
	lines, err := c.Await(wanted)
	if err != nil {
		c.t.Fatalf("waiting for %s, after %q: %v", what, c.last, err)
	}
	return lines
}

// ExpectEnd reads up to the end of the connection, returns all lines that it has read, and closes
// the client's side. The end may be a reset.
func (c *Client) ExpectEnd() []string {
	c.t.Helper()
	var lines []string
	for {
		line, err := c.Next()
		if open(err) {
			c.t.Fatalf("the connection is still open, after %q", c.last)
		}
		if line != "" || err == nil {
			lines = append(lines, line)
		}
		if err != nil {
			_ = c.Close() // the test may have closed it
			return lines
		}
	}
}

// Register gives the client a nick, waits for the end of the greeting, and joins rooms.
func (c *Client) Register(nick string, rooms ...string) *Client {
	c.t.Helper()
	c.Send("NICK %s\r\nUSER %s 0 * :%s", nick, nick, nick)
	c.ExpectFunc("the end of the greeting", func(line string) bool {
		// RPL_ENDOFMOTD, or ERR_NOMOTD
		return strings.Contains(line, " 376 ") || strings.Contains(line, " 422 ")
	})
	for _, r := range rooms {
		c.Send("JOIN %s", r)
		c.Expect(" 366 ") // RPL_ENDOFNAMES
	}
	return c
}
