package servers_test

import (
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startSyslog starts the page syslog, and returns the port that it has.
func startSyslog(t *testing.T, workers int, words ...string) (*process, int) {
	t.Helper()
	p := startWith(t, append([]string{page(t, "syslog"), "--port", "0"}, words...),
		fmt.Sprint("EVE_WORKERS=", workers))
	port := 0
	p.eventually("it has a port", func() bool {
		p.mustRun()
		n, err := fmt.Sscanf(p.out.String(), "port %d\n", &port)
		return n == 1 && err == nil
	})
	return p, port
}

// datagramsTo opens a socket for datagrams to a port.
func datagramsTo(t *testing.T, host string, port int) *net.UDPConn {
	t.Helper()
	c, err := net.DialUDP("udp", nil, &net.UDPAddr{IP: net.ParseIP(host), Port: port})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

func (p *process) prints(want string) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("it has printed %q", want), func() bool {
		return strings.Contains(p.out.String(), want)
	})
}

// Messages of IPv4 and IPv6, good and bad ones, and the end by a signal.
func TestPageOfSyslog(t *testing.T) {
	t.Parallel()
	eachWorkers(t, func(t *testing.T, workers int) {
		p, port := startSyslog(t, workers, "-a", "::", "-l", "warning")
		four, six := datagramsTo(t, "127.0.0.1", port), datagramsTo(t, "::1", port)
		for _, c := range []struct {
			from *net.UDPConn
			text string
		}{
			{four, "<11>Nov 27 10:00:00 host app: an error\n"}, {six, "<4>a \x1b[31mwarning"},
			{four, "<191>only for debugging"}, {four, ""}, {four, "no message"}, {four, "<>x"},
			{four, "<192>x"}, {four, "<-1>x"}, {four, "<1234>x"}, {four, "<1"},
			{four, "<0>" + strings.Repeat("x", 60_000)}, {six, "<10>the last\x00one"},
		} {
			if _, err := c.from.Write([]byte(c.text)); err != nil {
				t.Fatal(err)
			}
		}
		p.prints("critical ::1: the last\\x00one\n")
		p.prints("error 127.0.0.1: Nov 27 10:00:00 host app: an error\n")
		p.prints("warning ::1: a \\x1b[31mwarning\n")
		p.prints("emergency 127.0.0.1: " + strings.Repeat("x", 8189) + " ...\n")
		if tool, err := exec.LookPath("nc"); err == nil {
			cmd := exec.CommandContext(t.Context(), tool, "-u", "-w", "1", "127.0.0.1",
				fmt.Sprint(port))
			cmd.Stdin = strings.NewReader("<9>by another program")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
			p.prints("alert 127.0.0.1: by another program\n")
		}
		p.signal(syscall.SIGTERM)
		p.mustExit(0)
		if got := p.out.String(); !strings.HasSuffix(got, "debug: 1\nothers: 7\n") {
			t.Errorf("at the end: %q", got)
		}
	})
}

// A port that is in use is an error with its cause.
func TestSyslogWithoutPort(t *testing.T) {
	t.Parallel()
	_, port := startSyslog(t, 1)
	p := startWith(t, []string{page(t, "syslog"), "--port", fmt.Sprint(port)})
	p.mustExit(1)
	want := fmt.Sprintf("syslog: bind 127.0.0.1:%d: Address already in use\n", port)
	if got := p.err.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

const udpEcho = `import io.udp.*
compute: () void:
    text: string = "ab".repeat(1000000)
    for (i in 0..40): assert !text.contains("bb")

serve: (s: udp_socket@) void:
    got <- s.receive() [-s]
    match got:
        ok(d):
            if d.text() == "compute":
                @ []: compute()
            _ <- s.send_to(d.host(), d.port(), d.bytes()) [-s]
            serve(s)
        error(_): pass

main: () void:
    match udp_socket.bind(0, ""):
        error(e): fail e
        ok(s):
            @ [s, +stdout]:
                print("port %d\n", s.port())
                stdout.flush()
            for (_ in 0..4): serve(s)
    on process.signals terminate: process.shutdown(10s)
`

// Several clients ask at the same time, and some have the program compute. Each gets what it has
// sent, by way of epoll and of the ring, and none waits for another for ever.
func TestDatagramEcho(t *testing.T) {
	t.Parallel()
	exe := compiled(t, "udpecho.eve", udpEcho)
	for _, loop := range []string{"epoll", ""} {
		for _, workers := range []int{1, 2, 8} {
			t.Run(fmt.Sprintf("%s-%d-workers", loop, workers), func(t *testing.T) {
				t.Parallel()
				p := start(t, exe, "EVE_IO="+loop, fmt.Sprint("EVE_WORKERS=", workers))
				port := 0
				p.eventually("it has a port", func() bool {
					p.mustRun()
					n, _ := fmt.Sscanf(p.out.String(), "port %d\n", &port)
					return n == 1
				})
				var wait sync.WaitGroup
				for client := range 8 {
					c := datagramsTo(t, "127.0.0.1", port)
					wait.Go(func() { askDatagrams(t, c, client) })
				}
				wait.Wait()
				p.signal(syscall.SIGTERM)
				p.mustExit(0)
				if got := p.err.String(); got != "" {
					t.Errorf("it says %q", got)
				}
			})
		}
	}
}

// askDatagrams sends texts, one after the other, and checks that each comes back. One that is lost
// is sent again.
func askDatagrams(t *testing.T, c *net.UDPConn, client int) {
	buffer := make([]byte, 1<<16)
	for i := range 50 {
		text := fmt.Sprintf("%d-%d-%s", client, i, strings.Repeat("x", i*100))
		if client == 0 && i%10 == 0 {
			text = "compute"
		}
		for end := time.Now().Add(patience); ; {
			if time.Now().After(end) {
				t.Errorf("client %d: no answer to %q", client, head(text))
				return
			}
			if _, err := c.Write([]byte(text)); err != nil {
				t.Error(err)
				return
			}
			_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
			n, err := c.Read(buffer)
			if err == nil && string(buffer[:n]) == text {
				break
			}
		}
	}
}
