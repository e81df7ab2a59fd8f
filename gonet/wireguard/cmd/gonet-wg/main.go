// Command gonet-wg, which is `gonet wg` too, brings up a WireGuard tunnel from a file of wg-quick,
// without root and without a device of the kernel. Programs reach the tunnel through a SOCKS5
// server, an HTTP proxy and forwarded ports.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"interleave/gonet/internal/version"
	"interleave/gonet/wireguard/gateway"
)

// The exit codes, as of gonet.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() { os.Exit(realMain(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// realMain is main with arguments, streams and exit code as parameters.
func realMain(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM,
		syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C kills the process
	o, err := parseFlags(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "gonet-wg: %v; `gonet-wg --help` says more\n", err)
		return exitUsage
	case o.version:
		fmt.Fprintln(stdout, "gonet-wg version", version.String())
		return 0
	}
	log := &console{w: stderr}
	err = run(ctx, o, stdin, stdout, log)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		log.printf("stopped")
		return exitInterrupted
	}
	log.printf("%v", err)
	return exitFailed
}

// console prints lines for the user.
type console struct {
	mu sync.Mutex
	w  io.Writer
}

func (c *console) printf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		fmt.Fprintf(c.w, "gonet-wg: %s\n", strings.TrimSuffix(line, "\n"))
	}
}

// run brings the tunnel up, and serves until the context ends.
func run(ctx context.Context, o *options, stdin io.Reader, stdout io.Writer, log *console) error {
	config, err := readConfig(o.file, stdin, log)
	if err != nil {
		return err
	}
	login, err := readLogin(o.auth, log)
	if err != nil {
		return err
	}
	if len(o.dns) > 0 {
		config.DNS = o.dns
	}
	if o.check {
		describe(stdout, config)
		return nil
	}
	if len(config.DNS) == 0 {
		log.printf("%s has no DNS: only addresses can be reached, no names; --dns ADDRESS adds a "+
			"server in the tunnel", o.file)
	}
	asked := make(chan os.Signal, 1)
	if len(statusSignals) > 0 {
		signal.Notify(asked, statusSignals...)
		defer signal.Stop(asked)
	}
	t, err := open(ctx, config, log, o.verbose)
	if err != nil {
		return err
	}
	defer t.close()
	services, err := o.services(t.network(), gateway.Options{Login: login, MaxClients: o.clients,
		Log: log.printf, Verbose: o.verboseLog(log)}, log)
	if err != nil {
		return err
	}
	describe(stdout, config)
	for _, s := range services {
		if s.To == "" {
			fmt.Fprintf(stdout, "%-9s %v\n", s.Name, s.Addr)
		} else {
			fmt.Fprintf(stdout, "%-9s %v to %s\n", s.Name, s.Addr, s.To)
		}
	}
	return t.serve(ctx, services, o.status, asked)
}

// services opens all that the flags ask for. If one cannot be opened, the others are closed.
func (o *options) services(tunnel gateway.Network, g gateway.Options, log *console) (
	all []*gateway.Service, err error) {
	kernel := gateway.Kernel()
	add := func(s *gateway.Service, bad error) {
		if bad == nil {
			all = append(all, s)
		}
		err = errors.Join(err, bad)
	}
	if o.socks != "" {
		add(gateway.SOCKS5(kernel, tunnel, o.socks, g))
	}
	if o.http != "" {
		add(gateway.HTTP(kernel, tunnel, o.http, g))
	}
	for _, f := range o.forwards {
		add(f.Open("forward", kernel, tunnel, g))
	}
	for _, f := range o.remotes {
		add(f.Open("remote", tunnel, kernel, g))
	}
	if err != nil {
		for _, s := range all {
			_ = s.Closer() // the error says more
		}
		return nil, err
	}
	for _, s := range all {
		if s.To == "" && !g.Login.Required() && !isLoopback(s.Addr) {
			log.printf("%s at %v is open to all who can reach it: --auth FILE asks for a password",
				s.Name, s.Addr)
		}
	}
	return all, nil
}
