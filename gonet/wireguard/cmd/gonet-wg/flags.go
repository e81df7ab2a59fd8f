package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"interleave/gonet/wireguard/gateway"
)

const usage = `gonet-wg brings up a WireGuard tunnel from a file of wg-quick: without root, and without a
device or route of this machine. Only what is sent through its proxies and forwarded ports goes into
the tunnel.

Usage: gonet-wg CONF [flags]            gonet wg CONF [flags]

  gonet wg wg0.conf                              a SOCKS5 server at 127.0.0.1:1080
  gonet wg wg0.conf --http 8118                  an HTTP proxy
  gonet wg wg0.conf --forward 8080=10.0.0.1:80   10.0.0.1:80 of the tunnel at 127.0.0.1:8080
  gonet wg wg0.conf --remote 80=8080             127.0.0.1:8080 at port 80 in the tunnel
  gonet wg wg0.conf --check                      read the file only

CONF is the file; - is standard input. LISTEN and TO are HOST:PORT, or a PORT for 127.0.0.1 (in the
tunnel: for all addresses of this host). Port 0 listens at any free port, which is printed.

  --socks5 LISTEN       a SOCKS5 server: CONNECT, and UDP ASSOCIATE. Default, if nothing else is
                        asked for: 127.0.0.1:1080
  --http LISTEN         an HTTP proxy: CONNECT, and requests with a URL of http
  --forward LISTEN=TO   a port of this machine that leads into the tunnel; /udp behind it: datagrams
  --remote LISTEN=TO    a port of this host in the tunnel that leads to this machine; likewise /udp
  --auth FILE           a file with USER:PASSWORD, which clients of the proxies must give
  --dns ADDRESS         a DNS server in the tunnel, in place of those of CONF
  --clients N           clients of each service at once; further ones wait (default 1024)
  --status INTERVAL     print handshake and bytes of each peer to standard error, such as each 60s;
                        SIGUSR1 prints them, too
  --check               check CONF, print what it says without keys, and end
  -v, --verbose         print each connection, and what WireGuard does, to standard error
  --version             print the version

--forward, --remote and --dns may be given several times. Names are looked up by DNS servers in the
tunnel; the name of a peer's Endpoint, and names behind --remote, by this machine.

Exit status: 0 done (also after Ctrl-C or SIGTERM), 1 failed, 2 wrong usage, 130 stopped by Ctrl-C
before it was up.
`

// defaultSOCKS is where the SOCKS5 server listens if no service is asked for.
const defaultSOCKS = "127.0.0.1:1080"

// options are the words of the command line.
type options struct {
	file              string
	socks, http, auth string
	forwards, remotes []gateway.Forward
	dns               []netip.Addr
	clients           int
	status            time.Duration // 0: only on SIGUSR1
	check             bool
	verbose, version  bool
}

// parseFlags parses the command line. Flags and CONF may stand in any order.
func parseFlags(args []string) (*options, error) {
	const loopback = "127.0.0.1"
	o := &options{clients: 1024}
	f := flag.NewFlagSet("gonet-wg", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	listen := func(to *string) func(string) error {
		return func(text string) (err error) {
			*to, err = gateway.Endpoint(text, loopback)
			return err
		}
	}
	f.Func("socks5", "", listen(&o.socks))
	f.Func("http", "", listen(&o.http))
	f.Func("forward", "", func(text string) error {
		x, err := gateway.ParseForward(text, loopback, "")
		o.forwards = append(o.forwards, x)
		return err
	})
	f.Func("remote", "", func(text string) error {
		x, err := gateway.ParseForward(text, "", loopback)
		o.remotes = append(o.remotes, x)
		return err
	})
	f.Func("dns", "", func(text string) error {
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" {
			return errors.New("not an address")
		}
		o.dns = append(o.dns, a.Unmap())
		return nil
	})
	f.StringVar(&o.auth, "auth", "", "")
	f.IntVar(&o.clients, "clients", o.clients, "")
	f.Func("status", "", func(text string) (err error) {
		o.status, err = time.ParseDuration(text)
		return err
	})
	f.BoolVar(&o.check, "check", false, "")
	f.BoolVar(&o.verbose, "verbose", false, "")
	f.BoolVar(&o.verbose, "v", false, "")
	f.BoolVar(&o.version, "version", false, "")
	var words []string
	for {
		if err := f.Parse(args); err != nil {
			return nil, err
		}
		if f.NArg() == 0 {
			break
		}
		words = append(words, f.Arg(0))
		args = f.Args()[1:]
	}
	switch {
	case o.version:
		return o, nil
	case len(words) != 1:
		return nil, fmt.Errorf("expected one CONF, a file of wg-quick; got %q", words)
	case o.clients < 1 || o.clients > maxClients:
		return nil, fmt.Errorf("--clients %d: expected 1 to %d", o.clients, maxClients)
	case o.status < 0 || o.status > 0 && o.status < time.Second:
		return nil, fmt.Errorf("--status %v: expected 1s or more", o.status)
	}
	o.file = words[0]
	if o.socks == "" && o.http == "" && len(o.forwards)+len(o.remotes) == 0 {
		o.socks = defaultSOCKS
	}
	return o, nil
}

// maxClients bounds --clients. A guess: each has a descriptor, and buffers of 64 KiB.
const maxClients = 65536

// verboseLog is the log of connections, or nil.
func (o *options) verboseLog(log *console) func(format string, args ...any) {
	if !o.verbose {
		return nil
	}
	return log.printf
}

// isLoopback tells whether only this machine reaches an address.
func isLoopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}
