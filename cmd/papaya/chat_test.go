package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"interleave/internal/freeport"
)

// colours are the sequences that set a colour; 39 and 49 reset it.
var colours = regexp.MustCompile("\x1b\\[([0-9;]*;)?([349][0-7]|[34]8;)")

// patience bounds every wait; nothing is expected to be fast.
const patience = 5 * time.Minute

// patient are settings of a server that gives its clients as much time as the tests have: a client
// that gets no core for half a minute still registers.
const patient = "[limits]\nregister = \"5m\"\nanswer = \"5m\"\n"

func TestAddress(t *testing.T) {
	tests := []struct {
		host       string
		plain      bool
		name, addr string
	}{
		{"chat.example", false, "chat.example", "chat.example:6697"},
		{"chat.example", true, "chat.example", "chat.example:6667"},
		{"chat.example:7000", false, "chat.example", "chat.example:7000"},
		{"::1", false, "::1", "[::1]:6697"},
		{"[::1]", true, "::1", "[::1]:6667"},
		{"[::1]:7000", false, "::1", "[::1]:7000"},
		{"", false, "", ""},
		{":7000", false, "", ""},
		{"a b", false, "", ""},
		{"irc://a", false, "", ""},
	}
	for _, tt := range tests {
		name, addr, err := address(tt.host, tt.plain)
		if name != tt.name || addr != tt.addr || (err == nil) != (tt.addr != "") {
			t.Errorf("%q: got %q, %q, %v, want %q, %q", tt.host, name, addr, err, tt.name, tt.addr)
		}
	}
}

func TestSecretIsTheFirstLine(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{"pw\n": "pw", "pw": "pw", "pw\r\nmore\n": "pw",
		"two words \n": "two words ", "": "", "\npw\n": ""} {
		file := filepath.Join(dir, "password")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := secret(nil, file); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	if _, err := secret(nil, filepath.Join(dir, "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if got, err := secret(strings.NewReader("from input\n"), "-"); got != "from input" ||
		err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTrustNeedsAYes(t *testing.T) {
	for answer, want := range map[string]bool{"yes\n": true, "YES\n": true, " yes \n": true,
		"y\n": true, "Y\n": true, "no\n": false, "yess\n": false, "\n": false, "": false} {
		var out bytes.Buffer
		if got := trust(strings.NewReader(answer), &out, "host:1", "00ff"); got != want ||
			!strings.Contains(out.String(), "00ff") {
			t.Errorf("%q: got %v, want %v; asked %q", answer, got, want, out.String())
		}
	}
}

func TestChatRefusesWhatItCannotDo(t *testing.T) {
	tests := []struct {
		words  []string
		status int
		says   string
	}{
		{[]string{"chat"}, exitUsage, "requires at least 1 arg"},
		{[]string{"chat", "host", "--nick", "1 2"}, exitUsage, `"1 2" cannot be a nick`},
		{[]string{"chat", "host", "--nick", "a", "two words"}, exitUsage, "cannot be a room"},
		{[]string{"chat", "host", "--nick", "a", "--password-file", "x"}, exitUsage,
			"needs --account"},
		{[]string{"chat", "host/path", "--nick", "a"}, exitUsage, "is no HOST"},
		{[]string{"chat", "host", "--nick", "a", "--invited"}, exitUsage, "needs --account"},
		{[]string{"chat", "host", "--nick", "a", "--password", "x"}, exitUsage, "unknown flag"},
		{[]string{"chat", "host", "--nick", "a"}, exitFailed, "needs a terminal"},
	}
	for _, tt := range tests {
		var errs bytes.Buffer
		if got := realMain(tt.words, strings.NewReader(""), io.Discard, &errs); got != tt.status ||
			!strings.Contains(errs.String(), tt.says) {
			t.Errorf("%q: got %d, %q, want %d, %q", tt.words, got, errs.String(), tt.status,
				tt.says)
		}
	}
}

// A screen is a terminal of 80 columns and 24 lines with a program in it.
type screen struct {
	t      *testing.T
	socket string
}

// newScreen starts a command in a terminal. tmux stays in the foreground, so it ends with the test.
func newScreen(t *testing.T, dir, command string) *screen {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIP: install tmux for the test of papaya chat in a terminal")
	}
	s := &screen{t, filepath.Join(t.TempDir(), "tmux")}
	server := exec.Command("tmux", "-S", s.socket, "-f", os.DevNull, "-D")
	server.Dir = dir
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(s.socket); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("tmux does not start")
		}
	}
	s.tmux("new-session", "-d", "-x", "80", "-y", "24", "-c", dir, "sh", "-c", command+
		`; echo "ended $?"; exec cat`)
	return s
}

func (s *screen) tmux(words ...string) string {
	s.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", s.socket}, words...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %v: %v\n%s", words, err, out)
	}
	return string(out)
}

func (s *screen) types(keys ...string) {
	s.t.Helper()
	s.tmux(append([]string{"send-keys"}, keys...)...)
}

// shows waits until the screen has a text, and returns the screen.
func (s *screen) shows(text string) string {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		all := s.tmux("capture-pane", "-p")
		if strings.Contains(all, text) {
			return all
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("waiting for %q: the screen shows\n%s", text, all)
		}
	}
}

