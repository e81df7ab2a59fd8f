package serve

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// awaitReady looks for the line "ready" in standard error. One goroutine calls it with all that the
// server writes.
func (s *Server) awaitReady(p []byte) {
	select {
	case <-s.ready:
		return
	default:
	}
	text := s.output.String() + string(p)
	if strings.HasPrefix(text, "ready\n") || strings.Contains(text, "\nready\n") {
		close(s.ready)
	}
}

// awaitListener waits for a server that does not print "ready". It looks for a listener in the
// kernel's table of the server's network namespace, or for the server behind its tap. It makes no
// connection, which might disturb the server.
func (s *Server) awaitListener(ctx context.Context) {
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for {
		serves := false
		if s.BehindTap() {
			serves = s.attached()
		} else {
			inodes, err := listeners(strconv.Itoa(s.Group.PID()), s.Port)
			serves = err == nil && len(inodes) > 0
		}
		if serves {
			close(s.ready)
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// diedEarly returns the failure of a server that ended before it was ready.
func (s *Server) diedEarly() error {
	how := s.Wait()
	text := s.Tail()
	var owners []string
	if s.Net == nil {
		owners, _ = PortOwners(s.Port)
	}
	said := strings.ToLower(text)
	if len(owners) > 0 || strings.Contains(said, "in use") || strings.Contains(said, "eaddrinuse") {
		fault := fmt.Sprintf("ended with %s: port %d is in use", how, s.Port)
		if len(owners) > 0 {
			fault += " by " + strings.Join(owners, ", ")
		}
		return &Failure{PortInUse, fault, text}
	}
	return &Failure{Died, fmt.Sprintf("ended with %s before it was ready", how), text}
}
