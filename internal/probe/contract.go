package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// contract is what every server must do whatever its service. That it says ready, ends within 2 s of
// SIGTERM with status 0 and leaves no process is checked by every transcript as well.
var contract = []Check{
	{"contract: port in use", "a port in use is one line on standard error and exit status 1", portInUse},
	{"contract: killed", "after kill -9 of the first process nothing serves the port any more", killed},
}

// portInUse starts a server on a port where another listens.
func portInUse(ctx context.Context, built *Built, patience float64) error {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	opts := patient(StartOptions{Port: listener.Addr().(*net.TCPAddr).Port}, built, patience)
	s, err := Start(ctx, built, opts)
	if err == nil {
		s.Kill()
		return fmt.Errorf("it started on port %d, on which another process listens", opts.Port)
	}
	var failure *Failure
	if !errors.As(err, &failure) {
		return err
	}
	if failure.Cause != PortInUse {
		return fmt.Errorf("on a port in use: %w", err)
	}
	if !strings.Contains(failure.Text, "exit status 1:") {
		return fmt.Errorf("on a port in use: %s, want exit status 1%s", failure.Text, lastLines(failure.Tail, 20))
	}
	if said := strings.TrimSpace(failure.Tail); said == "" || strings.Contains(said, "\n") {
		return fmt.Errorf("on a port in use: want one line on standard error, got %d%s",
			strings.Count(failure.Tail, "\n"), lastLines(failure.Tail, 20))
	}
	return nil
}

// killed kills the first process with a connection open; its children must notice.
func killed(ctx context.Context, built *Built, patience float64) error {
	s, err := Start(ctx, built, patient(StartOptions{}, built, patience))
	if err != nil {
		return err
	}
	defer s.Kill()
	client, err := net.DialTimeout("tcp4", net.JoinHostPort(s.Host, strconv.Itoa(s.Port)), s.grace)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := syscall.Kill(s.Group.PID(), syscall.SIGKILL); err != nil {
		return fmt.Errorf("killing the first process: %w", err)
	}
	_ = s.Group.Wait()
	var owners []string
	for until := time.Now().Add(s.grace); time.Now().Before(until); {
		if owners, err = PortOwners(s.Port); err != nil || len(owners) == 0 {
			return err
		}
		if err := rest(ctx, lookEvery); err != nil {
			return err
		}
	}
	return fmt.Errorf("%v after kill -9 of its first process port %d is still served by %s", s.grace, s.Port, strings.Join(owners, ", "))
}
