package serve

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Stop sends SIGTERM and ends everything of the server that is left after the grace. If the server
// does not end as the contract says, the error is a *Failure. A second call returns the same.
func (s *Server) Stop() error {
	s.stop.Do(func() { s.stopped = s.end() })
	return s.stopped
}

// end is the first call of Stop.
func (s *Server) end() error {
	names := map[int]string{}
	for _, pid := range s.Group.PIDs() {
		names[pid] = nameOf(pid)
	}
	ended, err := s.Group.Stop(s.grace)
	s.Ended = ended
	s.drained()
	s.closePipes()
	if err := errors.Join(err, s.Group.Close(), s.made.Close(), s.own.Close()); err != nil {
		return err
	}
	switch {
	case ended.Early:
		return &Failure{Died, "ended with " + ended.State.String() + " before it was asked to",
			s.Tail()}
	case !ended.ByItself:
		return &Failure{IgnoresTerm, fmt.Sprintf("did not end within %v of SIGTERM and was killed",
			s.grace), s.Tail()}
	case ended.State == nil || ended.State.ExitCode() != 0:
		return &Failure{ExitStatus, "ended with " + ended.State.String() +
			" after SIGTERM, not with 0", s.Tail()}
	case len(ended.Strays) > 0:
		var strays []string
		for _, pid := range ended.Strays {
			name, known := names[pid]
			if !known {
				name = strconv.Itoa(pid)
			}
			strays = append(strays, name)
		}
		slices.Sort(strays)
		if len(strays) > 5 {
			strays = append(strays[:5], fmt.Sprintf("and %d more", len(strays)-5))
		}
		return &Failure{Strays, "left processes behind, which were killed: " +
			strings.Join(strays, ", "), s.Tail()}
	case s.OutputBytes() > floodBytes:
		return &Failure{Floods, fmt.Sprintf("flooded its output with %d bytes", s.OutputBytes()),
			s.Tail()}
	}
	return nil
}

// Kill ends the server without asking it. Nothing is checked.
func (s *Server) Kill() {
	s.stop.Do(func() {
		s.stopped = errors.Join(s.Group.Close(), s.made.Close(), s.own.Close())
		s.drained()
		s.closePipes()
	})
}

// Wait waits for the end of the first process and for what it wrote last. It returns how the
// process ended, such as "exit status 0".
func (s *Server) Wait() string {
	err := s.Group.Wait()
	s.drained()
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// heldTime is how long drained waits if a living process of the group may hold a pipe: a guess.
const heldTime = 2 * time.Second

// drained waits for the end of the server's output. A process of the group that lives on may hold a
// pipe for ever, so the wait is short then. Without such a process the end comes soon, and
// deathTime only bounds the wait.
func (s *Server) drained() {
	done := make(chan struct{})
	go func() { s.reading.Wait(); close(done) }()
	select {
	case <-done:
		return
	case <-time.After(heldTime):
	}
	if len(s.Group.PIDs()) > 0 {
		return
	}
	select {
	case <-done:
	case <-time.After(deathTime):
	}
}

// closePipes ends the goroutines that read the server's output.
func (s *Server) closePipes() {
	for _, pipe := range s.pipes {
		pipe.Close() // a goroutine that still reads gets an error and ends
	}
	s.reading.Wait()
}
