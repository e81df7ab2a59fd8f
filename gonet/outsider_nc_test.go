//go:build linux

package gonet

import (
	"bytes"
	"io"
	"net"
	"testing"
)

// TestOutsiderNetcat connects netcat and the stack, each of them listening once. The client still
// reads after it has closed its sending direction.
func TestOutsiderNetcat(t *testing.T) {
	requireTools(t, "nc of netcat-openbsd", "ip of iproute2")
	s := capturedKernel(t)
	ours, theirs := pattern(700_000), bytes.Repeat([]byte("what netcat has to say\n"), 40_000)
	l, err := s.Listen("tcp", ":9000")
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"10.9.0.2", "2001:db8::2"} {
		nc := begin(t, bytes.NewReader(theirs), "nc", "-N", at, "9000")
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, theirs) {
			t.Errorf("netcat has said %d bytes of %d, %v", len(got), len(theirs), err)
		}
		if _, err := c.Write(ours); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if got := nc.end(t); got != string(ours) {
			t.Errorf("netcat has heard %d bytes of %d", len(got), len(ours))
		}
	}
	for _, at := range []string{"10.9.0.1", "2001:db8::1"} {
		nc := begin(t, bytes.NewReader(theirs), "nc", "-l", "-N", at, "9001")
		var c net.Conn
		eventually(t,
			func() (err error) { c, err = s.Dial("tcp", net.JoinHostPort(at, "9001")); return err })
		sent := make(chan error, 1)
		go func() {
			_, err := c.Write(ours)
			sent <- err
		}()
		if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, theirs) {
			t.Errorf("netcat that listens has said %d bytes of %d, %v", len(got), len(theirs), err)
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
		// a listening netcat ends when the connection closes, even with unsent input
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if got := nc.end(t); got != string(ours) {
			t.Errorf("netcat that listens has heard %d bytes of %d", len(got), len(ours))
		}
	}
	p, err := s.ListenPacket("udp", ":9002")
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"10.9.0.2", "2001:db8::2"} {
		// -W 1: netcat ends after one answer
		nc := begin(t, bytes.NewReader([]byte("a datagram")), "nc", "-u", "-W", "1", at, "9002")
		b := make([]byte, 100)
		n, from, err := p.ReadFrom(b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.WriteTo(bytes.ToUpper(b[:n]), from); err != nil {
			t.Fatal(err)
		}
		if got := nc.end(t); got != "A DATAGRAM" {
			t.Errorf("netcat has heard %q", got)
		}
	}
}
