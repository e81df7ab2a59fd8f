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

// Outsiders are programs that know nothing of this stack. Each has a test over a tap.

// requireTools skips a test if one of its programs is missing; each is given as "name of package".
func requireTools(t *testing.T, tools ...string) {
	t.Helper()
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin") // the folder of servers
	for _, tool := range tools {
		name, of, _ := strings.Cut(tool, " of ")
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIP: install %s for %s", of, name)
		}
	}
}

// boundedWriter bounds the size of a file in bytes: a write that would exceed it fails.
type boundedWriter struct {
	io.Writer
	left int
}

var errEnough = errors.New("enough")

func (e *boundedWriter) Write(b []byte) (int, error) {
	if e.left -= len(b); e.left < 0 {
		return 0, errEnough
	}
	return e.Writer.Write(b)
}

// captureBytes bounds the capture of one test; tshark reads it in seconds.
const captureBytes = 32 << 20

// capturedKernel is kernel with a capture that tshark reads at the end: no frame may be malformed
// or have a wrong checksum, except those that the test's wire has corrupted. Under the race
// detector tshark does not read it: the frames are those of the run without.
func capturedKernel(t *testing.T) *Stack {
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
	t.Cleanup(func() { // runs after the stack's own cleanup
		if err := capture.Err(); err != nil && !errors.Is(err, errEnough) {
			t.Error(err)
		}
		if err := errors.Join(buffer.Flush(), file.Close()); err != nil {
			t.Error(err)
		}
		if !underRace {
			checkWithTshark(t, tshark, name)
		}
	})
	return kernel(t, func(l link.Link) link.Link {
		capture, err = link.NewCapture(l, "tap", &boundedWriter{buffer, captureBytes})
		if err != nil {
			t.Fatal(err)
		}
		return capture
	})
}

// checkWithTshark fails the test for what tshark finds wrong in a capture.
func checkWithTshark(t *testing.T, tshark, name string) {
	t.Helper()
	// Retransmissions confuse tshark's reassembly of streams, which calls the second copy
	// malformed.
	wrong := []string{"_ws.malformed && !tcp.analysis.retransmission && !tcp.analysis.out_of_order",
		"frame.cap_len != frame.len", "ip.checksum.status == 0", "tcp.checksum.status == 0",
		"udp.checksum.status == 0", "icmp.checksum.status == 0", "icmpv6.checksum.status == 0"}
	var problem bytes.Buffer
	cmd := exec.Command("timeout", within, tshark, "-n", "-r", name, "-o", "ip.check_checksum:TRUE",
		"-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-Y",
		"("+strings.Join(wrong, ") || (")+")")
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("tshark: %v\n%s", err, problem.String())
	}
	if len(out) > 0 {
		t.Errorf("tshark objects:\n%.2000s", out)
	}
	// Without a frame the file has 68 bytes: the blocks of the section and of the interface.
	if info, err := os.Stat(name); err != nil || info.Size() < 100 {
		t.Errorf("nothing was captured (%v)", err)
	}
}

// program is a program that runs beside a test, in its namespace.
type program struct {
	*exec.Cmd
	out, problem bytes.Buffer
	ended        chan error
}

// begin starts a program, which ends with the test.
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
	p.WaitDelay = testTimeout
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() { p.ended <- p.Wait(); close(over) }()
	t.Cleanup(func() {
		_ = p.Process.Signal(unix.SIGTERM) // it may have ended; timeout forwards the signal
		<-over
	})
}

// end waits for a program that ends by itself, and returns its output.
func (p *program) end(t *testing.T) string {
	t.Helper()
	if err := <-p.ended; err != nil {
		t.Fatalf("%v: %v\n%s%s", p.Args, err, p.out.String(), p.problem.String())
	}
	return p.out.String()
}

// server starts a program that keeps running, and waits until it prints that it is ready.
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
	_ = w.Close() // the program has its own descriptor
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
	go func() { _, _ = io.Copy(io.Discard, lines); _ = r.Close() }() // ends with the program
}

// eventually repeats a function until it succeeds: a program that was just started may not be
// ready.
func eventually(t *testing.T, what func() error) {
	t.Helper()
	for end := time.Now().Add(testTimeout); ; time.Sleep(10 * time.Millisecond) {
		err := what()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
