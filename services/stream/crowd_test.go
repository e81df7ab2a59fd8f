package stream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/probe/probetest"
)

const (
	crowded    = 10_000
	askAtOnce  = 256 // clients that are not greeted yet: fewer than any listener's queue holds
	otherFiles = 200 // of the tests or the server, beside those of the clients
	toHear     = 2   // chunks
)

// TestCrowd opens ten thousand streams of every model, or as many as one process may open: each is
// greeted and hears its chunks, and when the server is told to end, it does, and each hears the
// end. The server has one core, as where it is measured.
func TestCrowd(t *testing.T) {
	if !*whole {
		t.Skip("part of make whole: ten thousand streams of every model")
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	clients := min(crowded, int(files.Max)-otherFiles)
	probetest.Each(t, "*", func(t *testing.T, m *probetest.Subject) { crowd(t, m, clients) })
}

func crowd(t *testing.T, m *probetest.Subject, clients int) {
	probetest.Hurry(m)
	server := m.Start(t, nil)
	onOneCore(t, server.Group.PIDs())
	addr := net.JoinHostPort(server.Host, strconv.Itoa(server.Port))
	begin := time.Now()
	asking := make(chan struct{}, askAtOnce)
	heard, ended := make(chan error, clients), make(chan error, clients)
	for n := range clients {
		go func() {
			asking <- struct{}{}
			body, err := look(t.Context(), addr, n)
			<-asking
			if err == nil {
				defer body.Close()
				err = hear(body, n)
			}
			heard <- err
			if err == nil {
				_, err = io.Copy(io.Discard, body)
			}
			ended <- err
		}()
	}
	for n := range clients {
		if err := <-heard; err != nil {
			t.Fatalf("%d of %d clients heard their chunks, then one did not: %v", n, clients, err)
		}
	}
	t.Logf("%d streams after %v", clients, time.Since(begin).Round(time.Millisecond))
	begin = time.Now()
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	t.Logf("all of the server ended after %v", time.Since(begin).Round(time.Millisecond))
	for range clients {
		if err := <-ended; os.IsTimeout(err) {
			t.Fatal("the server has ended, and a client does not hear of it")
		}
	}
}

// onOneCore binds the server's threads, and those that they will start, to the first core that the
// test may use.
func onOneCore(t *testing.T, pids []int) {
	var mine, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mine); err != nil {
		t.Fatal(err)
	}
	for cpu := 0; one.Count() == 0; cpu++ {
		if mine.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	for _, pid := range pids {
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, thread := range threads {
			tid, err := strconv.Atoi(thread.Name())
			if err != nil {
				t.Fatal(err)
			}
			if err := unix.SchedSetaffinity(tid, &one); err != nil && !errors.Is(err, unix.ESRCH) {
				t.Fatal(err)
			}
		}
	}
}

// look asks for a stream and hears the head of the answer. Closing the body closes the connection.
func look(ctx context.Context, addr string, n int) (io.ReadCloser, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp4", addr)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(2 * patience))
	if _, err := fmt.Fprintf(conn, "GET /test/%d HTTP/1.1\r\nHost: stream\r\n\r\n", n); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil) //nolint:bodyclose // the caller ends it by ending the connection
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("got status %d, want 200", answer.StatusCode)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{answer.Body, conn}, nil
}

// hear reads the greeting and the chunks after it.
func hear(in io.Reader, n int) error {
	want := fmt.Sprintf("Goconntest welcomes you! Your Id: /test/%d\n", n)
	for chunk := range toHear {
		want += fmt.Sprintf("Chunk %d for id /test/%d\n", chunk+1, n)
	}
	got := make([]byte, len(want))
	if read, err := io.ReadFull(in, got); err != nil || string(got) != want {
		return fmt.Errorf("got %q and %v, want %q", got[:read], err, want)
	}
	return nil
}
