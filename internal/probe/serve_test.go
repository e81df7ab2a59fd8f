package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"interleave/internal/group"
	"interleave/internal/manifest"
)

// bad is the program of testdata/bad, built once for all tests.
var badProgram string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "probe")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		badProgram = filepath.Join(dir, "bad")
		if out, err := exec.Command("go", "build", "-o", badProgram,
			"testdata/bad/main.go").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building testdata/bad: %v\n%s", err, out)
			return 1
		}
		waitAtOnce()
		return m.Run()
	}())
}

// bad is a server with one fault.
func bad(t *testing.T, fault string) *Built {
	t.Helper()
	return &Built{
		Model: &manifest.Model{Name: fault, Service: "echo", Dir: t.TempDir(),
			Ready: manifest.ReadyLine,
			Run:   []string{badProgram, fault, "{port}", "{host}"}},
		Env: os.Environ(),
		Out: t.TempDir(),
	}
}

// causeOf is the cause of a *Failure, or what else came.
func causeOf(err error) Cause {
	var failure *Failure
	if errors.As(err, &failure) {
		return failure.Cause
	}
	return Cause(fmt.Sprint(err))
}

func TestStartAndStop(t *testing.T) {
	for _, ready := range []manifest.Ready{manifest.ReadyLine, manifest.ReadyConnect} {
		built := bad(t, map[manifest.Ready]string{manifest.ReadyLine: "good",
			manifest.ReadyConnect: "silent"}[ready])
		built.Model.Ready = ready
		s, err := Start(context.Background(), built, unhurried)
		if err != nil {
			t.Fatal(err)
		}
		if s.Port < 1024 || s.Port >= ephemeralStart() || s.StartUp <= 0 {
			t.Errorf("port %d after %v, want one below the ephemeral range and a duration", s.Port,
				s.StartUp)
		}
		client, err := net.Dial("tcp", net.JoinHostPort(s.Host, strconv.Itoa(s.Port)))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(client, "hello")
		got := make([]byte, 5)
		if _, err := io.ReadFull(client, got); err != nil || string(got) != "hello" {
			t.Errorf("got %q, %v; want hello", got, err)
		}
		if err := s.Check(); err != nil {
			t.Error(err)
		}
		if err := s.Stop(); err != nil {
			t.Errorf("stopping with an open connection: %v", err)
		}
		client.Close()
		if owners, err := PortOwners(s.Port); len(owners) > 0 || err != nil {
			t.Errorf("after the stop %v own the port, %v", owners, err)
		}
	}
}

func TestFaultsBeforeReady(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	for _, test := range []struct {
		fault string
		opts  StartOptions
		cause Cause
		want  string
	}{
		{"dies-early", unhurried, Died,
			"the server ended with exit status 3 before it was ready\n\tcannot find my " +
				"configuration"},
		{"good", StartOptions{Port: port, Limit: unhurriedLimit}, PortInUse,
			fmt.Sprintf("port %d is in use by %d", port, os.Getpid())},
		{"ready-without-listening", unhurried, PortOwner, "does not listen"},
	} {
		s, err := Start(context.Background(), bad(t, test.fault), test.opts)
		if err == nil {
			s.Kill()
		}
		if got := causeOf(err); got != test.cause || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %s, %v; want %s, %q", test.fault, got, err, test.cause, test.want)
		}
	}
	s, err := startFor(t.Context(), bad(t, "never-ready"), StartOptions{}, 300*time.Millisecond,
		"not ready yet")
	if err == nil {
		s.Kill()
	}
	const want = "did not say ready on standard error within "
	if causeOf(err) != NeverReady || !strings.Contains(err.Error(), want) ||
		!strings.Contains(err.Error(), "\n\tnot ready yet") {
		t.Errorf("never-ready: got %v, want that it %sits limit, and what it said", err, want)
	}
	missing := bad(t, "good")
	missing.Model.Run = []string{"{out}/echo"}
	if _, err := Start(context.Background(), missing, unhurried); causeOf(err) != CannotStart {
		t.Errorf("a program that is not there: got %v", err)
	}
}

func TestFaultsAtTheEnd(t *testing.T) {
	for _, groups := range []group.Options{{}, {NoCgroup: true}} {
		faultsAtTheEnd(t, groups)
	}
}

func faultsAtTheEnd(t *testing.T, groups group.Options) {
	const short = 400 * time.Millisecond
	for _, test := range []struct {
		fault string
		grace time.Duration
		cause Cause
		want  string
	}{
		{"ignores-sigterm", short, IgnoresTerm,
			"did not end within 400ms of SIGTERM and was killed"},
		{"exit-status", unhurriedLimit, ExitStatus,
			"ended with exit status 7 after SIGTERM, not with 0"},
		{"signalled", unhurriedLimit, ExitStatus, "ended with signal: terminated after SIGTERM"},
		{"escapes", short, Strays, "left processes behind, which were killed: "},
	} {
		var s *Server
		var err error
		// Strays are waited for all of the grace, in which the server itself must have ended.
		for grace := test.grace; s == nil || causeOf(err) == IgnoresTerm &&
			test.cause != IgnoresTerm && grace < unhurriedLimit; grace *= 2 {
			s, err = Start(context.Background(), bad(t, test.fault),
				StartOptions{Limit: unhurriedLimit, Grace: grace, Group: groups})
			if err != nil {
				t.Fatalf("%s: %v", test.fault, err)
			}
			err = s.Stop()
		}
		if causeOf(err) != test.cause || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s, %q", test.fault, err, test.cause, test.want)
		}
		if again := s.Stop(); again != err {
			t.Errorf("%s: a second Stop says %v, the first said %v", test.fault, again, err)
		}
		for _, pid := range s.Ended.Strays {
			if _, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid)); err == nil {
				t.Errorf("%s: process %d is still there", test.fault, pid)
			}
		}
	}
}

func TestFlood(t *testing.T) {
	s, err := Start(context.Background(), bad(t, "floods"), unhurried)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the flood to be noticed", func() bool { return causeOf(s.Check()) == Floods })
	if got := len(s.Tail()); got > tailBytes {
		t.Errorf("kept %d bytes, want at most %d", got, tailBytes)
	}
	if err := s.Stop(); causeOf(err) != Floods {
		t.Errorf("stop: got %v, want %s", err, Floods)
	}
}

func TestDeathWhileServing(t *testing.T) {
	s, err := Start(context.Background(), bad(t, "dies-at-once"), unhurried)
	if err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("tcp", net.JoinHostPort(s.Host, strconv.Itoa(s.Port)))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	eventually(t, "the server to die", func() bool { return s.Check() != nil })
	if err := s.Check(); causeOf(err) != Died || !strings.Contains(err.Error(), "exit status 4") {
		t.Errorf("got %v, want that it ended with exit status 4", err)
	}
	if err := s.Stop(); causeOf(err) != Died {
		t.Errorf("stop: got %v, want %s", err, Died)
	}
}

func TestInterruptedStart(t *testing.T) {
	ctx, interrupt := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer interrupt()
	if _, err := Start(ctx, bad(t, "never-ready"), unhurried); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
}

// Two servers that both set SO_REUSEPORT start without an error; only the kernel's table tells.
func TestPortOwnedByAnother(t *testing.T) {
	s, err := Start(context.Background(), bad(t, "good"), unhurried)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	if err := s.CheckOwner(); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.2", strconv.Itoa(s.Port)))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	want := fmt.Sprintf("shares port %d with %d", s.Port, os.Getpid())
	if err := s.CheckOwner(); causeOf(err) != PortOwner || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
