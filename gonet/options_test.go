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
	"interleave/gonet/wire"
)

// TestCloseRead: the end that reads no more gets an end of file, also if it waits, and the other
// end writes without bound. The direction that is left works.
func TestCloseRead(t *testing.T) {
	bubble(t, link.Fault{Delay: time.Millisecond}, func(t *testing.T, x, y *Stack) {
		near, far := connected(t, x, y, "10.0.0.2")
		if _, err := far.Write([]byte("never read")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := near.Read(make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
		if err := near.(*Conn).CloseRead(); err != nil {
			t.Fatal(err)
		}
		if n, err := near.Read(make([]byte, 9)); n != 0 || err != io.EOF {
			t.Errorf("read %d bytes, %v, want the end", n, err)
		}
		if _, err := far.Write(make([]byte, 20<<20)); err != nil {
			t.Errorf("the other end: %v", err)
		}
		if _, err := near.Write([]byte("answer")); err != nil {
			t.Error(err)
		}
		if err := near.Close(); err != nil {
			t.Error(err)
		}
		if got, err := io.ReadAll(far); string(got) != "answer" || err != nil {
			t.Errorf("the other end reads %q, %v", got, err)
		}
		again, _ := connected(t, x, y, "10.0.0.2")
		ended := make(chan error, 1)
		go func() {
			_, err := again.Read(make([]byte, 1))
			ended <- err
		}()
		time.Sleep(time.Second)
		if err := again.(*Conn).CloseRead(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != io.EOF {
			t.Errorf("a reader that waits gets %v", err)
		}
	})
}

// cutOff makes a connection whose peer crashes, and returns it.
func cutOff(t *testing.T, change func(*Conn) error) *Conn {
	t.Helper()
	hub := link.NewHub()
	x, port := host(t, hub.Port(), "10.0.0.1/24"), hub.Port()
	near, _ := connected(t, x, host(t, port, "10.0.0.2/24"), "10.0.0.2")
	if err := change(near.(*Conn)); err != nil {
		t.Fatal(err)
	}
	if err := port.Close(); err != nil {
		t.Fatal(err)
	}
	return near.(*Conn)
}

// TestOptionsOfTime sets options whose effect is the time at which a connection to a host that has
// gone ends.
func TestOptionsOfTime(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Conn) error
		write  bool
		want   time.Duration // 0: it does not end
	}{
		"keep-alive off": {func(c *Conn) error { return c.SetKeepAlive(false) }, false, 0},
		"a period": {func(c *Conn) error { return c.SetKeepAlivePeriod(time.Second) }, false,
			10 * time.Second},
		"all of keep-alive": {func(c *Conn) error {
			return c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 20 * time.Second,
				Interval: 5 * time.Second, Count: 2})
		}, false, 30 * time.Second},
		"on again": {func(c *Conn) error {
			return errors.Join(c.SetKeepAlive(false), c.SetKeepAlive(true))
		}, false, 150 * time.Second},
		"user timeout": {func(c *Conn) error {
			return c.SetUserTimeout(7 * time.Second)
		}, true, 7 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			near := cutOff(t, c.change)
			if c.write {
				if _, err := near.Write([]byte("x")); err != nil {
					t.Error(err)
				}
			}
			begun := time.Now()
			_ = near.SetReadDeadline(begun.Add(10 * time.Minute)) // never fails
			_, err := near.Read(make([]byte, 1))
			d := time.Since(begun)
			if c.want == 0 && !errors.Is(err, os.ErrDeadlineExceeded) || c.want != 0 &&
				(d < c.want-time.Second || d > c.want+time.Second) {
				t.Errorf("%s: %v after %v, want %v", name, err, d, c.want)
			}
			_ = near.Abort() // it may have ended
		})
	}
}

// TestLinger closes a connection with bytes that a peer which has gone does not acknowledge.
func TestLinger(t *testing.T) {
	for seconds, want := range map[int]time.Duration{0: 0, 3: 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			near := cutOff(t, func(c *Conn) error { return c.SetLinger(seconds) })
			if _, err := near.Write([]byte("x")); err != nil {
				t.Error(err)
			}
			if err := near.Close(); err != nil {
				t.Error(err)
			}
			time.Sleep(want - min(want, time.Millisecond))
			if want > 0 && !near.busy() {
				t.Errorf("a linger of %d s: it has ended too early", seconds)
			}
			time.Sleep(2 * time.Millisecond)
			if near.busy() {
				t.Errorf("a linger of %d s: it lives on after %v", seconds, want)
			}
		})
	}
}

// TestBuffers: a small buffer of the reader stops a writer, and so does one of its own.
func TestBuffers(t *testing.T) {
	bubble(t, link.Fault{Delay: time.Millisecond}, func(t *testing.T, x, y *Stack) {
		near, far := connected(t, x, y, "10.0.0.2")
		if err := errors.Join(near.(*Conn).SetWriteBuffer(10_000),
			far.(*Conn).SetReadBuffer(20_000)); err != nil {
			t.Fatal(err)
		}
		_ = near.SetWriteDeadline(time.Now().Add(time.Minute)) // never fails
		n, err := near.Write(bytes.Repeat([]byte("x"), 1<<20))
		// the window that was announced before stays open
		if !errors.Is(err, os.ErrDeadlineExceeded) || n > 128<<10 {
			t.Errorf("%d bytes fit into small buffers, %v", n, err)
		}
		for _, err := range []error{near.(*Conn).SetReadBuffer(0), near.(*Conn).SetWriteBuffer(-1),
			near.(*Conn).SetUserTimeout(-1)} {
			if !errors.Is(err, syscall.EINVAL) {
				t.Errorf("nonsense: %v", err)
			}
		}
	})
}

// TestTTLAndTOSOfConns reads the headers of a SYN's followers, with both options set.
func TestTTLAndTOSOfConns(t *testing.T) {
	bubble(t, link.Fault{}, func(t *testing.T, x, y *Stack) {
		near, _ := connected(t, x, y, "10.0.0.2")
		c := near.(*Conn)
		if err := errors.Join(c.SetTTL(7), c.SetTOS(0xb9), c.SetNoDelay(false)); err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		var b [wire.IPv6Len]byte
		c.putIPv4(b[:], 0, c.tos)
		if h, _, err := wire.ParseIPv4(b[:wire.IPv4Len]); err != nil || h.TTL != 7 ||
			h.TOS != 0xb8 || !c.cfg.Delay {
			t.Errorf("%+v, %v", h, err)
		}
		c.putIPv6(b[:], 0, c.tos)
		if h, _, err := wire.ParseIPv6(b[:]); err != nil || h.HopLimit != 7 ||
			h.TrafficClass != 0xb8 {
			t.Errorf("%+v, %v", h, err)
		}
	})
}
