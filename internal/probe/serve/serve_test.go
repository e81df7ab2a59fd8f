package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"interleave/internal/freeport"
	"interleave/internal/group"
	"interleave/internal/manifest"
	"interleave/internal/probe/faulty"
	"interleave/internal/probe/tail"
	"interleave/internal/probe/toolchain"
)

func TestMain(m *testing.M) { faulty.Main(m) }

// unhurried are the options for servers of tests that are not about limits.
var unhurried = StartOptions{Limit: UnhurriedLimit, Grace: UnhurriedLimit}

// startFor starts a server that is expected to fail. The limit grows until the server fails in the
// wanted way.
func startFor(ctx context.Context, built *toolchain.Built, opts StartOptions, limit time.Duration,
	want string) (s *Server, err error) {
	for ; limit < UnhurriedLimit; limit *= 10 {
		opts.Limit = limit
		if s, err = Start(ctx, built, opts); err == nil || faulty.Holds(err, want) {
			return s, err
		}
	}
	return s, err
}

// causeOf returns the cause of a *Failure, or the text of any other error.
func causeOf(err error) Cause {
	var failure *Failure
	if errors.As(err, &failure) {
		return failure.Cause
	}
	return Cause(fmt.Sprint(err))
}

func TestStartAndStop(t *testing.T) {
	for _, ready := range []manifest.Ready{manifest.ReadyLine, manifest.ReadyConnect} {
		built := faulty.Server(t, map[manifest.Ready]string{manifest.ReadyLine: "good",
			manifest.ReadyConnect: "silent"}[ready])
		built.Model.Ready = ready
		s, err := Start(context.Background(), built, unhurried)
		if err != nil {
			t.Fatal(err)
		}
		if from, to := freeport.Range(); s.Port < from || s.Port >= to || s.StartUp <= 0 {
			t.Errorf("port %d after %v, want one from %d to %d and a duration", s.Port, s.StartUp,
				from, to-1)
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
		{"good", StartOptions{Port: port, Limit: UnhurriedLimit}, PortInUse,
			fmt.Sprintf("port %d is in use by %d", port, os.Getpid())},
		{"ready-without-listening", unhurried, PortOwner, "does not listen"},
	} {
		s, err := Start(context.Background(), faulty.Server(t, test.fault), test.opts)
		if err == nil {
			s.Kill()
		}
		if got := causeOf(err); got != test.cause || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %s, %v; want %s, %q", test.fault, got, err, test.cause, test.want)
		}
	}
	s, err := startFor(t.Context(), faulty.Server(t, "never-ready"), StartOptions{},
		300*time.Millisecond, "not ready yet")
	if err == nil {
		s.Kill()
	}
	const want = "did not say ready on standard error within "
	if causeOf(err) != NeverReady || !strings.Contains(err.Error(), want) ||
		!strings.Contains(err.Error(), "\n\tnot ready yet") {
		t.Errorf("never-ready: got %v, want that it %sits limit, and what it said", err, want)
	}
	missing := faulty.Server(t, "good")
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
		{"exit-status", UnhurriedLimit, ExitStatus,
			"ended with exit status 7 after SIGTERM, not with 0"},
		{"signalled", UnhurriedLimit, ExitStatus, "ended with signal: terminated after SIGTERM"},
		{"escapes", short, Strays, "left processes behind, which were killed: "},
	} {
		var s *Server
		var err error
		// Strays are waited for all of the grace, in which the server itself must have ended.
		for grace := test.grace; s == nil || causeOf(err) == IgnoresTerm &&
			test.cause != IgnoresTerm && grace < UnhurriedLimit; grace *= 2 {
			s, err = Start(context.Background(), faulty.Server(t, test.fault),
				StartOptions{Limit: UnhurriedLimit, Grace: grace, Group: groups})
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
	s, err := Start(context.Background(), faulty.Server(t, "floods"), unhurried)
	if err != nil {
		t.Fatal(err)
	}
	faulty.Eventually(t, "the flood to be noticed",
		func() bool { return causeOf(s.Check()) == Floods })
	if got := len(s.Tail()); got > tail.Bytes {
		t.Errorf("kept %d bytes, want at most %d", got, tail.Bytes)
	}
	if err := s.Stop(); causeOf(err) != Floods {
		t.Errorf("stop: got %v, want %s", err, Floods)
	}
}

func TestDeathWhileServing(t *testing.T) {
	s, err := Start(context.Background(), faulty.Server(t, "dies-at-once"), unhurried)
	if err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("tcp", net.JoinHostPort(s.Host, strconv.Itoa(s.Port)))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	faulty.Eventually(t, "the server to die", func() bool { return s.Check() != nil })
	if err := s.Check(); causeOf(err) != Died || !strings.Contains(err.Error(), "exit status 4") {
		t.Errorf("got %v, want that it ended with exit status 4", err)
	}
	if err := s.Stop(); causeOf(err) != Died {
		t.Errorf("stop: got %v, want %s", err, Died)
	}
}

func TestInterruptedStart(t *testing.T) {
	ctx, interrupt := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer interrupt()
	if _, err := Start(ctx, faulty.Server(t, "never-ready"), unhurried); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
}

// TestPortOwnedByAnother has another listener on the server's port. Two servers that both set
// SO_REUSEPORT start without an error, so only the kernel's table shows it.
func TestPortOwnedByAnother(t *testing.T) {
	s, err := Start(context.Background(), faulty.Server(t, "good"), unhurried)
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
