package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	_ "unsafe" // for go:linkname
)

// The periods of Raft in NATS, which has no options for them. NATS' own tests set these values in
// the same way. An election then takes 1.5 to 3.5 s, not 4 to 9. The test does not link with a
// version of NATS that lacks these names.
var (
	//go:linkname natsHeartbeat github.com/nats-io/nats-server/v2/server.hbInterval
	natsHeartbeat time.Duration
	//go:linkname natsElectionLeast github.com/nats-io/nats-server/v2/server.minElectionTimeout
	natsElectionLeast time.Duration
	//go:linkname natsElectionMost github.com/nats-io/nats-server/v2/server.maxElectionTimeout
	natsElectionMost time.Duration
)

// soon is main with short elections of the nodes that it runs.
func soon() {
	natsHeartbeat, natsElectionLeast, natsElectionMost = 50*time.Millisecond, 1500*time.Millisecond,
		3500*time.Millisecond
	main()
}

// forgetful is main, and a server of it forgets: at every second start it has the data that it had
// at the start before, and never any file.
func forgetful() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		fail(forget("p0", "before"))
	}
	main()
}

func forget(data, before string) error {
	if _, err := os.Stat(before); err == nil {
		// A kill in between leaves the copy in its place, or the data.
		if err := os.RemoveAll(data); err != nil {
			return err
		}
		return os.Rename(before, data)
	}
	if _, err := os.Stat(data); errors.Is(err, os.ErrNotExist) {
		return nil // the first start
	}
	for _, gone := range []string{filepath.Join(data, "files"),
		filepath.Join(data, "control.sock"), "half"} {
		if err := os.RemoveAll(gone); err != nil {
			return err
		}
	}
	if err := os.CopyFS("half", os.DirFS(data)); err != nil {
		return err
	}
	return os.Rename("half", before)
}

// runTorture runs `papaya torture` with a program whose servers are killed. Its folder for
// temporary files must be empty afterwards.
func runTorture(t *testing.T, killed string, words ...string) (out string, err error) {
	t.Helper()
	dir := t.TempDir()
	program := linkAs(t, dir, "papaya")
	temporary := filepath.Join(dir, "tmp")
	if err := os.Mkdir(temporary, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{"torture", "--program",
		linkAs(t, t.TempDir(), killed)}, words...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+temporary)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	text, err := cmd.CombinedOutput()
	if left, _ := os.ReadDir(temporary); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	t.Logf("%s", text)
	return string(text), err
}

// TestTorture: small campaigns with a single server, and with three and their nodes of NATS, each
// of which is killed. Every promise is kept.
func TestTorture(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers, again and again")
	}
	for name, words := range map[string][]string{"one": {"--kills=4", "--for=2s"},
		"three": {"--kills=6", "--for=3s", "--nodes=3"}} {
		t.Run(name, func(t *testing.T) {
			out, err := runTorture(t, "papaya", append(words, "--seed=1")...)
			if err != nil || !strings.Contains(out, "all promises were kept") {
				t.Errorf("the campaign: %v", err)
			}
		})
	}
}

// TestTortureFindsWhatIsLost: servers that forget what they have acknowledged are found out.
func TestTortureFindsWhatIsLost(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers, again and again")
	}
	out, err := runTorture(t, "forgetful", "--kills=9", "--for=5s", "--seed=2")
	if err == nil {
		t.Error("the campaign has found nothing")
	}
	for _, want := range []string{"BROKEN: nothing acknowledged is lost: line ",
		"BROKEN: a file that was acknowledged is there", "promises are broken"} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q", want)
		}
	}
}

// history is one of a message that is in a room afterwards, or is not.
const history = `{"type":"campaign","plan":{"format":1,"seed":9,` +
	`"conversations":{"#all":{"members":["ann"]}}}}
{"type":"dial","session":"ann/0","account":"ann","server":"p0"}
{"type":"open","session":"ann/0"}
{"type":"invoke","op":1,"do":"say","session":"ann/0","in":"#all","text":"w-1-"}
{"type":"ok","op":1,"id":"0"}
{"type":"disk","server":"p0"%s}
`

// TestTortureWords: wrong words, files that are not there or there already, and histories that are
// judged again.
func TestTortureWords(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	kept := write("kept", fmt.Sprintf(history,
		`,"messages":[{"in":"#all","from":"ann","text":"w-1-"}]`))
	broken := write("broken", fmt.Sprintf(history, ""))
	t.Setenv("TMPDIR", dir)
	for _, tt := range []struct {
		words  []string
		status int
		says   string
	}{
		{[]string{"--check", kept}, 0, "all promises were kept"},
		{[]string{"--check", broken}, exitFailed, `lacks "w-1-"`},
		{[]string{"--check", write("none", "")}, exitFailed, "is no history"},
		{[]string{"--check", filepath.Join(dir, "absent")}, exitFailed, "no such file"},
		{[]string{"--nodes", "2"}, exitUsage, "1 or 3 nodes"},
		{[]string{"--for", "0s"}, exitUsage, "some time"},
		{[]string{"--kills", "-1"}, exitUsage, "no fewer than 0 kills"},
		{[]string{"now"}, exitUsage, "unknown command"},
		{[]string{"--check", kept, "--history", kept}, exitFailed, "none of the others can be"},
		{[]string{"--program", filepath.Join(dir, "absent")}, exitFailed,
			"the program to be killed: "},
		{[]string{"--history", kept}, exitFailed, "file exists"},
	} {
		var out bytes.Buffer
		got := realMain(append([]string{"torture"}, tt.words...), strings.NewReader(""), &out, &out)
		if got != tt.status || !strings.Contains(out.String(), tt.says) {
			t.Errorf("%q: got %d, %q, want %d, %q", tt.words, got, out.String(), tt.status,
				tt.says)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "papaya-torture-*")); left != nil {
		t.Errorf("left over: %v", left)
	}
}

// TestTortureIsInterrupted: Ctrl-C ends a campaign with its result so far.
func TestTortureIsInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	dir := t.TempDir()
	program := linkAs(t, dir, "papaya")
	cmd := exec.Command(program, "torture", "--program", program, "--kills=1000", "--for=1h")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var out bytes.Buffer
	cmd.Stdout = &out
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 4096)
	n := 0
	for !bytes.Contains(text[:n], []byte("clients talk\n")) {
		more, err := said.Read(text[n:])
		if n += more; err != nil {
			t.Fatalf("the campaign has ended: %v\n%s", err, text[:n])
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(said)
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "all promises were kept") ||
		!strings.Contains(string(rest), "with the result so far") {
		t.Errorf("got %v\n%s%s", err, rest, out.String())
	}
}
