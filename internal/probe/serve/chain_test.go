package serve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"interleave/internal/probe/faulty"
)

// toldTo returns the words that a server was started with.
func toldTo(t *testing.T, s *Server) []string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.Group.PID()))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

func TestChain(t *testing.T) {
	built := faulty.Server(t, "good")
	built.Model.Run = append(built.Model.Run, "{next}", "{data}")
	c, err := StartChain(t.Context(), built, unhurried, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	folders := map[string]bool{}
	for i, s := range c {
		want := "-"
		if i < 2 {
			want = fmt.Sprintf("http://127.0.0.1:%d", c[i+1].Port)
		}
		if w := toldTo(t, s); w[4] != want {
			t.Errorf("server %d: its next is %q, want %q", i+1, w[4], want)
		}
		folders[s.Data.Path] = true
	}
	if len(folders) != 3 {
		t.Errorf("three servers have the folders %v", folders)
	}
	if err := errors.Join(c.Check(), c.CheckOwner(), c.Stop()); err != nil {
		t.Error(err)
	}
	for folder := range folders {
		if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there (%v)", folder, err)
		}
	}
	for i, s := range c {
		if s.Ended.State == nil || s.Group.Alive() {
			t.Errorf("server %d has not ended", i+1)
		}
	}
}

// TestChainDies kills a server in the middle.
func TestChainDies(t *testing.T) {
	built := faulty.Server(t, "good")
	built.Model.Run = append(built.Model.Run, "{next}")
	c, err := StartChain(t.Context(), built, unhurried, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	if err := syscall.Kill(c[1].Group.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = c[1].Group.Wait()
	for name, err := range map[string]error{"Check": c.Check(), "Stop": c.Stop()} {
		if causeOf(err) != Died || !strings.Contains(err.Error(), "number 2 of a chain of 3") {
			t.Errorf("%s: got %v, want that number 2 has died", name, err)
		}
	}
	for i, s := range c {
		if s.Group.Alive() {
			t.Errorf("server %d is left", i+1)
		}
	}
}

// TestChainDoesNotStart has a first server that does not start. The last one, which has, must end.
func TestChainDoesNotStart(t *testing.T) {
	built := faulty.Server(t, "good")
	file := filepath.Join(t.TempDir(), "pid")
	built.Model.Run = append([]string{"sh", "-c",
		`test "$0" = - || exit 3; echo $$ >"$1"; shift; exec "$@"`, "{next}", file},
		built.Model.Run...)
	_, err := StartChain(t.Context(), built, unhurried, 2)
	if causeOf(err) != Died || !strings.Contains(err.Error(), "number 1 of a chain of 2") {
		t.Errorf("got %v, want that number 1 has died", err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d, the last server, is left: %v", pid, err)
	}
	if _, err := StartChain(t.Context(), faulty.Server(t, "good"), unhurried, 2); err == nil ||
		!strings.Contains(err.Error(), "does not use {next}") {
		t.Errorf("a model that is not told its next: got %v", err)
	}
}