// startServer runs `papaya serve` in a folder until the test ends or calls kill.
func startServer(t *testing.T, program, dir string) (kill func()) {
	t.Helper()
	cmd := exec.Command(program, "serve", "--config", "papaya.toml")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	var said []byte
	for !bytes.Contains(said, []byte("ready\n")) {
		part := make([]byte, 1024)
		n, err := stderr.Read(part)
		if said = append(said, part[:n]...); err != nil {
			t.Fatalf("papaya serve ended: %v\n%s", err, said)
		}
	}
	read := make(chan struct{})
	go func() { // until the server ends
		defer close(read)
		more, _ := io.ReadAll(stderr)
		said = append(said, more...)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		if <-read; t.Failed() {
			t.Logf("the server's last words:\n%s", said[max(0, len(said)-lastWords):])
		}
	})
	return kill
}

// lastWords is how many bytes of a server's output a failure shows.
const lastWords = 4 << 10

// TestChatInATerminal has two users in terminals. The server is killed and started again, and later
// has another certificate.
func TestChatInATerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers and terminals")
	}
	dir := t.TempDir()
	program := link(t, dir)
	port := freeport.For(t)
	conf := fmt.Sprintf("[listen]\nplain = []\ntls = [\"127.0.0.1:%d\"]\n"+
		"web = [\"127.0.0.1:%d\"]\n[tls]\ndomains = [\"127.0.0.1\"]\n"+
		"[accounts]\nrequired = true\n"+patient, port, freeport.For(t))
	if err := os.WriteFile(filepath.Join(dir, "papaya.toml"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte("the kettle is on\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ann", "bob"} {
		cmd := exec.Command(program, "admin", "account", "add", name, "--password-file", "password")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	kill := startServer(t, program, dir)
	chat := fmt.Sprintf("./papaya chat 127.0.0.1:%d tea --certificates known --account ", port)

	ann := newScreen(t, dir, chat+"ann")
	ann.shows("Password of ann:")
	ann.types("the kettle is on", "Enter")
	ann.shows("Is it the right one? [yes/no]")
	ann.types("yes", "Enter")
	ann.shows("@ann")
	// The certificate is on record now.
	bob := newScreen(t, dir, "NO_COLOR=1 "+chat+"bob --password-file password")
	bob.shows("bob")
	ann.shows("bob joined")
	ann.types("bob: the kettle is on", "Enter")
	if all := bob.shows("bob: the kettle is on"); !strings.Contains(all, "ann") {
		t.Errorf("the nick is not there:\n%s", all)
	}
	if !colours.MatchString(ann.tmux("capture-pane", "-p", "-e")) {
		t.Error("the screen has no colours")
	}
	if all := bob.tmux("capture-pane", "-p", "-e"); colours.MatchString(all) {
		t.Errorf("the screen has colours in spite of NO_COLOR: %q", all)
	}

	ann.types("/search KETTLE on", "Enter")
	ann.shows("#tea ann:") // with the day and the time before it
	ann.shows("chosen: Enter goes to it")
	ann.types("Enter")
	ann.shows("chosen: Enter shows it whole") // the message itself
	kill()
	ann.shows("connection lost")
	kill = startServer(t, program, dir)
	// The list of members was emptied when the connection was lost.
	for _, s := range []*screen{ann, bob} {
		s.shows("│ @ann")
	}
	ann.types("/send papaya.toml", "Enter")
	bob.shows("papaya.toml") // the end of its link
	ann.types("bo", "Tab", "still there?", "Enter")
	all := bob.shows("bob: still there?")
	if strings.Count(all, "the kettle is on") != 1 {
		t.Errorf("after the server came back it is to be there once:\n%s", all)
	}

	bob.tmux("resize-window", "-x", "40", "-y", "12")
	if all := bob.shows("ann: bob: still there?"); len(strings.Split(strings.TrimRight(all, "\n"),
		"\n")) > 12 {
		t.Errorf("at 40 columns:\n%s", all)
	}
	bob.types("/quit", "Enter")
	bob.shows("ended 0")
	ann.shows("bob (away)") // the account stays in the room
	ann.types("C-c")
	ann.shows("ended 0")

	kill()
	if err := os.RemoveAll(filepath.Join(dir, "papaya-data", "tls")); err != nil {
		t.Fatal(err)
	}
	startServer(t, program, dir)
	eve := newScreen(t, dir, chat+"ann --password-file password")
	eve.shows("not the one on record")
	eve.shows("ended 1")

	// An invited user makes an account in the client.
	cmd := exec.Command(program, "admin", "invite")
	cmd.Dir = dir
	token, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	zoe := newScreen(t, dir,
		fmt.Sprintf("./papaya chat 127.0.0.1:%d tea --certificates other --account zoe --invited",
			port))
	zoe.shows("Invitation:")
	zoe.types(strings.TrimSpace(string(token)), "Enter")
	for _, ask := range []string{"Password of zoe:", "Once more:"} {
		zoe.shows(ask)
		zoe.types("a password of zoe", "Enter")
	}
	zoe.shows("[yes/no]")
	zoe.types("yes", "Enter")
	zoe.shows("│ zoe")
}
