package gonet

import (
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
)

// soakConns is how many connections come and go: go test ./gonet -run Soak -args
// -connections=100000.
var soakConns = flag.Int("connections", 2000, "how many connections come and go in TestSoak")

// lifecycles are the ways in which a connection comes and goes. Each dials the victim, which echoes
// at port 7, sends a line and closes at 8, never accepts at 9, and resets at 10.
var lifecycles = []func(t *testing.T, s *Stack){
	func(t *testing.T, s *Stack) { // request, response, close
		c := dialed(t, s, "10.0.0.2:7")
		expectEcho(t, c, 100)
		closeConns(t, c)
	},
	func(t *testing.T, s *Stack) { // closed by the server
		c := dialed(t, s, "[2001:db8::2]:8")
		if _, err := io.ReadAll(c); err != nil {
			t.Error(err)
		}
		closeConns(t, c)
	},
	func(t *testing.T, s *Stack) { // half-closed
		c := dialed(t, s, "10.0.0.2:7")
		if _, err := c.Write([]byte("half")); err != nil {
			t.Error(err)
		}
		if err := c.(*Conn).CloseWrite(); err != nil {
			t.Error(err)
		}
		if b, err := io.ReadAll(c); err != nil || string(b) != "half" {
			t.Errorf("%q, %v", b, err)
		}
		closeConns(t, c)
	},
	func(t *testing.T, s *Stack) { // refused
		if _, err := s.Dial("tcp", "10.0.0.2:11"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Error(err)
		}
	},
	func(t *testing.T, s *Stack) { // aborted
		c := dialed(t, s, "10.0.0.2:7")
		_, _ = c.Write([]byte("never mind"))
		if err := c.(*Conn).Abort(); err != nil {
			t.Error(err)
		}
	},
	func(t *testing.T, s *Stack) { // reset by the server
		c, err := s.Dial("tcp", "10.0.0.2:10") // the RST may come before Dial sees the SYN-ACK
		if err == nil {
			_, err = io.ReadAll(c)
			_ = c.Close() // the connection has ended
		}
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Error(err)
		}
	},
	func(t *testing.T, s *Stack) { // dialed and cancelled
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		if c, err := s.DialContext(ctx, "tcp", "10.0.0.2:7"); err == nil {
			closeConns(t, c)
		}
	},
	func(t *testing.T, s *Stack) { // no such host
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := s.DialContext(ctx, "tcp", "10.0.0.77:7"); err == nil {
			t.Error("nobody answers")
		}
	},
	func(t *testing.T, s *Stack) { // closed before the response
		c := dialed(t, s, "10.0.0.2:7")
		_, _ = c.Write(make([]byte, 20_000))
		closeConns(t, c)
	},
	func(t *testing.T, s *Stack) { // a UDP socket, and a ping
		c, err := s.Dial("udp", "10.0.0.2:7")
		if err != nil {
			t.Error(err)
			return
		}
		if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
			t.Error(err)
		}
		_, _ = c.Write([]byte("hallo"))
		// ICMP errors are limited in rate
		if _, err := c.Read(make([]byte, 10)); !errors.Is(err, syscall.ECONNREFUSED) &&
			!errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		closeConns(t, c)
		if _, err := s.Ping(t.Context(), addrV, 100); err != nil {
			t.Error(err)
		}
	},
	func(t *testing.T, s *Stack) { // to the stack itself
		c := dialed(t, s, "127.0.0.1:7")
		expectEcho(t, c, 10)
		closeConns(t, c)
	},
	func(t *testing.T, s *Stack) { // a listener for one connection
		l, err := s.Listen("tcp", ":0")
		if err != nil {
			t.Error(err)
			return
		}
		c := dialed(t, s, l.Addr().String())
		if err := l.Close(); err != nil { // nobody has accepted the connection
			t.Error(err)
		}
		_, _ = io.ReadAll(c)
		_ = c.Close() // the connection was reset
	},
}

func dialed(t *testing.T, s *Stack, address string) net.Conn {
	t.Helper()
	c, err := s.Dial("tcp", address)
	if err != nil {
		t.Errorf("%s: %v", address, err)
		return failedConn()
	}
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Error(err)
	}
	return c
}

