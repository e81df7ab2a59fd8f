package probe

import (
	"cmp"
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
	"interleave/internal/netns"
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
	// openFiles is what a server may open at least: 1,000 connections and more. Not more than that,
	// for some run times lay out a table for as many as they may.
	openFiles = 65_536
)

// StartOptions say how a server is started. The zero value serves where the model's servers do,
// on a free port.
type StartOptions struct {
	Hosts manifest.Hosts // where the server and its clients are; "": as the model says
	// two hosts that the caller has made and will close; nil: made by Hosts, gone with the server
	Net  *netns.Pair
	Port int      // 0: a free one
	Args []string // after those of the manifest
	// the URL of the service behind this one, which {next} stands for; "": there is none
	Next   string
	Group  group.Options // cores; the network namespace follows from Net
	Stdout *os.File      // nil: watched like standard error
	Limit  time.Duration // until it must be ready; 0: 10 s, for a JVM 20
	Grace  time.Duration // from SIGTERM to the end; 0: 2 s

	OpenFiles int // at most, for the server; 0: 65,536 or what the system allows

	// Data is the folder that {data} stands for; nil: a new one where the model asks for it, gone
	// with the server.
	Data *Folder

	env []string // of the process
}

// A Server is a process group that serves.
type Server struct {
	Built   *Built
	Net     *netns.Pair // nil: this host
	Host    string
	Port    int
	Group   *group.Group
	Next    string        // the URL of the service behind it; "": none
	Data    *Folder       // nil: the model asks for none
	StartUp time.Duration // from exec to ready
	Ended   group.Ended   // once it was stopped

	made    *netns.Pair // Net, if it goes with the server
	own     *Folder     // Data, if it goes with the server
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
	if opts.Data != nil || !wantsFolder(built.Model) {
		return startWith(ctx, built, opts)
	}
	own, err := NewFolder(built.Out)
	if err != nil {
		return nil, err
	}
	opts.Data = own
	s, err := startWith(ctx, built, opts)
	if err != nil {
		return nil, errors.Join(err, own.Close())
	}
	s.own = own
	return s, nil
}

// startWith starts a server that has its folder, if it wants one.
func startWith(ctx context.Context, built *Built, opts StartOptions) (*Server, error) {
	raiseOpenFiles()
	if opts.Grace == 0 {
		opts.Grace = Grace
	}
	if opts.Limit == 0 {
		opts.Limit = built.startLimit()
	}
	if opts.Net != nil {
		return startOn(ctx, built, opts)
	}
	made, err := netns.New("cell", cmp.Or(opts.Hosts, built.Model.Hosts, manifest.Local))
	if err != nil {
		return nil, err
	}
	opts.Net = made
	s, err := startOn(ctx, built, opts)
	if err != nil {
		return nil, errors.Join(err, made.Close())
	}
	s.made = made
	return s, nil
}

