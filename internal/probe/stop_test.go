package probe

// The end of a server's output, in fake time: its last words are read before anybody asks for them.

import (
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"interleave/internal/group"
)

// groupOf is a group whose only process has ended, or still sleeps.
func groupOf(t *testing.T, sleeps bool) *group.Group {
	t.Helper()
	g, err := group.New("test", group.Options{NoCgroup: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	command := exec.Command("true")
	if sleeps {
		command = exec.Command("sleep", "300")
	}
	if err := g.Start(command); err != nil {
		t.Fatal(err)
	}
	if !sleeps {
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// talker is a server that has written more than one read takes, and whose reader is late with it.
func talker(t *testing.T, g *group.Group, late time.Duration) *Server {
	t.Helper()
	s := &Server{Group: g, grace: time.Second}
	first := true
	theirs, err := s.watch(func([]byte) {
		if first {
			time.Sleep(late)
		}
		first = false
	})
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	// less than a pipe holds, more than the reader takes at once
	if _, err := theirs.WriteString(strings.Repeat("noise\n", 6000) + lastWords); err != nil {
		t.Fatal(err)
	}
	return s
}

const lastWords = "last words\n"

// TestLastWords looks at a server's output after each call that waits for its end.
func TestLastWords(t *testing.T) {
	calls := map[string]func(*Server){
		"drained": (*Server).drained,
		"wait":    func(s *Server) { s.wait() },
		"Stop":    func(s *Server) { _ = s.Stop() }, // it ended early, which is another test's
		"Kill":    (*Server).Kill,
	}
	for name, call := range calls {
		for _, late := range []time.Duration{heldTime / 2, 2 * heldTime} {
			t.Run(name+" "+late.String(), func(t *testing.T) {
				g := groupOf(t, false)
				synctest.Test(t, func(t *testing.T) {
					s := talker(t, g, late)
					call(s)
					if got := s.Tail(); !strings.HasSuffix(got, lastWords) {
						t.Errorf("got %d bytes that end in %q, want %q", len(got),
							got[max(0, len(got)-20):], lastWords)
					}
					s.closePipes()
				})
			})
		}
	}
}

// TestPipeIsHeld: a process that lives on may hold a pipe for ever, and is waited for shortly.
func TestPipeIsHeld(t *testing.T) {
	g := groupOf(t, true)
	synctest.Test(t, func(t *testing.T) {
		s := talker(t, g, time.Hour)
		begin := time.Now()
		s.drained()
		if took := time.Since(begin); took != heldTime {
			t.Errorf("waited %v for a pipe that a process holds, want %v", took, heldTime)
		}
		s.closePipes()
	})
}
