package servers_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// full starts a listener that answers no further connections, and returns its port.
func full(t *testing.T) int {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	port := at.(*syscall.SockaddrInet4).Port
	for { // until its queue is full, and it drops what comes
		c, err := net.DialTimeout("tcp", fmt.Sprint("127.0.0.1:", port), time.Second)
		if err != nil {
			return port
		}
		t.Cleanup(func() { c.Close() })
	}
}

// dialing is the number of connections to the port that have not come about.
func dialing(t *testing.T, port int) int {
	t.Helper()
	all, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(all)) { // proc(5): local and remote address, state
		words := strings.Fields(line)
		if len(words) > 3 && strings.HasSuffix(words[2], fmt.Sprintf(":%04X", port)) &&
			words[3] == "02" { // TCP_SYN_SENT
			n++
		}
	}
	return n
}

// A connection that is being made is let go, too, when nobody wants it any more.
func TestFetchCancelsDialing(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, version int) {
		s := startPartsServer(t, version)
		port := full(t)
		url := fmt.Sprintf("http://127.0.0.1:%d/", port)
		p := startParts(t, 2, version, patience, "send-within 50 "+url, "load-within 50 "+url,
			"cancel 50 "+url, "pause "+s.URL+"/stuck")
		p.eventually("the last request is under way", func() bool {
			p.mustRun()
			return strings.HasSuffix(p.out.String(), "paused\n")
		})
		lines := strings.Split(p.out.String(), "\n")
		if lines[0] != "error: timeout" || lines[1] != "error: timeout" ||
			!strings.HasSuffix(lines[2], "cancelled") {
			t.Errorf("got %q", lines)
		}
		for began := time.Now(); dialing(t, port) > 0; time.Sleep(5 * time.Millisecond) {
			if time.Since(began) > time.Minute { // the system's own limit is two minutes
				t.Fatalf("%d connections are still being made", dialing(t, port))
			}
		}
	})
}
