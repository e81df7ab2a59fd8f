package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"interleave/gonet/link"
	"interleave/internal/manifest"
	"interleave/internal/netns"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/tail"
	"interleave/internal/probe/toolchain"
)

// contract returns the checks that every server of a service must pass besides its transcripts. The
// rest of the contract is checked with every transcript: the server says that it is ready, ends
// within 2 s of SIGTERM with status 0, and leaves no process.
func contract(service *manifest.Service) []Check {
	checks := []Check{
		{Name: "contract: port in use",
			Title: "a port in use is one line on standard error and exit status 1",
			Play:  portInUse},
		{Name: "contract: killed",
			Title: "after kill -9 of the first process nothing serves the port any more",
			Play:  killed},
	}
	if service.Hosts != manifest.Tap {
		return checks
	}
	checks[0].Name, checks[0].Title = "contract: in use",
		"a tap or port in use is one line on standard error and exit status 1"
	checks[1].Title = "after kill -9 of the first process nobody is behind the tap, or serves " +
		"the port, any more"
	return append(checks, Check{Name: "contract: usage",
		Title: "wrong words are one line on standard error and exit status 2", Play: wrongWords})
}

// portInUse starts a server on a port on which this process listens, or on a tap that this process
// is behind.
func portInUse(ctx context.Context, built *toolchain.Built, patience float64) (err error) {
	hosts, port := built.Model.Hosts, 0
	network, err := netns.New("contract", hosts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, network.Close()) }()
	what := "the tap"
	switch {
	case hosts == manifest.Tap:
		tap, err := openTap(network)
		if err != nil {
			return err
		}
		defer func() { _ = tap.Close() }() // nothing was written to it
	case built.Model.Ready == manifest.ReadyConnect:
		// such a server counts as ready when the port is listened on, as it is already
		return nil
	case built.Model.Holds("{port}"):
		listener, err := listenAs(network)
		if err != nil {
			return err
		}
		defer listener.Close()
		port = listener.Addr().(*net.TCPAddr).Port
		what = fmt.Sprintf("port %d", port)
	default:
		return nil // the server uses nothing that could be in use
	}
	options := serve.StartOptions{Port: port, Net: network}.WithPatience(built.Model, patience)
	s, err := serve.Start(ctx, built, options)
	if err == nil {
		s.Kill()
		return fmt.Errorf("it started on %s, which another process has", what)
	}
	var failure *serve.Failure
	if !errors.As(err, &failure) {
		return err
	}
	if failure.Cause != serve.PortInUse && hosts != manifest.Tap {
		return fmt.Errorf("on a port in use: %w", err)
	}
	if !strings.Contains(failure.Text, "exit status 1:") &&
		!strings.Contains(failure.Text, "exit status 1 ") {
		return fmt.Errorf("on %s in use: %s, want exit status 1%s", what, failure.Text,
			tail.Lines(failure.Tail, 20))
	}
	if said := strings.TrimSpace(failure.Tail); said == "" || strings.Contains(said, "\n") {
		return fmt.Errorf("on %s in use: want one line on standard error, got %d%s",
			what, strings.Count(failure.Tail, "\n"), tail.Lines(failure.Tail, 20))
	}
	return nil
}

// openTap puts this process behind the tap.
func openTap(network *netns.Pair) (tap *link.Tap, err error) {
	err = netns.Do(network.Path("server"), func() (err error) {
		tap, err = link.OpenTap(network.Device)
		return err
	})
	return tap, err
}

// listenAs listens on a free port of the server's host.
func listenAs(network *netns.Pair) (listener net.Listener, err error) {
	host := "127.0.0.1"
	if network != nil {
		host = network.Server.String()
	}
	err = netns.Do(network.Path("server"), func() (err error) {
		listener, err = net.Listen("tcp4", net.JoinHostPort(host, "0"))
		return err
	})
	return listener, err
}

// killed kills the first process of a server, with a connection open if the service has
// connections. The server's other processes must notice.
func killed(ctx context.Context, built *toolchain.Built, patience float64) error {
	s, err := serve.Start(ctx, built, serve.StartOptions{}.WithPatience(built.Model, patience))
	if err != nil {
		return err
	}
	defer s.Kill()
	if built.Model.Holds("{port}") {
		client, err := s.Dial(ctx, s.Port, time.Now().Add(s.Grace()))
		if err != nil {
			return err
		}
		defer func() { _ = client.Close() }() // its server is dead
	}
	if err := syscall.Kill(s.Group.PID(), syscall.SIGKILL); err != nil {
		return fmt.Errorf("killing the first process: %w", err)
	}
	_ = s.Group.Wait()
	for until := time.Now().Add(s.Grace()); ; {
		served, err := s.StillServed()
		if err != nil || served == "" {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("%v after kill -9 of its first process %s", s.Grace(), served)
		}
		if err := serve.Sleep(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// ownWords are the placeholders for which each server has words of its own.
var ownWords = []string{"{port}", "{host}", "{device}", "{address}", "{peer}"}

// lookEvery is how often killed looks for what still serves.
const lookEvery = time.Millisecond

// wrongWords starts the program without the words that it should be given.
func wrongWords(ctx context.Context, built *toolchain.Built, patience float64) error {
	told := slices.IndexFunc(built.Model.Run, func(word string) bool {
		return slices.ContainsFunc(ownWords,
			func(hold string) bool { return strings.Contains(word, hold) })
	})
	args := manifest.Expand(built.Model.Run[:max(told, 1)], map[string]string{"out": built.Out})
	path, err := toolchain.LookPath(args[0], built.Model.Dir, built.Env)
	if err != nil {
		return err
	}
	limit := serve.Lengthen(serve.StartLimit(built.Model), patience)
	ctx, cancel := context.WithTimeoutCause(ctx, limit,
		fmt.Errorf("without its words it does not end within %v", limit))
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = built.Model.Dir, built.Env, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = limit // a net for what a busy machine reads late
	err = cmd.Run()
	switch exited := (*exec.ExitError)(nil); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && !errors.As(err, &exited):
		return fmt.Errorf("without its words: %w", err)
	}
	line := strings.TrimSpace(said.String())
	if cmd.ProcessState.ExitCode() != 2 || line == "" || strings.Contains(line, "\n") {
		return fmt.Errorf("without its words: want exit status 2 and one line on standard "+
			"error, got %v%s", cmd.ProcessState, tail.Lines(said.String(), 20))
	}
	return nil
}
