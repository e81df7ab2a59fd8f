package eve_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"interleave/internal/freeport"
)

// TestEcho holds conversations that a TCP server must handle.
func TestEcho(t *testing.T) {
	conversations := []struct {
		name string
		talk func(t *testing.T, s *server)
	}{
		{"half-close", talkHalfClose},
		{"much at once", talkMuch},
		{"byte by byte", talkBytes},
		{"many", talkMany},
		{"resets", talkResets},
		{"slow reader", talkSlowly},
	}
	eachMode(t, "io_echo", func(t *testing.T, m ioMode, path string) {
		s := serve(t, path, m.env)
		s.exact = m.sanitize == ""
		before := s.descriptors()
		for _, c := range conversations {
			t.Run(c.name, func(t *testing.T) {
				s.t = t
				c.talk(t, s)
				s.eventually("no descriptor is left over",
					func() bool { return s.descriptors() <= before })
			})
		}
		s.t = t
		s.mustNotSpin("with nothing to do")
		c := s.dial()
		defer c.Close()
		mustWrite(t, c, "last")
		mustRead(t, c, "last")
		s.terminate()
		mustEnd(t, c)
	})
}

// talkHalfClose sends and closes its side at once. The replies must come all the same.
func talkHalfClose(t *testing.T, s *server) {
	for i := range 50 {
		c := s.dial()
		text := strings.Repeat("x", i*100)
		mustWrite(t, c, text)
		c.CloseWrite()
		mustRead(t, c, text)
		mustEnd(t, c)
		c.Close()
	}
}

// talkMuch writes 8 MiB before it reads.
func talkMuch(t *testing.T, s *server) {
	sent := make([]byte, 8<<20)
	rand.New(rand.NewSource(1)).Read(sent)
	c := s.dial()
	defer c.Close()
	go func() {
		c.Write(sent)
		c.CloseWrite()
	}()
	time.Sleep(50 * time.Millisecond)
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("%d of %d bytes came back right or wrong: %v", len(got), len(sent), err)
	}
}

func talkBytes(t *testing.T, s *server) {
	c := s.dial()
	defer c.Close()
	c.SetNoDelay(true)
	text := strings.Repeat("one by one. ", 40)
	go func() {
		for i := range text {
			io.WriteString(c, text[i:i+1])
		}
	}()
	mustRead(t, c, text)
}

func talkMany(t *testing.T, s *server) {
	var all []*net.TCPConn
	for range 1000 {
		c := s.dial()
		defer c.Close()
		all = append(all, c)
	}
	for i, c := range all {
		mustWrite(t, c, fmt.Sprintf("%06d", i))
	}
	for i, c := range all {
		mustRead(t, c, fmt.Sprintf("%06d", i))
	}
}

// talkResets ends connections by resets, with data under way in both directions.
func talkResets(t *testing.T, s *server) {
	for range 200 {
		c := s.dial()
		c.SetLinger(0)
		mustWrite(t, c, strings.Repeat("r", 20000))
		c.Close()
	}
	c := s.dial()
	defer c.Close()
	mustWrite(t, c, "still there")
	mustRead(t, c, "still there")
}

// talkSlowly has clients that write without reading: the server must stop reading them.
func talkSlowly(t *testing.T, s *server) {
	before := s.residentKiB()
	for range 8 {
		c := s.dial()
		defer c.Close()
		s.stall(c)
	}
	if grown := s.residentKiB() - before; grown > 64<<10 && s.exact {
		t.Errorf("8 clients that do not read cost %d KiB", grown)
	}
	c := s.dial()
	defer c.Close()
	mustWrite(t, c, "quick")
	mustRead(t, c, "quick")
}

// stall writes until the server takes no more, since the client does not read the replies. It
// waits until not a byte gets through and the server sleeps, twice in succession. A server that
// merely has no processor at the moment does not sleep.
func (s *server) stall(c *net.TCPConn) {
	s.t.Helper()
	// bytes: many times the kernel's buffers, 6 + 4 MB at most each way by tcp_rmem and tcp_wmem
	const most = 64 << 20
	block := make([]byte, 1<<20)
	for taken, asleep := 0, 0; asleep < 2; {
		c.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
		n, err := c.Write(block)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			s.t.Fatalf("%v; the server's last words: %s", err, s.err.last())
		}
		if taken += n; taken > most {
			s.t.Fatalf("the server has read %d bytes of a client that reads nothing, and goes on",
				taken)
		}
		if asleep++; n > 0 || !s.sleeps() {
			asleep = 0
		}
	}
	c.SetDeadline(time.Now().Add(patience))
}

