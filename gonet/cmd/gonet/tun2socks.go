package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"interleave/gonet"
	"interleave/gonet/socks"
	"interleave/gonet/tun2socks"
)

// tunFlags are the flags of `gonet tun2socks`, beside those of its device.
type tunFlags struct {
	host                       hostFlags
	server, user               string
	password                   string // the name of a file
	names                      string
	noUDP, answerEcho, verbose bool
	most                       int
}

func tun2socksCommand() *cobra.Command {
	var w tunFlags
	c := &cobra.Command{
		Use:   "tun2socks",
		Short: "a tun whose connections and datagrams go through a SOCKS5 server",
		Args:  cobra.NoArgs,
		Example: `  sudo gonet tun2socks --socks 127.0.0.1:1080 --route 203.0.113.0/24
  curl http://203.0.113.7/                          in another terminal
  sudo gonet tun2socks --socks 127.0.0.1:1080 --netns $PID    all traffic of that network namespace
  sudo gonet tun2socks --socks 127.0.0.1:1080 --netns $PID --names 198.18.0.0/15
                                                    names are resolved by the server`,
		RunE: func(cmd *cobra.Command, _ []string) error { return w.run(cmd) },
	}
	f := c.Flags()
	f.StringVar(&w.server, "socks", "", "the SOCKS5 server, as HOST:PORT")
	f.StringVar(&w.user, "user", "", "the user name for the server")
	f.StringVar(&w.password, "password-file", "",
		"a file whose first line is the password for the server")
	f.StringVar(&w.names, "names", "",
		"answer all DNS queries with addresses of this unused network, as 198.18.0.0/15, and send "+
			"the server the names in their place")
	f.BoolVar(&w.noUDP, "no-udp", false, "refuse datagrams, for a server without UDP ASSOCIATE")
	f.BoolVar(&w.answerEcho, "ping", false, "answer pings to all addresses")
	f.IntVar(&w.most, "most", 4096, "connections at once; further ones wait")
	f.BoolVarP(&w.verbose, "verbose", "v", false, "print each failure to standard error")
	f.StringVar(&w.host.tun, "tun", defaultTap,
		"the tun: created and removed, or used if it exists")
	f.StringVar(&w.host.netns, "netns", "",
		"the network namespace of the tun: the number of a process, or a path; without --route "+
			"all its traffic goes to the tun")
	w.host.commonFlags(f)
	return c
}

// run serves until the user stops it, and then prints what it has done.
func (w *tunFlags) run(cmd *cobra.Command) error {
	cfg, err := w.config()
	if err != nil {
		return err
	}
	if w.verbose {
		cfg.Log = func(format string, args ...any) {
			fmt.Fprintf(cmd.ErrOrStderr(), "gonet: "+format+"\n", args...)
		}
	}
	return w.host.with(cmd.Context(), cmd.ErrOrStderr(), func(h *host) error {
		cfg.Stack = h.Stack
		p, err := tun2socks.New(cfg)
		if err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		h.describe(out)
		fmt.Fprintf(out, "%-9s %s\n", "socks5", w.server)
		var checked sync.WaitGroup
		checked.Go(func() { checkServer(cmd.Context(), cfg.Server, cmd.ErrOrStderr()) })
		defer checked.Wait()
		if err := p.Serve(cmd.Context()); err != nil {
			return err
		}
		s := p.Stats()
		fmt.Fprintf(out, "%-9s %d connections, %d flows of datagrams, %d failures, "+
			"%d bytes to the server, %d from it\n", "served", s.Connections, s.Flows, s.Failed,
			s.Sent, s.Received)
		return h.wait(cmd.Context())
	})
}

// checkTime is for how long the server is waited for at the start. A guess.
const checkTime = 10 * time.Second

// checkServer says at the start if the server does not answer, or lets this program not in. It may
// do so later.
func checkServer(ctx context.Context, d *socks.Dialer, stderr io.Writer) {
	limited, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	if err := d.Check(limited); err != nil && ctx.Err() == nil {
		fmt.Fprintf(stderr, "gonet: %v: connections fail until that is mended\n", err)
	}
}

// config returns the configuration that the flags describe, but for the stack, and completes the
// flags of the device.
func (w *tunFlags) config() (cfg tun2socks.Config, err error) {
	if _, _, err := net.SplitHostPort(w.server); err != nil {
		return cfg, usagef("--socks %s: not a HOST:PORT", w.server)
	}
	if w.most < 1 {
		return cfg, usagef("--most %d: at least 1", w.most)
	}
	server := &socks.Dialer{Server: w.server, User: w.user}
	if server.Password, err = w.readPassword(); err != nil {
		return cfg, err
	}
	cfg = tun2socks.Config{Server: server, NoUDP: w.noUDP, Connections: w.most}
	if w.names != "" {
		if cfg.Names, err = netip.ParsePrefix(w.names); err != nil {
			return cfg, usagef("--names %s: not a network, as 198.18.0.0/15", w.names)
		}
	}
	w.host.configure = func(c *gonet.Config) {
		c.NoAutoconf = true // no router is behind the tun
		c.Promiscuous = []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0),
			netip.PrefixFrom(netip.IPv6Unspecified(), 0)}
		c.Forward = gonet.ForwardConfig{Requests: w.most, Flows: maxFlows,
			AnswerEcho: w.answerEcho}
	}
	if w.host.netns != "" && len(w.host.routes) == 0 {
		return cfg, w.routeAll()
	}
	return cfg, nil
}

// maxFlows bounds the flows of datagrams. Each may have an association of its own with the server,
// which has two sockets and a buffer of 64 KiB.
const maxFlows = 1024

// routeAll has the kernel send everything to the tun, of the families that it has addresses of.
func (w *tunFlags) routeAll() error {
	p, err := w.host.plan()
	if err != nil {
		return err
	}
	for _, all := range []string{"0.0.0.0/0", "::/0"} {
		if _, ok := p.via(netip.MustParsePrefix(all)); ok {
			w.host.routes = append(w.host.routes, all)
		}
	}
	return nil
}

// readPassword returns the first line of --password-file.
func (w *tunFlags) readPassword() (string, error) {
	switch {
	case w.password == "" && w.user == "":
		return "", nil
	case w.password == "" || w.user == "":
		return "", usagef("--user and --password-file belong together")
	}
	b, err := os.ReadFile(w.password)
	if err != nil {
		return "", fmt.Errorf("--password-file: %w", err)
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return string(bytes.TrimSuffix(line, []byte("\r"))), nil
}