// failedConn stands for a connection that could not be dialed: all calls on it fail.
func failedConn() net.Conn {
	a, b := net.Pipe()
	_ = b.Close()
	return a
}

// servers starts the servers that lifecycles use.
func servers(t *testing.T, s *Stack) {
	t.Helper()
	serveEcho(t, s, ":7")
	for port, f := range map[string]func(c net.Conn){
		":8":  func(c net.Conn) { _, _ = c.Write([]byte("a line\n")); _ = c.Close() },
		":10": func(c net.Conn) { _ = c.(*Conn).Abort() },
	} {
		l, err := s.Listen("tcp", port)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				f(c)
			}
		}()
	}
}

// TestSoak has connections of all kinds come and go: no goroutine, no table entry and no memory is
// left.
func TestSoak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair()
		fault := link.Fault{Delay: time.Millisecond}
		quiet := func(c *Config) { c.NoDAD, c.NoAutoconf = true, true }
		x, y := host6(t, link.NewFaults(a, 1, fault, fault), "1", quiet), host6(t, b, "2", quiet)
		servers(t, x)
		servers(t, y)
		live := func(n int) {
			const together = 100
			for i := 0; i < n; i += together {
				var all sync.WaitGroup
				for k := range together {
					all.Go(func() { lifecycles[(i+k)%len(lifecycles)](t, x) })
				}
				all.Wait()
				if i%5000 == 0 {
					time.Sleep(2 * time.Minute) // the ports are free again
				}
			}
			empty(t, 0, x, y)
			time.Sleep(20 * time.Minute)
		}
		live(fewer(1000, 4)) // allocates what is allocated once
		growth := newGrowth(t)
		before := growth.goroutines
		conns := fewer(*soakConns, 4)
		live(conns)
		growth.measure()
		t.Logf("%d connections: %d bytes more, %d goroutines more", conns, growth.atEnd,
			runtime.NumGoroutine()-before)
		// The runtime's own: partly used spans, and stacks for reuse.
		if growth.atEnd > 2<<20 && !underRace || growth.lastRoutine > 0 {
			t.Errorf("%d bytes and %d goroutines are left", growth.atEnd, growth.lastRoutine)
		}
	})
}

// TestIdleConnections keeps 10,000 connections open, and logs what each costs the process.
func TestIdleConnections(t *testing.T) {
	if underRace {
		t.Skip("SKIP: the race detector does not take so many goroutines; run it without")
	}
	const n = 10_000
	a, b := link.Pair()
	x, y := twoHosts(t, a, b)
	l, err := y.Listen("tcp", ":7")
	if err != nil {
		t.Fatal(err)
	}
	base := memory()
	var near, far []net.Conn
	for range n {
		c, err := x.Dial("tcp", "10.0.0.2:7")
		if err != nil {
			t.Fatal(err)
		}
		d, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		near, far = append(near, c), append(far, d)
	}
	open := memory() - base
	var all sync.WaitGroup
	for _, c := range far {
		all.Go(func() {
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("an idle connection ended: %v", err)
			}
		})
	}
	for runtime.NumGoroutine() < n {
		runtime.Gosched()
	}
	// most goroutines wait by now; otherwise less memory is counted
	time.Sleep(50 * time.Millisecond)
	reading := memory() - base
	alone, blocked := open/(2*n), (reading-open)/n
	t.Logf("%d bytes each end, and %d for a goroutine that reads it", alone, blocked)
	// A goroutine takes at least 2.6 KB: its stack of 2 KiB and the runtime's record. The initial
	// stack is the runtime's guess by the average of all stacks: 4 or 8 KiB on a machine that does
	// much else.
	if alone > 3<<10 || blocked > 9<<10 {
		t.Errorf("a connection takes %d bytes, and a goroutine that reads it %d, at most 3 and "+
			"9 KiB", alone, blocked)
	}
	for i := range near {
		closeConns(t, near[i])
	}
	all.Wait()
	for i := range far {
		closeConns(t, far[i])
	}
	waits := memory() - base
	t.Logf("%d bytes for each end that has closed", waits/(2*n))
}
