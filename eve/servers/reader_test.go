package servers_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// Every `fill` spawns a hundred tasks that write to standard output, 800 KB in all: far more than
// a pipe holds.
const filling = `import io.socket.*
fill: [+stdout] (from: int) void:
    for (i in from..from + 1000): stdout.write("%07d\n", i)
main: () void:
    tcp_socket.listen(8080):
        connection = [] (c: connection&) void:
            client: socket@ = c()
            on client line:
                if line.text == "fill":
                    for (i in 0..100):
                        @ [+stdout, =i]: fill(i * 1000)
                else if line.text == "end": process.shutdown(100ms)
                else: client.write("pong\n")
`

// unread starts the program on one worker, with a standard output that is not read yet.
func unread(t *testing.T) (p *process, out *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close() })
	defer write.Close()
	cmd := exec.Command(compiled(t, "filling.eve", filling))
	cmd.Stdout = write
	return begin(t, cmd, "EVE_WORKERS=1"), read
}

// fillUp makes the program write more than the pipe takes, and checks that it still serves its
// clients.
func fillUp(t *testing.T, p *process) peer {
	t.Helper()
	client := p.dial(p.port())
	client.say("fill\n")
	for range 20 {
		client.say("ping\n")
		client.mustHear("pong\n")
	}
	return client
}

func TestSlowReaderOfOutput(t *testing.T) {
	t.Parallel()
	p, out := unread(t)
	client := fillUp(t, p)
	lines := bufio.NewScanner(out)
	for i := range 100_000 {
		if !lines.Scan() || lines.Text() != fmt.Sprintf("%07d", i) {
			t.Fatalf("read %q as line %d (%v)", lines.Text(), i, lines.Err())
		}
	}
	client.say("ping\n")
	client.mustHear("pong\n")
	client.say("end\n")
	p.mustExit(0)
	if rest, _ := io.ReadAll(out); len(rest) > 0 {
		t.Errorf("read %q behind the last line", rest)
	}
}

// The reader is killed while its pipe is full: the program ends as by SIGPIPE.
func TestReaderOfOutputGone(t *testing.T) {
	t.Parallel()
	p, out := unread(t)
	fillUp(t, p)
	out.Close()
	p.eventually("it ends", func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
	if got := p.cmd.ProcessState.Sys().(syscall.WaitStatus); got.Signal() != syscall.SIGPIPE {
		t.Errorf("ended with %v, want SIGPIPE", p.cmd.ProcessState)
	}
}

// The grace of process.shutdown also ends for a program whose output is not read.
func TestShutdownWithoutReader(t *testing.T) {
	t.Parallel()
	p, _ := unread(t)
	client := fillUp(t, p)
	client.say("end\n")
	p.mustExit(0) // though its output is never read
}

// A program ends when all its output was read.
func TestEndWaitsForReader(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(compiled(t, "ending.eve", `main: [+stdout] () void:
    for (i in 0..40000): stdout.write("%07d\n", i)
`))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	got, err := io.ReadAll(out)
	if err != nil || len(got) != 320000 || string(got[320000-8:]) != "0039999\n" {
		t.Errorf("read %d bytes (%v), want 320000", len(got), err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
