//go:build linux

package gonet

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"interleave/gonet/link"
)

// kernel makes a host on a tap whose other end is Linux itself, in a network namespace of the
// test's own. The stack is 10.9.0.2 and 2001:db8::2, the kernel 10.9.0.1 and 2001:db8::1. Commands
// that the test starts run in that namespace. Wrappers are put around the tap.
func kernel(t testing.TB, wrappers ...func(link.Link) link.Link) *Stack {
	t.Helper()
	requireNamespace(t)
	tap, err := link.OpenTap("gn%d")
	skipWithoutTun(t, err)
	return kernelOn(t, tap, wrappers...)
}

// requireNamespace moves the test to a network namespace of its own, or skips it.
func requireNamespace(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIP: a network namespace needs root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("SKIP: install iproute2 for the ip command")
	}
	// never unlocked: the thread and its namespace end with the test's goroutine
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("SKIP: no network namespace to be had: %v", err)
	}
}

// skipWithoutTun skips a test if a device could not be opened because the kernel has none.
func skipWithoutTun(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		t.Skipf("SKIP: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// kernelOn is kernel on a device of this namespace.
func kernelOn(t testing.TB, tap *link.Tap, wrappers ...func(link.Link) link.Link) *Stack {
	t.Helper()
	return kernelWith(t, tap, Config{}, wrappers...)
}

// kernelWith is kernelOn with a configuration, to which it adds the link and the addresses.
func kernelWith(t testing.TB, tap *link.Tap, cfg Config,
	wrappers ...func(link.Link) link.Link) *Stack {
	t.Helper()
	run(t, "ip", "link", "set", "lo", "up")
	run(t, "ip", "addr", "add", "10.9.0.1/24", "dev", tap.Name())
	run(t, "ip", "addr", "add", "2001:db8::1/64", "dev", tap.Name(), "nodad")
	run(t, "ip", "link", "set", tap.Name(), "up")
	askPatiently(t, tap.Name())
	var l link.Link = tap
	for _, wrap := range wrappers {
		l = wrap(l)
	}
	cfg.Link, cfg.Addresses = l, []netip.Prefix{netip.MustParsePrefix("10.9.0.2/24"),
		netip.MustParsePrefix("2001:db8::2/64")}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// askPatiently has the kernel ask for hardware addresses for minutes. It asks three times in three
// seconds otherwise, and then has no route to a stack that got no core meanwhile.
func askPatiently(t testing.TB, device string) {
	t.Helper()
	for _, family := range []string{"ipv4", "ipv6"} {
		err := os.WriteFile("/proc/sys/net/"+family+"/neigh/"+device+"/mcast_solicit",
			[]byte(within), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // a kernel without IPv6
			t.Fatal(err)
		}
	}
}

// device returns the name of the tap's device.
func device(t testing.TB) string {
	t.Helper()
	_, after, _ := strings.Cut(run(t, "ip", "-o", "addr", "show", "to", "10.9.0.1"), ": ")
	return strings.Fields(after)[0]
}

// testTimeout bounds what must happen in real time, and within is the same for timeout(1). Nothing
// is expected to be fast.
const (
	testTimeout = 5 * time.Minute
	within      = "300"
)

func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("SKIP: install %s", name)
	}
	cmd := exec.Command("timeout", append([]string{within, name}, args...)...)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out.String(),
			problem.String())
	}
	return out.String()
}

func TestThePingCommand(t *testing.T) {
	s := kernel(t)
	for _, size := range []string{"0", "56", "1452", "1453", "1472", "1473", "65000"} {
		for _, to := range []string{"10.9.0.2", "2001:db8::2", local(t, s).String() + "%" +
			device(t)} {
			// -w fails without three answers; -W waits for a moment
			run(t, "ping", "-c", "3", "-i", "0.01", "-w", within, "-s", size, to)
		}
	}
}

func TestCurl(t *testing.T) {
	s := kernel(t)
	l, err := s.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	big := make([]byte, fewer(50_000_000, 5))
	for i := range big {
		big[i] = byte(i * i >> 7)
	}
	sums := make(chan string, 1)
	server := http.Server{ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				sum := sha256.New()
				if _, err := io.Copy(sum, r.Body); err != nil {
					t.Error(err)
				}
				sums <- fmt.Sprintf("%x", sum.Sum(nil))
				return
			}
			_, _ = w.Write(big) // curl checks
		})}
	go func() { _ = server.Serve(l) }() // until Close
	defer func() { _ = server.Close() }()
	file := t.TempDir() + "/big"
	for _, url := range []string{"http://10.9.0.2/", "http://[2001:db8::2]/"} {
		run(t, "curl", "-gsS", "-o", file, url)
		got, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(got, big) {
			t.Fatalf("%d bytes came down, %v", len(got), err)
		}
		run(t, "curl", "-gsS", "-T", file, url)
		if got, want := <-sums, fmt.Sprintf("%x", sha256.Sum256(big)); got != want {
			t.Error("what came up is not what was sent")
		}
	}
}

// TestDialTheKernel has the stack as the client of a server on Linux.
func TestDialTheKernel(t *testing.T) {
	s := kernel(t)
	for _, at := range []string{"10.9.0.1:0", "[2001:db8::1]:0"} {
		echoOfTheKernel(t, s, at)
	}
}

func echoOfTheKernel(t *testing.T, s *Stack, at string) {
	l, err := net.Listen("tcp", at) // a socket keeps the namespace in which it was made
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(c, c) // the client checks
			_ = c.Close()
		}
	}()
	for range 20 {
		c, err := s.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		want := bytes.Repeat([]byte("over the tap and back "), 50_000)
		go func() {
			if _, err := c.Write(want); err != nil {
				t.Error(err)
			}
			if err := c.(*Conn).CloseWrite(); err != nil {
				t.Error(err)
			}
		}()
		got, err := io.ReadAll(c)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes of %d, %v", len(got), len(want), err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// bulk moves b.N bytes in chunks through a connection with the kernel.
func bulk(b *testing.B, into bool) {
	s := kernel(b)
	const chunk = 1 << 20
	listen := func() (net.Listener, error) { return net.Listen("tcp", "10.9.0.1:0") }
	l, err := listen()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := s.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	from, to := c, far
	if into {
		from, to = far, c
	}
	b.SetBytes(chunk)
	b.ResetTimer()
	go func() {
		p := make([]byte, chunk)
		for range b.N {
			if _, err := from.Write(p); err != nil {
				return
			}
		}
	}()
	p := make([]byte, 256<<10)
	for n := 0; n < b.N*chunk; {
		got, err := to.Read(p)
		if err != nil {
			b.Fatal(err)
		}
		n += got
	}
	b.StopTimer()
	_ = far.Close()
	_ = c.Close()
}

func BenchmarkBulkOut(b *testing.B) { bulk(b, false) }
func BenchmarkBulkIn(b *testing.B)  { bulk(b, true) }
