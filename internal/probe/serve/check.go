package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
	"time"

	"interleave/internal/netns"
	"interleave/internal/probe/toolchain"
)

// Tail returns the end of what the server wrote to standard error, and to standard output if that
// is watched.
func (s *Server) Tail() string { return s.output.String() }

// OutputBytes returns the number of bytes of which Tail is the end.
func (s *Server) OutputBytes() int64 { return s.output.Total() }

// Check returns a *Failure if a server that should be serving has died or floods its output.
func (s *Server) Check() error {
	if !s.Group.Alive() {
		return &Failure{Died, "ended with " + s.Wait() + " while it should serve", s.Tail()}
	}
	if written := s.OutputBytes(); written > floodBytes {
		return &Failure{Floods,
			fmt.Sprintf("floods its output: %d bytes where nobody asked it to write", written),
			s.Tail()}
	}
	return nil
}

// CheckOwner returns a *Failure unless this server's processes, and no others, listen on its port:
// another process would answer part of the load. It asks the kernel's table of sockets. A server
// behind a tap has no port of the kernel's. It must be behind its tap, and then no other process
// can be.
func (s *Server) CheckOwner() error {
	pids := s.Group.PIDs()
	switch {
	case len(pids) == 0:
		return s.Check()
	case s.BehindTap():
		return s.checkAttached()
	case !s.Built.Model.Holds("{port}"):
		return nil // the kernel itself answers, and no process listens
	}
	foreign, err := listeners(strconv.Itoa(pids[0]), s.Port)
	// a process that has died is gone from /proc before its parent is told
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EINVAL) {
		foreign, err = s.listenersOfRest(pids[0])
	}
	if err != nil {
		if dead := s.Check(); dead != nil {
			return dead
		}
		return fmt.Errorf("finding who listens on port %d: %w", s.Port, err)
	}
	if len(foreign) == 0 {
		return &Failure{PortOwner, fmt.Sprintf("does not listen on port %d, though it said ready",
			s.Port), s.Tail()}
	}
	for _, pid := range pids {
		for _, inode := range held(pid, foreign) {
			delete(foreign, inode)
		}
		if len(foreign) == 0 {
			return nil
		}
	}
	names := holders(foreign)
	if len(names) == 0 {
		names = []string{"a process that cannot be seen"}
	}
	return &Failure{PortOwner, fmt.Sprintf("shares port %d with %s", s.Port,
		strings.Join(names, ", ")), s.Tail()}
}

// listenersOfRest waits until the group has noticed that one of its processes has gone, and asks
// another one for the listeners. If there is none, it returns an error.
func (s *Server) listenersOfRest(gone int) (map[string]bool, error) {
	for end := time.Now().Add(deathTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
		pids := s.Group.PIDs()
		switch {
		case len(pids) == 0 || !s.Group.Alive():
			return nil, errors.New("the server has ended")
		case pids[0] != gone:
			return listeners(strconv.Itoa(pids[0]), s.Port)
		}
	}
	return nil, fmt.Errorf("process %d: %w", gone, fs.ErrNotExist)
}

// deathTime bounds the time between the end of a process and the news of it. On an idle machine
// that takes milliseconds.
const deathTime = time.Minute

// sanitizerReports are texts in the first lines of sanitizers' reports.
var sanitizerReports = []string{
	"ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "runtime error: ",
	"WARNING: ThreadSanitizer", "WARNING: DATA RACE",
}

// SanitizerReport returns a *Failure if the output of a server that was built with a sanitizer
// holds a report. The exit status alone does not tell: a forked child may have written the report.
func (s *Server) SanitizerReport() error {
	if s.Built.Sanitize == toolchain.Plain {
		return nil
	}
	said := s.Tail()
	for _, report := range sanitizerReports {
		if strings.Contains(said, report) {
			return &Failure{ExitStatus, "was stopped by its sanitizer", said}
		}
	}
	return nil
}

// StillServed says which process serves in the place of a server that was killed. It returns "" if
// there is none.
func (s *Server) StillServed() (by string, err error) {
	switch {
	case s.BehindTap() && carries(s.Net):
		return "there is still somebody behind the tap " + s.Net.Device, nil
	case s.BehindTap(), !s.Built.Model.Holds("{port}"):
		return "", nil
	}
	var owners []string
	err = netns.Do(s.Net.Path("server"), func() (err error) {
		owners, err = PortOwners(s.Port)
		return err
	})
	if err != nil || len(owners) == 0 {
		return "", err
	}
	return fmt.Sprintf("port %d is still served by %s", s.Port, strings.Join(owners, ", ")), nil
}
