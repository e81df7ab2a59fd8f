package torture

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"interleave/papaya/checker"
	"interleave/papaya/irc"
)

// TestMain makes this program also the processes of TestProcess.
func TestMain(m *testing.M) {
	switch os.Getenv("TORTURE_ROLE") {
	case "":
		os.Exit(m.Run())
	case "serves":
		ends := make(chan os.Signal, 1)
		signal.Notify(ends, syscall.SIGTERM)
		os.Stderr.WriteString("hello\nready\n")
		<-ends
	case "crashes":
		panic("a defect")
	case "asks":
		os.Stderr.WriteString("start it again\n")
		os.Exit(1)
	}
}

// TestProcess: a process is up when it says so, is killed and started again, and what has ended by
// itself is told with its last words.
func TestProcess(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 100)
	begin := func(role string, cluster bool) *process {
		t.Setenv("TORTURE_ROLE", role)
		p := &process{name: role, program: own, folder: t.TempDir(), cluster: cluster}
		p.tell = func(p *process, s state, err error) {
			word := []string{"idle", "starting", "running", "ending", "dead"}[s]
			if err != nil {
				word += " " + err.Error()
			}
			told <- p.name + " " + word
		}
		if err := p.launch(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.end(syscall.SIGKILL) })
		return p
	}
	p := begin("serves", false)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		if err := p.isUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := <-told; got != "serves running" {
			t.Errorf("told was %q", got)
		}
		if err := p.end(signal); err != nil {
			t.Fatal(err)
		}
		if err := p.launch(); err != nil {
			t.Fatal(err)
		}
	}
	crashed := begin("crashes", true)
	if err := crashed.isUp(t.Context()); err == nil || !strings.Contains(err.Error(), "a defect") {
		t.Errorf("a crash is %v", err)
	}
	asks := begin("asks", true)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for n := 0; n < 3; { // it is started again and again
			if strings.HasPrefix(<-told, "asks starting") {
				n++
			}
		}
		cancel()
	}()
	if err := asks.isUp(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	alone := begin("asks", false)
	if err := alone.isUp(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "start it again") {
		t.Errorf("an end of a single server is %v", err)
	}
	absent := &process{name: "p0", program: filepath.Join(t.TempDir(), "absent"),
		folder: t.TempDir()}
	if err := absent.launch(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
}

// newTestSession returns a session that is registered and records into a file.
func newTestSession(t *testing.T) (s *session, history func() []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history")
	r, err := newRecorder(path, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.file.Close() })
	s = newSession(&campaign{record: r}, &user{credentials: &credentials{name: "ann"}},
		&server{process: &process{name: "p0"}}, 0)
	s.batches = map[string]*batch{}
	receive(t, s, ":chat 001 ann :Welcome")
	return s, func() (lines []string) {
		if err := r.flush(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			lines = append(lines, line)
		}
		return lines
	}
}

func receive(t *testing.T, s *session, lines ...string) {
	t.Helper()
	for _, line := range lines {
		m, err := irc.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		s.receive(m)
	}
}

