package load

// The servers that the engine is tested against: right ones, and wrong ones of each kind.

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// listen serves each connection by a goroutine until the test ends.
func listen(t testing.TB, serve func(c *net.TCPConn)) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listenOn(t, l, serve)
}

// listenOn does so at a listener, which it closes.
func listenOn(t testing.TB, l net.Listener, serve func(c *net.TCPConn)) netip.AddrPort {
	t.Helper()
	var mu sync.Mutex
	var open []net.Conn
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			served.Go(func() {
				defer c.Close()
				serve(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		served.Wait()
	})
	return l.Addr().(*net.TCPAddr).AddrPort()
}

func serveEcho(c *net.TCPConn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := c.Read(buf)
		if n > 0 {
			if _, err := c.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// afterBytes echoes n bytes and then does something else.
func afterBytes(n int64, then func(*net.TCPConn)) func(*net.TCPConn) {
	return func(c *net.TCPConn) {
		if _, err := io.CopyN(c, c, n); err == nil {
			then(c)
		}
	}
}

// serveCounter counts in value; add says by how much the n-th increment of the server counts.
func serveCounter(value *atomic.Uint64, add func(n uint64) uint64) func(*net.TCPConn) {
	var increments atomic.Uint64
	return func(c *net.TCPConn) {
		buf := make([]byte, 4096)
		for {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			out := make([]byte, 0, 8*n)
			for _, op := range buf[:n] {
				v := value.Load()
				if op == opIncrement {
					v = value.Add(add(increments.Add(1)))
				}
				out = binary.BigEndian.AppendUint64(out, v)
			}
			if _, err := c.Write(out); err != nil {
				return
			}
		}
	}
}

func countRight(uint64) uint64 { return 1 }

// A lineSink keeps the lines that it reads, by their first word.
type lineSink struct {
	mu    sync.Mutex
	lines map[string][]string
	bytes int64
}

func (s *lineSink) serve(c *net.TCPConn) {
	r := bufio.NewReader(c)
	for {
		line, err := r.ReadString('\n')
		s.mu.Lock()
		s.bytes += int64(len(line))
		if len(line) >= prefixBytes {
			s.lines[line[:8]] = append(s.lines[line[:8]], line)
		} else if line != "" {
			s.lines["torn"] = append(s.lines["torn"], line)
		}
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// stall makes an echo server that does nothing in the first part of each period.
func stall(period, part time.Duration) func(*net.TCPConn) {
	began := time.Now()
	return func(c *net.TCPConn) {
		buf := make([]byte, 64<<10)
		for {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			if in := time.Since(began) % period; in < part {
				time.Sleep(part - in)
			}
			c.Write(buf[:n])
		}
	}
}

// untilClosed returns when the test has closed the connection. It reads nothing.
func untilClosed(c *net.TCPConn) {
	for c.SetDeadline(time.Time{}) == nil {
		time.Sleep(5 * time.Millisecond)
	}
}

// finish ends the stream in order: a close with a request unread would be a reset.
func finish(c *net.TCPConn) {
	c.CloseWrite()
	io.Copy(io.Discard, c)
}

// reset waits for a byte and closes the connection by a reset.
func reset(c *net.TCPConn) {
	c.Read(make([]byte, 1))
	c.SetLinger(0)
}

// hold reads one byte and no more.
func hold(c *net.TCPConn) {
	c.Read(make([]byte, 1))
	untilClosed(c)
}

// readAndHold reads everything and does not close its side.
func readAndHold(c *net.TCPConn) {
	io.Copy(io.Discard, c)
	untilClosed(c)
}

// twice answers each 16 bytes twice.
func twice(c *net.TCPConn) {
	var m [16]byte
	for {
		if _, err := io.ReadFull(c, m[:]); err != nil {
			return
		}
		c.Write(append(m[:], m[:]...))
	}
}

// short answers 16 bytes by 5.
func short(c *net.TCPConn) {
	var m [16]byte
	io.ReadFull(c, m[:])
	c.Write(m[:5])
}

// countHundredth counts the server's hundredth increment as n.
func countHundredth(n uint64) func(*net.TCPConn) {
	return serveCounter(new(atomic.Uint64), func(i uint64) uint64 {
		if i == 100 {
			return n
		}
		return 1
	})
}
