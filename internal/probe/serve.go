package probe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"interleave/internal/group"
	"interleave/internal/manifest"
)

const (
	// startLimit is from exec to ready. C takes milliseconds, Erlang a second on a busy machine.
	startLimit    = 10 * time.Second
	startLimitJVM = 20 * time.Second
	// Grace is the contract's time from SIGTERM to the end.
	Grace = 2 * time.Second
	// floodBytes is what a server may say besides its service: a warning a client is no flood.
	floodBytes = 1 << 20
	// startTries is for ports that are taken between the look and the start.
	startTries = 4
	// openFiles is what a server may open at least: 1,000 connections and more. Not more than that, for
	// some run times lay out a table for as many as they may.
	openFiles = 65_536
)

// StartOptions say how a server is started. The zero value serves 127.0.0.1 on a free port.
type StartOptions struct {
	Host   string
	Port   int           // 0: a free one
	Args   []string      // after those of the manifest
	Group  group.Options // cores, network namespace
	Stdout *os.File      // nil: watched like standard error
	Limit  time.Duration // until it must be ready; 0: 10 s, for a JVM 20
	Grace  time.Duration // from SIGTERM to the end; 0: 2 s

	OpenFiles int // at most, for the server; 0: 65,536 or what the system allows
}

// A Server is a process group that serves.
type Server struct {
	Built   *Built
	Host    string
	Port    int
	Group   *group.Group
	StartUp time.Duration // from exec to ready
	Ended   group.Ended   // once it was stopped

	grace   time.Duration
	output  tail
	ready   chan struct{} // closed by the reader of standard error
	reading sync.WaitGroup
	pipes   []*os.File // our ends
	stop    sync.Once
	stopped error
}

// Start starts a server and waits until it is ready. What the server does wrong comes back as a
// *Failure; then nothing of it is left. The caller must Stop a server that started.
func Start(ctx context.Context, built *Built, opts StartOptions) (*Server, error) {
	raiseOpenFiles()
	if opts.Host == "" {
		opts.Host = "127.0.0.1"
	}
	if opts.Grace == 0 {
		opts.Grace = Grace
	}
	if opts.Limit == 0 {
		opts.Limit = built.startLimit()
	}
	if opts.Port != 0 {
		return start(ctx, built, opts)
	}
	for try := 1; ; try++ {
		port, err := freePort(opts.Host, opts.Group.NetNS != "")
		if err != nil {
			return nil, err
		}
		opts.Port = port
		s, err := start(ctx, built, opts)
		var failure *Failure
		taken := errors.As(err, &failure) && (failure.Cause == PortInUse || failure.Cause == PortOwner)
		if !taken || try == startTries {
			return s, err
		}
	}
}

func (b *Built) startLimit() time.Duration {
	if b.Model.Language == "java" {
		return startLimitJVM
	}
	return startLimit
}

func start(ctx context.Context, built *Built, opts StartOptions) (*Server, error) {
	s := &Server{Built: built, Host: opts.Host, Port: opts.Port, grace: opts.Grace, ready: make(chan struct{})}
	if opts.Group.Pdeathsig == 0 {
		opts.Group.Pdeathsig = syscall.SIGKILL
	}
	var err error
	if s.Group, err = group.New("server", opts.Group); err != nil {
		return nil, err
	}
	begin := time.Now()
	args := append(built.expand(built.Model.Run, s.Port, s.Host), opts.Args...)
	if err := s.exec(args, opts); err != nil {
		s.closePipes()
		return nil, errors.Join(err, s.Group.Close())
	}
	limit := time.NewTimer(opts.Limit)
	defer limit.Stop()
	if built.Model.Ready == manifest.ReadyConnect {
		looking, stop := context.WithCancel(ctx)
		defer stop()
		go s.awaitListener(looking)
	}
	select {
	case <-s.ready:
		s.StartUp = time.Since(begin)
		err = s.CheckOwner()
	case <-s.Group.Exited():
		err = s.diedEarly()
	case <-limit.C:
		text := fmt.Sprintf("did not say ready on standard error within %v", opts.Limit)
		if built.Model.Ready == manifest.ReadyConnect {
			text = fmt.Sprintf("did not listen on port %d within %v", s.Port, opts.Limit)
		}
		err = &Failure{NeverReady, text, s.Tail()}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		s.Kill()
		return nil, err
	}
	return s, nil
}

