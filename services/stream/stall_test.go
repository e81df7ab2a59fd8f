package stream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/probe/probetest"
)

const (
	stalled  = 10              // clients that do not read
	junk     = '~'             // fills the kernel's buffers: no server sends it
	fullFor  = 300             // ms in which the kernel takes no more: its buffers are full
	patience = 5 * time.Minute // a net: only a failure reaches it
)

var whole = flag.Bool("whole", false,
	"fill the kernel of every model; else of one for each way to write: at once or never, with "+
		"a limit, by a queue of the library's")

// TestFullKernel tests a server when the kernel takes no more for a client. At 30 bytes a second
// that takes hours, so the test fills the server's own sockets through /proc. Other clients still
// get their chunks. A client that reads at last gets all chunks, or all up to the point at which it
// was cut off.
func TestFullKernel(t *testing.T) {
	models := []string{"c-epoll", "go-goroutine", "node-loop"}
	if *whole {
		models = []string{"*"}
	}
	for _, pattern := range models {
		probetest.Each(t, pattern, fullKernel)
	}
}

func fullKernel(t *testing.T, m *probetest.Subject) {
	t.Parallel()
	probetest.Hurry(m)
	server := m.Start(t, nil)
	addr := net.JoinHostPort(server.Host, strconv.Itoa(server.Port))
	calm := ask(t, addr, "calm", 0)
	greeted := make(map[netip.AddrPort]bool, stalled)
	var clients []*net.TCPConn
	for range stalled {
		c := ask(t, addr, "stalled", 4<<10)
		await(t, c)
		clients = append(clients, c)
		greeted[netip.MustParseAddrPort(c.LocalAddr().String())] = true
	}
	fillAll(t, server.Group.PIDs(), greeted)

	lines := bufio.NewScanner(calm)
	for heard := 0; heard < 5; {
		if !lines.Scan() {
			t.Fatalf("who reads heard %d chunks, then %v", heard, lines.Err())
		}
		if strings.HasPrefix(lines.Text(), "Chunk ") {
			heard++
		}
	}
	for _, c := range clients {
		hearAtLast(t, c, "stalled", 3)
	}
}

// ask asks for a stream. The client's kernel takes a window of bytes; 0 is the default.
func ask(t *testing.T, addr, id string, window int) *net.TCPConn {
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		failed := raw.Control(func(fd uintptr) {
			if window > 0 {
				err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, window)
			}
		})
		return errors.Join(failed, err)
	}}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := dialer.DialContext(ctx, "tcp4", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := fmt.Fprintf(c, "GET /test/%s HTTP/1.1\r\nHost: stream\r\n\r\n", id); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// await waits for the greeting without reading it.
func await(t *testing.T, c *net.TCPConn) {
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var p [1024]byte
	err = raw.Read(func(fd uintptr) bool {
		n, _, err := unix.Recvfrom(int(fd), p[:], unix.MSG_PEEK)
		return err != unix.EAGAIN && (n <= 0 || bytes.Contains(p[:n], []byte("Goconntest")))
	})
	if err != nil {
		t.Fatal("waiting for a greeting:", err)
	}
}

// fillAll fills those sockets of a server's processes that lead to these clients.
func fillAll(t *testing.T, pids []int, clients map[netip.AddrPort]bool) {
	var theirs, connections []int
	// a server may hold a connection by two descriptors for a moment
	found := map[netip.AddrPort]bool{}
	defer func() {
		for _, fd := range theirs {
			unix.Close(fd)
		}
	}()
	for _, pid := range pids {
		pidfd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatal("opening a server's process:", err)
		}
		defer unix.Close(pidfd)
		files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			n, err := strconv.Atoi(file.Name())
			if err != nil {
				t.Fatal(err)
			}
			fd, err := unix.PidfdGetfd(pidfd, n, 0)
			if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
				t.Skipf("SKIP: the server's sockets are not to be had here (%v): needs "+
					"CAP_SYS_PTRACE", err)
			}
			if err != nil {
				continue // closed since
			}
			theirs = append(theirs, fd)
			if peer, ok := peerOf(fd); ok && clients[peer] {
				found[peer] = true
				connections = append(connections, fd)
			}
		}
	}
	if len(found) != len(clients) {
		t.Fatalf("found %d connections of the server, want %d", len(found), len(clients))
	}
	fill(t, connections)
}

// peerOf returns the peer's address, if fd is a connection.
func peerOf(fd int) (netip.AddrPort, bool) {
	peer, err := unix.Getpeername(fd)
	in, ok := peer.(*unix.SockaddrInet4)
	if err != nil || !ok {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(netip.AddrFrom4(in.Addr), uint16(in.Port)), true
}

// fill writes until the kernel has taken nothing of any of them for a while.
func fill(t *testing.T, fds []int) {
	p := bytes.Repeat([]byte{junk}, 64<<10)
	for calm, end := 0, time.Now().Add(patience); calm < fullFor; calm++ {
		for _, fd := range fds {
			for size := len(p); size > 0; {
				n, err := unix.SendmsgN(fd, p[:size], nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
				switch {
				case n > 0:
					calm = 0
				case err == unix.EAGAIN:
					size /= 4 // to the last byte
				default:
					size = 0 // the server has cut it off
				}
			}
		}
		if time.Now().After(end) {
			t.Fatalf("a connection's kernel is not full after %v", patience)
		}
		time.Sleep(time.Millisecond)
	}
}

// hearAtLast reads a client's chunks: all of them, at least so many, or the first of them and the
// end.
func hearAtLast(t *testing.T, c *net.TCPConn, id string, chunks int) {
	_ = c.SetDeadline(time.Now().Add(patience))
	var said []byte
	p := make([]byte, 64<<10)
	for {
		n, err := c.Read(p)
		said = append(said, bytes.ReplaceAll(p[:n], []byte{junk}, nil)...)
		if _, texts, ok := bytes.Cut(said, []byte("\r\n\r\n")); ok && !begins(id, texts) {
			t.Fatalf("a client heard what it should not have, or not yet: %q", texts)
		}
		switch {
		case bytes.Contains(said, fmt.Appendf(nil, "Chunk %d ", chunks)):
			return
		case errors.Is(err, os.ErrDeadlineExceeded):
			t.Fatalf("a client heard nothing after %q, nor the end", said)
		case err == io.EOF || errors.Is(err, syscall.ECONNRESET):
			return
		case err != nil:
			t.Fatal(err)
		}
	}
}

// begins tells whether the texts are the beginning of a stream.
func begins(id string, texts []byte) bool {
	frame := func(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }
	want := frame("Goconntest welcomes you! Your Id: /test/" + id + "\n")
	for n := 1; len(want) < len(texts); n++ {
		want += frame(fmt.Sprintf("Chunk %d for id /test/%s\n", n, id))
	}
	return strings.EqualFold(want[:len(texts)], string(texts)) // some code lengths in capitals
}
