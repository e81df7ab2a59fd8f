package eve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestCounter holds that replies come in the order of the requests, that none is lost at a
// half-close, and that every increment counts.
func TestCounter(t *testing.T) {
	eachMode(t, "io_counter", func(t *testing.T, m ioMode, path string) {
		s := serve(t, path, m.env)
		const clients, each = 20, 500
		var wait sync.WaitGroup
		for range clients {
			wait.Add(1)
			go func() {
				defer wait.Done()
				c := s.dial()
				defer c.Close()
				io.WriteString(c, strings.Repeat("\x01", each))
				c.CloseWrite()
				var last, n int
				for {
					var value int
					if _, err := fmt.Fscanln(c, &value); err != nil {
						break
					}
					if value <= last {
						t.Errorf("%d came after %d", value, last)
					}
					last = value
					n++
				}
				if n != each {
					t.Errorf("%d replies to %d requests", n, each)
				}
			}()
		}
		wait.Wait()
		c := s.dial()
		defer c.Close()
		mustWrite(t, c, "\x00")
		mustRead(t, c, fmt.Sprintf("%d\n", clients*each))
		s.terminate()
	})
}

// TestCalm holds that a program that only computes keeps its pollers: each worker that looks after
// another's wakes up and computes nothing meanwhile.
func TestCalm(t *testing.T) {
	eachMode(t, "io_calm", func(t *testing.T, m ioMode, path string) {
		s := start(t, path, append(slices.Clone(m.env), "EVE_WORKERS=2"))
		if said := s.next(); said != "taken 0, clients 0" {
			t.Errorf("the program says %q: its poller had nothing to hand out", said)
		}
	})
}

// TestBroadcast holds that every client gets the messages of one client in their order, and that
// the server forgets clients that leave.
func TestBroadcast(t *testing.T) {
	eachMode(t, "io_broadcast", func(t *testing.T, m ioMode, path string) {
		s := serve(t, path, m.env)
		const clients = 30
		var all []*net.TCPConn
		for range clients {
			c := s.dial()
			defer c.Close()
			all = append(all, c)
			mustWrite(t, c, "hello.") // a client that gets its own message is registered
			mustRead(t, c, "hello.")
		}
		for i, c := range all { // and gets the messages of later ones
			mustRead(t, c, strings.Repeat("hello.", clients-1-i))
		}
		var text strings.Builder
		for i := range 200 {
			line := fmt.Sprintf("%04d|", i)
			mustWrite(t, all[0], line)
			text.WriteString(line)
		}
		for _, c := range all {
			mustRead(t, c, text.String())
		}
		for i, c := range all[1:] {
			if i%2 == 0 {
				c.SetLinger(0)
			}
			c.Close()
			s.expect(fmt.Sprintf("left %d", clients-1-i))
		}
		s.terminate()
	})
}