// exec starts the process with its outputs watched.
func (s *Server) exec(args []string, opts StartOptions) error {
	if len(args) == 0 {
		return &Failure{CannotStart, "has no command to run", ""}
	}
	path, err := lookPath(args[0], s.Built.Model.Dir, s.Built.Env)
	if err != nil {
		return &Failure{CannotStart, "cannot be started: " + err.Error(), ""}
	}
	cmd := &exec.Cmd{Path: path, Args: args, Dir: s.Built.Model.Dir, Env: slices.Clone(s.Built.Env)}
	if opts.OpenFiles > 0 {
		limit := fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, opts.OpenFiles)
		cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", limit, path}, args[1:]...)
	}
	see := s.awaitReady
	if s.Built.Model.Ready == manifest.ReadyConnect {
		see = func([]byte) {} // the listener tells, whatever the server says
	}
	stderr, err := s.watch(see)
	if err != nil {
		return err
	}
	defer stderr.Close()
	cmd.Stderr = stderr
	if opts.Stdout != nil {
		cmd.Stdout = opts.Stdout
	} else {
		stdout, err := s.watch(func([]byte) {})
		if err != nil {
			return err
		}
		defer stdout.Close()
		cmd.Stdout = stdout
	}
	if err := s.Group.Start(cmd); err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOEXEC) {
			return &Failure{CannotStart, "cannot be started: " + err.Error(), ""}
		}
		return err
	}
	return nil
}

// watch makes a pipe whose bytes are always read, counted, kept in the tail and shown to see. The
// reader ends when the last process that holds the pipe does, or when closePipes gives up on that.
func (s *Server) watch(see func([]byte)) (theirs *os.File, err error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.pipes = append(s.pipes, ours)
	s.reading.Go(func() {
		buffer := make([]byte, 32<<10)
		for {
			n, err := ours.Read(buffer)
			see(buffer[:n])
			s.output.add(buffer[:n])
			if err != nil {
				return
			}
		}
	})
	return theirs, nil
}

// awaitReady is shown all of standard error, by one goroutine; it looks for the line "ready".
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

// awaitListener is for servers that print nothing: it looks in the kernel's table, in the server's own
// network namespace, so that no connection disturbs it.
func (s *Server) awaitListener(ctx context.Context) {
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for {
		inodes, err := listeners(strconv.Itoa(s.Group.PID()), s.Port)
		if err == nil && len(inodes) > 0 {
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

// diedEarly tells why a server ended that had not been ready.
func (s *Server) diedEarly() error {
	how := s.wait()
	tail := s.Tail()
	owners, _ := PortOwners(s.Port)
	said := strings.ToLower(tail)
	if len(owners) > 0 || strings.Contains(said, "in use") || strings.Contains(said, "eaddrinuse") {
		text := fmt.Sprintf("ended with %s: port %d is in use", how, s.Port)
		if len(owners) > 0 {
			text += " by " + strings.Join(owners, ", ")
		}
		return &Failure{PortInUse, text, tail}
	}
	return &Failure{Died, fmt.Sprintf("ended with %s before it was ready", how), tail}
}

// Tail is the end of what the server wrote to standard error, and to standard output where that is
// watched.
func (s *Server) Tail() string { return s.output.String() }

// OutputBytes is how much that was in all.
func (s *Server) OutputBytes() int64 { return s.output.Total() }

// Check tells what is wrong with a server that should be serving: nil, or a *Failure because it died
// or floods its output.
func (s *Server) Check() error {
	if !s.Group.Alive() {
		return &Failure{Died, "ended with " + s.wait() + " while it should serve", s.Tail()}
	}
	if written := s.OutputBytes(); written > floodBytes {
		return &Failure{Floods, fmt.Sprintf("floods its output: %d bytes where nobody asked it to write", written), s.Tail()}
	}
	return nil
}

// CheckOwner looks at the kernel's table: the port must be listened on, and only by this server's
// processes. Otherwise it returns a *Failure: another process would answer part of the load.
func (s *Server) CheckOwner() error {
	pids := s.Group.PIDs()
	if len(pids) == 0 {
		return s.Check()
	}
	foreign, err := listeners(strconv.Itoa(pids[0]), s.Port)
	if err != nil {
		if dead := s.Check(); dead != nil {
			return dead
		}
		return fmt.Errorf("finding who listens on port %d: %w", s.Port, err)
	}
	if len(foreign) == 0 {
		return &Failure{PortOwner, fmt.Sprintf("does not listen on port %d, though it said ready", s.Port), s.Tail()}
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
	return &Failure{PortOwner, fmt.Sprintf("shares port %d with %s", s.Port, strings.Join(names, ", ")), s.Tail()}
}

// raiseOpenFiles lets servers open as many files as the hard limit allows. Go raises its own limit and
// gives its children the old one back, unless the program has set it itself.
var raiseOpenFiles = sync.OnceFunc(func() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return
	}
	limit.Cur = min(limit.Max, openFiles)
	_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) // too few: the server's accept says so
})
