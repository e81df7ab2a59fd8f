package serve

// These tests are about the end of a server's output, in fake time: a call that waits for the end
// of the server has also read its last words.

import (
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"interleave/internal/group"
)

// groupOf returns a group whose only process has ended or, if sleeps is true, still sleeps.
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

// talker returns a server that has written more than one read takes, and whose output is read late.
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
	// less than a pipe holds, and more than one read takes
	if _, err := theirs.WriteString(strings.Repeat("noise\n", 6000) + lastWords); err != nil {
		t.Fatal(err)
	}
	return s
}

const lastWords = "last words\n"

// TestLastWords looks at the output of a server after each call that waits for its end.
func TestLastWords(t *testing.T) {
	calls := map[string]func(*Server){
		"drained": (*Server).drained,
		"Wait":    func(s *Server) { s.Wait() },
		"Stop":    func(s *Server) { _ = s.Stop() }, // other tests look at its error
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

// TestPipeIsHeld has a process that lives on and may hold a pipe for ever. The wait is short then.
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