// TestSocketEvents plays all events that a socket can emit, driven by lines.
func TestSocketEvents(t *testing.T) {
	plays := []struct {
		name string
		args []string
		play func(t *testing.T, s *server, c *net.TCPConn)
	}{
		{"lines", nil, func(t *testing.T, s *server, c *net.TCPConn) {
			mustWrite(t, c, "one\ntwo\r\n\nth")
			mustRead(t, c, "<one>\n<two>\n<>\n")
			mustWrite(t, c, "ree\nrest")
			c.CloseWrite()
			mustRead(t, c, "<three>\n<rest>\n")
			mustEnd(t, c)
			s.expect("close")
		}},
		{"many lines at once", nil, func(t *testing.T, s *server, c *net.TCPConn) {
			go io.WriteString(c, strings.Repeat("line\n", 50000))
			mustRead(t, c, strings.Repeat("<line>\n", 50000))
		}},
		{"close", nil, func(t *testing.T, s *server, c *net.TCPConn) {
			mustWrite(t, c, "close\nnot read\n")
			mustRead(t, c, "bye\n")
			mustEnd(t, c)
			s.expect("close")
		}},
		{"tasks reply before the close", nil, func(t *testing.T, s *server, c *net.TCPConn) {
			mustWrite(t, c, strings.Repeat("later\n", 100))
			c.CloseWrite()
			mustRead(t, c, strings.Repeat("later\n", 100))
			mustEnd(t, c)
			s.expect("close")
		}},
		{"end of writing", nil, func(t *testing.T, s *server, c *net.TCPConn) {
			mustWrite(t, c, "end\n")
			mustRead(t, c, "the end\n")
			mustEnd(t, c)
			mustWrite(t, c, "still read\n")
			c.CloseWrite()
			s.expect("close")
		}},
		{"reset", nil, func(t *testing.T, s *server, c *net.TCPConn) {
			mustWrite(t, c, "one\n")
			mustRead(t, c, "<one>\n")
			c.SetLinger(0)
			c.Close()
			s.expect("error Connection reset by peer")
			s.expect("close")
		}},
		{"contained failure", nil, func(t *testing.T, s *server, c *net.TCPConn) {
			mustWrite(t, c, "fail\n")
			mustEnd(t, c)
			s.expect("error told to")
			s.expect("close")
		}},
		{"line too long", nil, func(t *testing.T, s *server, c *net.TCPConn) {
			go io.WriteString(c, strings.Repeat("x", 100000))
			s.expect("error line too long")
			s.expect("close")
		}},
		{"from lines to data", nil, func(t *testing.T, s *server, c *net.TCPConn) {
			mustWrite(t, c, "one\nraw\nrest")
			mustRead(t, c, "<one>\nraw:rest")
		}},
		{"handler after the close", nil, func(t *testing.T, s *server, c *net.TCPConn) {
			mustWrite(t, c, "late\n")
			mustEnd(t, c)
			s.expect("close")
			s.expect("late close")
		}},
		{"overflow closes", nil, func(t *testing.T, s *server, c *net.TCPConn) {
			mustWrite(t, c, "big 30000000\n")
			s.expect("pending 0")
			s.expect("close")
		}},
		{"overflow and drained", []string{"0", "1"}, func(t *testing.T, s *server, c *net.TCPConn) {
			mustWrite(t, c, "limit 4000000\nbig 30000000\n")
			s.expect("pending 1")
			s.expect("overflow")
			mustRead(t, c, strings.Repeat("x", 30000000))
			s.expect("drained")
			mustWrite(t, c, "on\n")
			mustRead(t, c, "<on>\n")
		}},
		{"nothing spins while a handler waits", nil, func(t *testing.T, s *server, c *net.TCPConn) {
			before := s.busy()
			mustWrite(t, c, "spin\n")
			for range 100 { // more and more input while no handler may run
				mustWrite(t, c, "x\n")
				time.Sleep(time.Millisecond)
			}
			mustRead(t, c, strings.Repeat("<x>\n", 100))
			if used := s.busy() - before; used > 400*time.Millisecond && s.exact {
				t.Errorf("it used %v, the task 300ms", used)
			}
		}},
		{"no more than max", []string{"0", "0", "2"}, func(t *testing.T, s *server,
			c *net.TCPConn) {
			second, third := s.dial(), s.dial()
			defer second.Close()
			defer third.Close()
			mustWrite(t, second, "in\n")
			mustRead(t, second, "<in>\n")
			mustWrite(t, third, "waits\n")
			third.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			if n, err := third.Read(make([]byte, 1)); err == nil || n > 0 {
				t.Error("a third connection was accepted, the listener's max is 2")
			}
			third.SetReadDeadline(time.Now().Add(patience))
			c.Close()
			s.expect("close")
			mustRead(t, third, "<waits>\n")
		}},
	}
	eachMode(t, "io_lines", func(t *testing.T, m ioMode, path string) {
		for _, p := range plays {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				s := serve(t, path, m.env, p.args...)
				s.exact = m.sanitize == ""
				c := s.dial()
				defer c.Close()
				p.play(t, s, c)
				s.terminate()
			})
		}
	})
}

// TestParts runs the parts that need no server: timers, sleeps, users' emitters, failure, standard
// input.
func TestParts(t *testing.T) {
	many := filepath.Join(t.TempDir(), "many")
	if err := os.WriteFile(many, []byte("1\n2\n3\n4\n"+strings.Repeat("more\n", 30000)),
		0o644); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		part, input, want string
		status            int
	}{
		{"timer", "", "runs 5, ticks more\n", 0},
		{"after", "", "once 1\n", 0},
		{"sleep", "", "slept 1\nslept 2\nlong late\nshort in time\nslept 3\n", 0},
		{"emit", "", "emitted\na1\nb1\na2\nb2\na3\n", 0},
		{"fail", "", "part.eve:7: broken\n", 1},
		{"stdin", many, "line 1\nline 2\nline 3\nlines 30004\n", 0},
		{"stdin", os.DevNull, "lines 0\n", 0},
	}
	eachMode(t, "io_parts", func(t *testing.T, m ioMode, path string) {
		for _, c := range cases {
			t.Run(c.part+" "+filepath.Base(c.input), func(t *testing.T) {
				t.Parallel()
				cmd := exec.Command(path, c.part)
				cmd.Env = append(os.Environ(), m.env...)
				if c.input != "" {
					in, err := os.Open(c.input)
					if err != nil {
						t.Fatal(err)
					}
					defer in.Close()
					cmd.Stdin = in
				}
				out, err := cmd.CombinedOutput()
				if !strings.HasPrefix(string(out), c.want) ||
					cmd.ProcessState.ExitCode() != c.status {
					t.Errorf("%v, said %q, want %q and status %d", err, out, c.want, c.status)
				}
			})
		}
	})
}