// TestAnswers: answers in batches belong to their lines, and what they show is not taken for
// messages that have come.
func TestAnswers(t *testing.T) {
	s, history := newTestSession(t)
	read, err := s.begin(&checker.Event{Do: checker.Read, In: "#all"},
		irc.Message{Command: "CHATHISTORY"})
	if err != nil {
		t.Fatal(err)
	}
	said, err := s.begin(&checker.Event{Do: checker.Say, In: "ann bob", Text: "w-2-"},
		irc.Message{Command: "PRIVMSG"})
	if err != nil {
		t.Fatal(err)
	}
	receive(t, s, "@msgid=3;time=2026-11-22T12:00:00.000Z :bob!b@h PRIVMSG #all :w-3- a",
		"@label=l1 :chat BATCH +b2 labeled-response", "@batch=b2 :chat BATCH +b1 chathistory #all",
		"@batch=b1;msgid=1 :bob!b@h PRIVMSG #all :w-1-", "@batch=b1;msgid=2 :bob!b@h REDACT #all 9",
		"@batch=b2 :chat BATCH -b1")
	select {
	case <-read.done:
		t.Error("the answer has ended before its batch")
	default:
	}
	receive(t, s, ":chat BATCH -b2", "@label=l2 :chat BATCH +b3 labeled-response",
		"@batch=b3 :chat 301 ann bob :away", "@batch=b3;msgid=4 :ann!a@h PRIVMSG bob :w-2-",
		":chat BATCH -b3", ":chat MARKREAD #all timestamp=2026-11-22T12:00:00.000Z")
	<-read.done
	page, all, ok := pageOf(read.lines)
	if !ok || all != 2 || len(page) != 1 || page[0].Text != "w-1-" || page[0].From != "bob" {
		t.Errorf("the page is %v, of %d lines, %v", page, all, ok)
	}
	<-said.done
	e, err := s.end(said, echoed("w-2-"))
	if err != nil || e.Type != checker.OK || e.ID != "4" {
		t.Errorf("the message is %+v, %v", e, err)
	}
	text := strings.Join(history(), "")
	if strings.Contains(text, `"w-1-"`) || strings.Count(text, `"see"`) != 2 ||
		!strings.Contains(text, `"type":"marker"`) {
		t.Errorf("the history is\n%s", text)
	}
	if m := s.heard; len(m) != 1 || m[0].id != "3" || m[0].in != "#all" {
		t.Errorf("remembered is %v", m)
	}
	lost, err := s.begin(&checker.Event{Do: checker.Marked, In: "#all"},
		irc.Message{Command: "MARKREAD"})
	if err != nil {
		t.Fatal(err)
	}
	s.lose()
	if e, err := s.end(lost, nil); err != nil || e.Type != checker.Unknown {
		t.Errorf("a lost answer is %+v, %v", e, err)
	}
	if _, err := s.begin(nil, irc.Message{Command: "PING"}); !errors.Is(err, errOffline) {
		t.Errorf("without a connection: %v", err)
	}
}

// TestRefused: errors of all kinds are refusals, and what is not understood is none.
func TestRefused(t *testing.T) {
	for line, want := range map[string]checker.Kind{
		"FAIL REDACT REDACT_FORBIDDEN #all 1 :no": checker.Fail,
		":chat 473 ann #den :no":                  checker.Fail,
		":chat 301 ann bob :away":                 checker.Unknown,
		":chat ACK":                               checker.Unknown,
	} {
		m, err := irc.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		var e checker.Event
		if refused([]reply{{"", m}}, &e); e.Type != want {
			t.Errorf("%s: got %s, want %s", line, e.Type, want)
		}
	}
}

// TestMessagesIn: of a text, what people have said is read, and blanks are not.
func TestMessagesIn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	const at = "2001-09-09T01:46:40.000Z "
	text := at + ":ann!a@h PRIVMSG #all :w-1- one\n" + at + "-                 \n" +
		at + "@+a=b :bob!b@h PRIVMSG ann :w-2-\n" + at + ":ann!a@h REDACT #all 0\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := messagesIn(path)
	want := []checker.Message{{In: "#all", From: "ann", Text: "w-1- one"},
		{In: "ann bob", From: "bob", Text: "w-2-"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if _, err := messagesIn(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestOutputOnAFullDisk: what a process says is taken in any case.
func TestOutputOnAFullDisk(t *testing.T) {
	o := &output{file: full{}, ready: make(chan struct{})}
	long := strings.Repeat("x", lastWords)
	if n, err := o.Write([]byte("ready\n" + long)); n != len("ready\n"+long) || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	<-o.ready
	if o.last() != long {
		t.Errorf("the last words are %q", o.last())
	}
}

// full is a file on a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestHistoryOfAFullDisk: the first error of the file ends the campaign, and is told.
func TestHistoryOfAFullDisk(t *testing.T) {
	var why error
	path := filepath.Join(t.TempDir(), "history")
	r, err := newRecorder(path, func(err error) { why = err })
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("SKIP: there is no /dev/full for the test of a full disk")
	}
	r.file.Close()
	r.file = full
	r.w.Reset(full)
	r.tell(checker.Event{Type: checker.Killed})
	if err := r.close(); !errors.Is(err, syscall.ENOSPC) || !errors.Is(why, syscall.ENOSPC) {
		t.Errorf("got %v and %v", err, why)
	}
	if _, err := newRecorder(path, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second history in one file: %v", err)
	}
}
