//go:build linux

package gonet

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"interleave/gonet/link"
)

// outsiders are programs that know nothing of this stack; each has a test of its own over a tap.

// need skips a test without its programs, given as "name of package".
func need(t *testing.T, tools ...string) {
	t.Helper()
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin") // where servers are
	for _, tool := range tools {
		name, of, _ := strings.Cut(tool, " of ")
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIP: install %s for %s", of, name)
		}
	}
}

// enough bounds a file in bytes: what would be more is refused as a whole.
type enough struct {
	io.Writer
	left int
}

var errEnough = errors.New("enough")

func (e *enough) Write(b []byte) (int, error) {
	if e.left -= len(b); e.left < 0 {
		return 0, errEnough
	}
	return e.Writer.Write(b)
}

// captureBytes is what is kept of one test, which tshark reads in seconds.
const captureBytes = 32 << 20

// witnessed is kernel, whose frames are read by tshark at the end: none may be malformed, no
// checksum wrong, but what the wire of the test has spoilt itself.
func witnessed(t *testing.T) *Stack {
	t.Helper()
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Log("SKIP: install tshark, which reads what passes as a second opinion")
		return kernel(t)
	}
	name := filepath.Join(t.TempDir(), "capture.pcapng")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	buffer := bufio.NewWriter(file)
	var capture *link.Capture
	t.Cleanup(func() { // after the stack's, which is made later
		if err := capture.Err(); err != nil && !errors.Is(err, errEnough) {
			t.Error(err)
		}
		if err := errors.Join(buffer.Flush(), file.Close()); err != nil {
			t.Error(err)
		}
		opinion(t, tshark, name)
	})
	return kernel(t, func(l link.Link) link.Link {
		if capture, err = link.NewCapture(l, "tap", &enough{buffer, captureBytes}); err != nil {
			t.Fatal(err)
		}
		return capture
	})
}

// opinion is what tshark thinks of a capture.
func opinion(t *testing.T, tshark, name string) {
	t.Helper()
	// Data that is sent again confuses its reassembly of streams, at which it calls the second
	// copy malformed.
	wrong := []string{"_ws.malformed && !tcp.analysis.retransmission && !tcp.analysis.out_of_order",
		"frame.cap_len != frame.len", "ip.checksum.status == 0", "tcp.checksum.status == 0",
		"udp.checksum.status == 0", "icmp.checksum.status == 0", "icmpv6.checksum.status == 0"}
	args := []string{within, tshark, "-n", "-r", name, "-o", "ip.check_checksum:TRUE", "-o",
		"tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"}
	var problem bytes.Buffer
	look := func(more ...string) string {
		cmd := exec.Command("timeout", append(args, more...)...)
		cmd.Stderr = &problem
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("tshark: %v\n%s", err, problem.String())
		}
		return string(out)
	}
	if out := look("-Y", "("+strings.Join(wrong, ") || (")+")"); out != "" {
		t.Errorf("tshark objects:\n%.2000s", out)
	}
	if out := look("-c", "1"); out == "" {
		t.Error("tshark has seen nothing")
	}
}

// program is one that runs beside a test, in its namespace.
type program struct {
	*exec.Cmd
	out, problem bytes.Buffer
	ended        chan error
}

// begin starts a program, which is ended with the test.
func begin(t *testing.T, in io.Reader, name string, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.Command("timeout", append([]string{within, name}, args...)...),
		ended: make(chan error, 1)}
	p.Stdin, p.Stdout, p.Stderr = in, &p.out, &p.problem
	p.start(t)
	return p
}

func (p *program) start(t *testing.T) {
	t.Helper()
	p.WaitDelay = atMost
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() { p.ended <- p.Wait(); close(over) }()
	t.Cleanup(func() {
		_ = p.Process.Signal(unix.SIGTERM) // it may have ended; timeout hands it on
		<-over
	})
}

// end waits for a program that ends by itself, and returns what it has said.
func (p *program) end(t *testing.T) string {
	t.Helper()
	if err := <-p.ended; err != nil {
		t.Fatalf("%v: %v\n%s%s", p.Args, err, p.out.String(), p.problem.String())
	}
	return p.out.String()
}

// server starts a program that stays, and waits until it says that it is ready.
func server(t *testing.T, ready, name string, args ...string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{Cmd: exec.Command("timeout", append([]string{within, name}, args...)...),
		ended: make(chan error, 1)}
	p.Stdout, p.Stderr = w, w
	p.start(t)
	_ = w.Close() // the program has its own
	lines := bufio.NewReader(r)
	var said strings.Builder
	for {
		line, err := lines.ReadString('\n')
		said.WriteString(line)
		if strings.Contains(line, ready) {
			break
		}
		if err != nil {
			t.Fatalf("%s has not said %q:\n%s", name, ready, said.String())
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines); _ = r.Close() }() // until it ends
}

// soon does something again until it works: a program that was started may not be there yet.
func soon(t *testing.T, what func() error) {
	t.Helper()
	for end := time.Now().Add(atMost); ; time.Sleep(10 * time.Millisecond) {
		err := what()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