// TestShutdown has a client that does not read its output: the server gives it the grace of a
// second, and everybody else gets their output.
func TestShutdown(t *testing.T) {
	eachMode(t, "io_echo", func(t *testing.T, m ioMode, path string) {
		t.Parallel()
		s := serve(t, path, m.env)
		quick, stuck := s.dial(), s.dial()
		defer quick.Close()
		defer stuck.Close()
		mustWrite(t, quick, "quick")
		s.stall(stuck)
		begin := time.Now()
		s.terminate()
		mustRead(t, quick, "quick")
		mustEnd(t, quick)
		if took := time.Since(begin); took < 900*time.Millisecond {
			t.Errorf("it ended after %v, its grace is 1s", took)
		}
	})
}

// TestChurn opens and closes 20 000 connections: memory and descriptors must not grow.
func TestChurn(t *testing.T) {
	needSanitize(t, "")
	for _, m := range ioModes(t) {
		if strings.HasSuffix(m.name, "alone") {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			s := serve(t, buildProgram(t, "io_echo", ""), m.env)
			churn(t, s, 2000)
			descriptors, memory := s.descriptors(), s.residentKiB()
			churn(t, s, 20000)
			s.eventually("no descriptor is left over",
				func() bool { return s.descriptors() <= descriptors })
			if grown := s.residentKiB() - memory; grown > 1024 {
				t.Errorf("20000 connections left %d KiB", grown)
			}
			s.terminate()
		})
	}
}

func churn(t *testing.T, s *server, n int) {
	var wait sync.WaitGroup
	for range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			got := make([]byte, 4)
			for range n / 8 {
				c, err := net.Dial("tcp", s.addr)
				if err != nil {
					t.Error(err)
					return
				}
				io.WriteString(c, "ping")
				if _, err := io.ReadFull(c, got); err != nil {
					t.Error(err)
				}
				c.(*net.TCPConn).SetLinger(0) // so that no port stays in TIME-WAIT
				c.Close()
			}
		}()
	}
	wait.Wait()
}

// TestIdle holds that a connection without traffic costs at most 512 bytes.
func TestIdle(t *testing.T) {
	const connections = 9000
	needSanitize(t, "")
	for _, m := range ioModes(t) {
		if strings.HasSuffix(m.name, "alone") {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			s := serve(t, buildProgram(t, "io_echo", ""), m.env)
			open := func(n int) {
				for range n {
					c, err := net.Dial("tcp", s.addr)
					if err != nil {
						t.Skipf("no more connections here: %v", err)
					}
					t.Cleanup(func() { c.Close() })
					mustWrite(t, c, "idle")
					mustRead(t, c, "idle")
				}
			}
			open(500)
			before := s.residentKiB()
			open(connections)
			each := float64(s.residentKiB()-before) * 1024 / connections
			t.Logf("%.0f bytes for each idle connection", each)
			if each > 512 {
				t.Errorf("an idle connection costs %.0f bytes", each)
			}
		})
	}
}

// TestOutOfDescriptors lets a server run out of descriptors: it serves the clients that it has,
// does not spin, and goes on when descriptors are free again.
func TestOutOfDescriptors(t *testing.T) {
	eachMode(t, "io_echo", func(t *testing.T, m ioMode, path string) {
		s := serve(t, "sh", m.env, "-c", "ulimit -n 40; exec "+path+" 0")
		var all []*net.TCPConn
		for range 60 {
			c := s.dial()
			defer c.Close()
			all = append(all, c)
		}
		mustWrite(t, all[0], "one")
		mustRead(t, all[0], "one")
		s.mustNotSpin("without descriptors")
		mustWrite(t, all[59], "waits")
		for _, c := range all[:50] {
			c.Close()
		}
		mustRead(t, all[59], "waits")
		s.terminate()
	})
}

// TestKilled kills a server with clients: its port must be free for the next server at once, even
// while the kernel still destroys the first one's ring.
func TestKilled(t *testing.T) {
	eachMode(t, "io_echo", func(t *testing.T, m ioMode, path string) {
		// The kernel gives no client this port meanwhile.
		port := strconv.Itoa(freeport.For(t))
		for range 10 {
			s := serve(t, path, m.env, port)
			for range 20 {
				c := s.dial()
				defer c.Close()
				mustWrite(t, c, "x")
				mustRead(t, c, "x")
			}
			s.cmd.Process.Kill()
			s.cmd.Wait()
			l, err := net.Listen("tcp", s.addr)
			if err != nil {
				t.Fatalf("after the kill: %v", err)
			}
			l.Close()
		}
	})
}

func TestPortInUse(t *testing.T) {
	eachMode(t, "io_echo", func(t *testing.T, m ioMode, path string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		out, err := output(m.env, path, port)
		want := fmt.Sprintf(": cannot listen on 127.0.0.1:%s: Address already in use\n", port)
		if status(err) != 1 || !strings.HasSuffix(out, want) || strings.Count(out, "\n") != 1 {
			t.Errorf("%v, said %q, want status 1 and %q", err, out, want)
		}
	})
}