// TestPipedInput feeds standard input through a pipe, in pieces.
func TestPipedInput(t *testing.T) {
	eachMode(t, "io_parts", func(t *testing.T, m ioMode, path string) {
		cmd := exec.Command(path, "stdin")
		cmd.Env = append(os.Environ(), m.env...)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer in.Close()
			for _, piece := range []string{"a", "b\nc\r", "\n", "d\n" +
				strings.Repeat("e\n", 100000), "last"} {
				io.WriteString(in, piece)
				time.Sleep(2 * time.Millisecond)
			}
		}()
		out, err := cmd.CombinedOutput()
		if want := "line ab\nline c\nline d\nlines 100004\n"; err != nil || string(out) != want {
			t.Errorf("%v, said %q, want %q", err, out, want)
		}
	})
}

// TestConnect connects to a server, to a port without a listener, and to an invalid name.
func TestConnect(t *testing.T) {
	eachMode(t, "io_parts", func(t *testing.T, m ioMode, path string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			c, err := l.Accept()
			if err == nil {
				io.Copy(c, c)
				c.Close()
			}
		}()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		out, err := output(m.env, path, "connect", port)
		for _, want := range []string{"echoed ping\n",
			"refused: cannot connect to 127.0.0.1:1: Connection refused\n",
			"nobody: cannot connect to no.such.host.invalid:1: "} {
			if err != nil || !strings.Contains(out, want) {
				t.Errorf("%v, said %q, want %q in it", err, out, want)
			}
		}
	})
}

// TestConnectGivesUp connects to a listener that does not accept: the awaiter's time limit ends
// before the kernel's.
func TestConnectGivesUp(t *testing.T) {
	eachMode(t, "io_parts", func(t *testing.T, m ioMode, path string) {
		fd, err := syscall.Socket(syscall.AF_INET,
			syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(fd)
		any4 := &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
		if err := errors.Join(syscall.Bind(fd, any4), syscall.Listen(fd, 0)); err != nil {
			t.Fatal(err)
		}
		name, err := syscall.Getsockname(fd)
		if err != nil {
			t.Fatal(err)
		}
		port := name.(*syscall.SockaddrInet4).Port
		for range 4 { // more than the backlog holds
			full, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port),
				20*time.Millisecond)
			if err == nil {
				defer full.Close()
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		// closed when the kernel gives up a connection that began before
		kernel := make(chan struct{})
		go func() {
			defer close(kernel)
			if c, err := (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d",
				port)); err == nil {
				c.Close()
			}
		}()
		if out, err := output(m.env, path, "hang", fmt.Sprint(port)); err != nil ||
			out != "gave up\n" {
			t.Errorf("%v, said %q, want that it gave up", err, out)
		}
		select {
		case <-kernel:
			t.Error("the process ended after the kernel had given up")
		default:
		}
		cancel()
		<-kernel
	})
}

// TestLookupGivesUp looks up names whose servers never answer.
func TestLookupGivesUp(t *testing.T) {
	eachMode(t, "io_parts", func(t *testing.T, m ioMode, path string) {
		out, err := output(m.env, path, "lookup")
		if err != nil || strings.Count(out, "gave up\n") != 8 || !strings.Contains(out,
			"called 7\n") {
			t.Errorf("%v, said %q, want that it gave up 8 times, and called 7", err, out)
		}
	})
}

// TestDealt counts the descriptors of each loop: connections are spread evenly.
func TestDealt(t *testing.T) {
	needSanitize(t, "")
	ioModes(t)
	s := serve(t, buildProgram(t, "io_echo", ""), []string{"EVE_IO=epoll", "EVE_WORKERS=2"})
	for range 100 {
		c := s.dial()
		defer c.Close()
		mustWrite(t, c, "here")
		mustRead(t, c, "here")
	}
	infos, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	loops := 0
	for _, info := range infos {
		text, err := os.ReadFile(info)
		watched := strings.Count(string(text), "tfd:")
		if err != nil || watched == 0 {
			continue
		}
		loops++
		// with the listener, the signals and the loop's own descriptors
		if watched < 50 || watched > 54 {
			t.Errorf("a loop watches %d descriptors of 100 connections", watched)
		}
	}
	if loops != 2 {
		t.Errorf("%d loops watch, want 2", loops)
	}
}

// TestSignals sends an interrupt with a handler, and one without.
func TestSignals(t *testing.T) {
	eachMode(t, "io_parts", func(t *testing.T, m ioMode, path string) {
		s := start(t, path, m.env, "signal")
		s.expect("ready")
		s.cmd.Process.Signal(syscall.SIGINT)
		s.expect("interrupted")
		s.cmd.Process.Signal(syscall.SIGINT)
		s.exit(-1)
		if got := s.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(); got != syscall.SIGINT {
			t.Errorf("ended by %v, want %v", got, syscall.SIGINT)
		}
	})
}
