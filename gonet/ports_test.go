//go:build !race

package gonet

import (
	"errors"
	"io"
	"syscall"
	"testing"
	"time"

	"interleave/gonet/internal/demux"
	"interleave/gonet/link"
)

// TestPortsComeBack dials one peer until the ports run out: each connection is in TIME-WAIT. After
// a second a port may be used again, as timestamps tell the old connection from the new one. (Under
// the race detector its 32,768 connections take a minute.)
func TestPortsComeBack(t *testing.T) {
	bubble(t, link.Fault{}, func(t *testing.T, x, y *Stack) {
		l, err := y.Listen("tcp4", ":9")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				if b, err := io.ReadAll(c); err != nil || string(b) != "hello" {
					t.Errorf("%q, %v", b, err)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
		}()
		transfer := func() error {
			c, err := x.Dial("tcp4", "10.0.0.2:9")
			if err != nil {
				return err
			}
			if _, err := io.WriteString(c, "hello"); err != nil {
				return err
			}
			if err := c.(*Conn).CloseWrite(); err != nil {
				return err
			}
			if _, err := io.ReadAll(c); err != nil {
				return err
			}
			return c.Close()
		}
		// takes no time: the wire has no delay, and time is fake
		for range demux.LastPort - demux.FirstPort + 1 {
			if err := transfer(); err != nil {
				t.Fatal(err)
			}
		}
		if err := transfer(); !errors.Is(err, syscall.EADDRNOTAVAIL) {
			t.Errorf("without a port: %v", err)
		}
		advanceTime(time.Second)
		for range 100 {
			if err := transfer(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
