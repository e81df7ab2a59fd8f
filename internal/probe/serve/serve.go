// Package serve starts servers and watches and stops them.
//
// Start gives a Server that is ready: it has a port or a tap of its own, the folder that its model
// asks for, and all its processes are one group. Check and CheckOwner say what is wrong with a
// server that should be serving. Stop ends it with everything that it started. What a server does
// wrong is a *Failure with a Cause and the last words of the server. StartChain starts several
// servers of which each asks the next, and Solve starts a program, which has no port.
package serve

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
	"sync"
	"syscall"
	"time"

	"interleave/internal/group"
	"interleave/internal/manifest"
	"interleave/internal/netns"
	"interleave/internal/probe/tail"
	"interleave/internal/probe/toolchain"
)

const (
	// startLimit is the time from exec to ready. A program in C takes milliseconds; Erlang takes a
	// second on a busy machine.
	startLimit    = 10 * time.Second
	startLimitJVM = 20 * time.Second
	// Grace is the time that the contract gives a server from SIGTERM to its end.
	Grace = 2 * time.Second
	// floodBytes is how much a server may write besides its service. A warning for each client is
	// below it.
	floodBytes = 1 << 20
	// startTries bounds how often a start is tried again because another process has taken the
	// port meanwhile.
	startTries = 4
	// openFiles is how many files a server may open: more than 1,000 connections need. It is not
	// larger because some run times allocate a table with an entry for each file they may open.
	openFiles = 65_536
)

// StartOptions say how Start starts a server. With the zero value the server is where the model's
// servers are and has a free port.
type StartOptions struct {
	Hosts manifest.Hosts // where the server and its clients are; "": as the model says
	// Net are two hosts that the caller has made and closes. If it is nil, Start makes them as
	// Hosts says, and Stop removes them.
	Net    *netns.Pair
	Port   int           // 0: a free one
	Args   []string      // added to those of the manifest
	Next   string        // {next}: the URL of the service behind this one; "": there is none
	Group  group.Options // the cores; the network namespace follows from Net
	Stdout *os.File      // nil: standard output is watched like standard error
	Limit  time.Duration // from exec to ready; 0: 10 s, for a JVM 20 s
	Grace  time.Duration // from SIGTERM to the end; 0: 2 s

	OpenFiles int // how many files the server may open; 0: 65,536 or what the system allows

	// Data is the folder that {data} stands for. If it is nil and the model asks for a folder,
	// Start makes one, and Stop removes it.
	Data *Folder

	env []string // of the process
}

// A Server is a process group that serves.
type Server struct {
	Built   *toolchain.Built
	Net     *netns.Pair // nil: this host
	Host    string
	Port    int
	Group   *group.Group
	Next    string        // the URL of the service behind this one; "": there is none
	Data    *Folder       // nil: the model asks for none
	StartUp time.Duration // from exec to ready
	Ended   group.Ended   // set when the server was stopped

	made    *netns.Pair // Net, if it is removed with the server
	own     *Folder     // Data, if it is removed with the server
	grace   time.Duration
	output  tail.Buffer
	ready   chan struct{} // closed by awaitReady or awaitListener
	reading sync.WaitGroup
	pipes   []*os.File // our ends of the pipes from the server
	stop    sync.Once
	stopped error
}

// Grace is the time that the server has from SIGTERM to its end.
func (s *Server) Grace() time.Duration { return s.grace }

// Start starts a server and waits until it is ready. If the server does something wrong, the error
// is a *Failure, and no process of it is left. The caller must Stop a server that has started.
func Start(ctx context.Context, built *toolchain.Built, opts StartOptions) (*Server, error) {
	if opts.Data != nil || !WantsFolder(built.Model) {
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

// startWith starts a server whose folder has been made, if its model asks for one. It makes the
// hosts unless the caller has.
func startWith(ctx context.Context, built *toolchain.Built, opts StartOptions) (*Server, error) {
	raiseOpenFiles()
	if opts.Grace == 0 {
		opts.Grace = Grace
	}
	if opts.Limit == 0 {
		opts.Limit = StartLimit(built.Model)
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

// startOn starts a server on the hosts of the options, on the port that they name or on a free one.
func startOn(ctx context.Context, built *toolchain.Built, opts StartOptions) (*Server, error) {
	opts.Group.NetNS = opts.Net.Path("server")
	if opts.Port != 0 {
		return start(ctx, built, opts)
	}
	for try := 1; ; try++ {
		port, err := freePort(opts.Net != nil)
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

// StartLimit is the time that a server of the model has from exec to ready.
func StartLimit(m *manifest.Model) time.Duration {
	if m.Language == "java" {
		return startLimitJVM
	}
	return startLimit
}

// start starts a server on a port and waits until it is ready.
func start(ctx context.Context, built *toolchain.Built, opts StartOptions) (*Server, error) {
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
		case built.Model.Ready == manifest.ReadyConnect && s.BehindTap():
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

// loopback is the address of servers that share this host with their clients.
const loopback = "127.0.0.1"

// values are the values of the placeholders in the server's command line and environment.
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

// environ returns the server's environment: that of its build with the placeholders replaced. A
// server that is to run on GoNet is also told its tap and its addresses.
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

// exec starts the server's first process, with its outputs watched.
func (s *Server) exec(args []string, opts StartOptions) error {
	if len(args) == 0 {
		return &Failure{CannotStart, "has no command to run", ""}
	}
	path, err := toolchain.LookPath(args[0], s.Built.Model.Dir, s.Built.Env)
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
		see = func([]byte) {} // the server is ready when it listens, whatever it writes
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

// watch makes a pipe whose bytes a goroutine reads, counts, shows to see, and keeps the last of.
// The goroutine ends when the last process that holds the pipe has ended, or when closePipes closes
// our end.
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
			_, _ = s.output.Write(buffer[:n]) // it never fails
			if err != nil {
				return
			}
		}
	})
	return theirs, nil
}

// raiseOpenFiles lets servers open as many files as openFiles and the hard limit allow. The Go run
// time raises its own limit and gives its children the old one, unless the program has set the
// limit itself.
var raiseOpenFiles = sync.OnceFunc(func() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return
	}
	limit.Cur = min(limit.Max, openFiles)
	_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) // too low: the server's accept fails
})