// startOn starts a server on the hosts of the options: on the port that they name, or on
// one that is free.
func startOn(ctx context.Context, built *Built, opts StartOptions) (*Server, error) {
	opts.Group.NetNS = opts.Net.Path("server")
	if opts.Port != 0 {
		return start(ctx, built, opts)
	}
	for try := 1; ; try++ {
		port, err := freePort(loopback, opts.Net != nil)
		if err != nil {
			return nil, err
		}
		opts.Port = port
		s, err := start(ctx, built, opts)
		var failure *Failure
		taken := errors.As(err, &failure) && (failure.Cause == PortInUse ||
			failure.Cause == PortOwner)
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
	s := &Server{Built: built, Net: opts.Net, Next: opts.Next, Data: opts.Data, Host: loopback,
		Port: opts.Port, grace: opts.Grace, ready: make(chan struct{})}
	if s.Net != nil {
		s.Host = s.Net.Server.String()
	}
	if opts.Group.Pdeathsig == 0 {
		opts.Group.Pdeathsig = syscall.SIGKILL
	}
	var err error
	if s.Group, err = group.New("server", opts.Group); err != nil {
		return nil, err
	}
	begin := time.Now()
	args := append(manifest.Expand(built.Model.Run, s.values()), opts.Args...)
	opts.env = s.environ()
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
		err = s.checkReady(ctx)
	case <-s.Group.Exited():
		err = s.diedEarly()
	case <-limit.C:
		text := fmt.Sprintf("did not say ready on standard error within %v", opts.Limit)
		switch {
		case built.Model.Ready == manifest.ReadyConnect && s.behindTap():
			text = fmt.Sprintf("did not attach to the tap %s within %v", s.Net.Device, opts.Limit)
		case built.Model.Ready == manifest.ReadyConnect:
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

// loopback is where servers are that share this host with their clients.
const loopback = "127.0.0.1"

// values are what the server's command line and environment leave open.
func (s *Server) values() map[string]string {
	v := map[string]string{"out": s.Built.Out, "port": strconv.Itoa(s.Port), "host": s.Host,
		"next": cmp.Or(s.Next, "-")}
	if s.Data != nil {
		v["data"] = s.Data.Path
	}
	if s.Net != nil {
		v["device"], v["address"], v["peer"] = s.Net.Device, s.Net.Address().String(),
			s.Net.Peer().String()
	}
	return v
}

// environ is the server's environment: that of its build, with its placeholders replaced, and for a
// server that may run on several stacks, on which.
func (s *Server) environ() []string {
	env := slices.Clone(s.Built.Env)
	for name, value := range s.Built.Model.Env {
		env = append(env, manifest.Expand([]string{name + "=" + value}, s.values())...)
	}
	if s.Built.Model.Stack == manifest.GoNet && s.Net != nil {
		env = append(env, fmt.Sprintf("GONET_TAP=%s %v %v", s.Net.Device, s.Net.Address(),
			s.Net.Peer()))
	}
	return env
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
	cmd := &exec.Cmd{Path: path, Args: args, Dir: s.Built.Model.Dir, Env: opts.env}
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
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) ||
			errors.Is(err, syscall.ENOEXEC) {
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

// awaitListener is for servers that print nothing: it looks in the kernel's table, in the server's
// own network namespace, or for the server behind the tap, so that no connection disturbs it.
func (s *Server) awaitListener(ctx context.Context) {
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for {
		serves := false
		if s.behindTap() {
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

// diedEarly tells why a server ended that had not been ready.
func (s *Server) diedEarly() error {
	how := s.wait()
	tail := s.Tail()
	var owners []string
	if s.Net == nil {
		owners, _ = PortOwners(s.Port)
	}
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

// Check tells what is wrong with a server that should be serving: nil, or a *Failure because it
// died or floods its output.
func (s *Server) Check() error {
	if !s.Group.Alive() {
		return &Failure{Died, "ended with " + s.wait() + " while it should serve", s.Tail()}
	}
	if written := s.OutputBytes(); written > floodBytes {
		return &Failure{Floods,
			fmt.Sprintf("floods its output: %d bytes where nobody asked it to write", written),
			s.Tail()}
	}
	return nil
}

// CheckOwner looks at the kernel's table: the port must be listened on, and only by this
// server's processes. Otherwise it returns a *Failure: another process would answer part of the
// load. A server behind a tap has no port of the kernel's: it must be behind its tap, where
// nobody else can be then.
func (s *Server) CheckOwner() error {
	pids := s.Group.PIDs()
	switch {
	case len(pids) == 0:
		return s.Check()
	case s.behindTap():
		return s.checkAttached()
	case !s.Built.Model.Holds("{port}"):
		return nil // the kernel itself answers, and whoever listens has no part in it
	}
	foreign, err := listeners(strconv.Itoa(pids[0]), s.Port)
	// a process that dies leaves /proc before its parent is told
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
// another: an error if there is none.
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

// deathTime is a net for the time between the end of a process and the news of it, which is
// milliseconds on an idle machine.
const deathTime = time.Minute

// raiseOpenFiles lets servers open as many files as the hard limit allows. Go raises its own limit
// and gives its children the old one back, unless the program has set it itself.
var raiseOpenFiles = sync.OnceFunc(func() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return
	}
	limit.Cur = min(limit.Max, openFiles)
	_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) // too few: the server's accept says so
})
