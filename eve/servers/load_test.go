package servers_test

import (
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A handler that fails for one client of a hundred ends that one, after its deferred blocks, with
// an `error` event that has the place. The others are served all the time, and nothing leaks.
func TestFailuresUnderLoad(t *testing.T) {
	t.Parallel()
	for _, reactor := range []string{"epoll", "uring"} {
		t.Run(reactor, func(t *testing.T) {
			t.Parallel()
			needReactor(t, reactor)
			failUnderLoad(t, startServer(t, compiled(t, "failing.eve", withEnd(failing)), reactor,
				"EVE_BUDGET=1"))
		})
	}
}

// failures are the errors to provoke, how often, and the expected output.
var failures = []struct {
	what  string
	times int
	error string
}{
	{"index", 50, "failing.eve:26: index 5 is out of range: there are 2 elements\n"},
	{"assert", 50, "failing.eve:27: assertion failed: v.size() == 3: sizes\n"},
	{"fail", 50, "failing.eve:28: because of fail\n"},
	{"child", 50, "failing.eve:13: division by zero\n"},
	{"spin", 2, "failing.eve:8: the time budget of the task is used up\n"},
}

func failUnderLoad(t *testing.T, p *process) {
	port := p.port()
	var over atomic.Bool
	var served atomic.Int64
	var good, bad sync.WaitGroup
	for range 99 {
		c := p.dial(port)
		good.Go(func() {
			for last := false; !last; served.Add(1) {
				last = over.Load() // once more, when all failures have happened
				c.SetDeadline(time.Now().Add(patience))
				// so that 99 of them do not occupy both processors
				time.Sleep(20 * time.Millisecond)
				if err := exchange(c, "hello\n", "fine\ndeferred\n"); err != nil {
					t.Errorf("a client that does nothing wrong: %v", err)
					return
				}
			}
		})
	}
	for _, f := range failures {
		bad.Go(func() {
			for range f.times {
				c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
				if err != nil {
					t.Error(err)
					return
				}
				c.SetDeadline(time.Now().Add(patience))
				if err := exchange(c, f.what+"\n", "deferred\n"); err != nil {
					t.Errorf("%s: %v", f.what, err)
				}
				if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
					t.Errorf("%s: heard %q, %v behind what was deferred, want the end", f.what,
						rest, err)
				}
				c.Close()
			}
		})
	}
	bad.Wait()
	over.Store(true)
	good.Wait()
	t.Logf("%d times the others were served meanwhile", served.Load())
	p.mustEndClean()
	said, total := p.out.String(), 0
	for _, f := range failures {
		if n := strings.Count(said, f.error); n != f.times {
			t.Errorf("it said %q %d times, want %d", f.error, n, f.times)
		}
		total += f.times
	}
	if n := strings.Count(said, "closed\n"); n != total+99 {
		t.Errorf("%d clients were closed, want %d", n, total+99)
	}
}

func exchange(c net.Conn, say, want string) error {
	if _, err := io.WriteString(c, say); err != nil {
		return err
	}
	heard := make([]byte, len(want))
	if n, err := io.ReadFull(c, heard); err != nil || string(heard) != want {
		return fmt.Errorf("heard %q, %w, want %q", heard[:n], err, want)
	}
	return nil
}

// Ten thousand clients at once all get replies, and cost little while they are idle.
func TestTenThousandClients(t *testing.T) {
	const (
		first   = 500 // fill the pools
		clients = 10_000
		room    = first + clients + 100 // descriptors, of this process and of the server
	)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur < room {
		t.Skipf("%d descriptors at most, %d are needed: ulimit -n", limit.Cur, room)
	}
	for _, reactor := range []string{"epoll", "uring"} {
		t.Run(reactor, func(t *testing.T) {
			needReactor(t, reactor)
			text := readText(t, subjects[0].file)
			cmd := exec.Command("sh", "-c", fmt.Sprintf("ulimit -n %d; exec %s 0", room,
				optimised(t, "echo.eve", text)))
			p := begin(t, cmd, "EVE_IO="+reactor, "EVE_WORKERS=2", "ASAN_OPTIONS=atexit=1")
			h := &house{subject: subjects[0], port: p.port()}
			before := p.descriptors()
			early := h.crowd(t, first)
			empty := p.resident()
			all := h.crowd(t, clients)
			each := float64(p.resident()-empty) * 1024 / clients
			t.Logf("an idle client costs %.0f bytes", each)
			if each > 1024 && *sanitize == "" {
				t.Errorf("an idle client costs %.0f bytes, at most 1024 are allowed", each)
			}
			if in := p.descriptors() - before; in != first+clients {
				t.Errorf("%d clients are in", in)
			}
			all = append(all, early...)
			each16(all, func(v *visit) {
				v.SetDeadline(time.Now().Add(patience))
				if err := talkEcho(v); err != nil {
					t.Errorf("client %d: %v", v.number, err)
				}
				v.Close()
			})
			p.eventually("all have left", func() bool { return p.descriptors() <= before })
			p.mustEndClean()
		})
	}
}

// crowd opens n connections, which get one reply and stay.
func (h *house) crowd(t *testing.T, n int) []*visit {
	t.Helper()
	all := make([]*visit, n)
	for i := range all {
		all[i] = &visit{house: h, number: i}
	}
	each16(all, func(v *visit) {
		if err := v.come(false); err != nil {
			t.Errorf("client %d: %v", v.number, err)
			return
		}
		t.Cleanup(func() { v.Close() })
		if err := exchange(v, "hello", "hello"); err != nil {
			t.Errorf("client %d: %v", v.number, err)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return all
}

// each16 calls do for all, sixteen at a time.
func each16(all []*visit, do func(v *visit)) {
	var wait sync.WaitGroup
	for from := range 16 {
		wait.Go(func() {
			for i := from; i < len(all); i += 16 {
				do(all[i])
			}
		})
	}
	wait.Wait()
}
