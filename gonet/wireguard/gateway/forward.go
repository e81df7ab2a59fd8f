package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"interleave/gonet/relay"
)

// Forward is a port of one network that leads to an address of the other.
type Forward struct {
	Listen string // "host:port"; the host may be empty
	To     string // "host:port", with an address or a name
	UDP    bool
}

// ParseForward parses LISTEN=TO, with /udp behind it for datagrams. Each side is "host:port", or a
// port for the host of that side: listenHost or toHost. An empty toHost makes the host of TO
// necessary.
func ParseForward(text, listenHost, toHost string) (Forward, error) {
	fail := func(err error) (Forward, error) {
		return Forward{}, fmt.Errorf("%s: %w", text, err)
	}
	ports, kind, _ := strings.Cut(text, "/")
	listen, to, found := strings.Cut(ports, "=")
	if !found || kind != "" && kind != "tcp" && kind != "udp" ||
		kind == "" && strings.Contains(text, "/") {
		return fail(errors.New("expected LISTEN=TO, or LISTEN=TO/udp"))
	}
	f := Forward{UDP: kind == "udp"}
	var err error
	if f.Listen, err = Endpoint(listen, listenHost); err != nil {
		return fail(err)
	}
	if !strings.Contains(to, ":") && toHost == "" {
		return fail(fmt.Errorf("%q: expected HOST:PORT", to))
	}
	if f.To, err = Endpoint(to, toHost); err != nil {
		return fail(err)
	}
	if strings.HasSuffix(f.To, ":0") {
		return fail(fmt.Errorf("%q: port 0 is nobody's", to))
	}
	return f, nil
}

// Endpoint returns "host:port" of a text in that form, or of one that is a port only. The latter
// gets the default host.
func Endpoint(text, host string) (string, error) {
	port := text
	if strings.Contains(text, ":") {
		var err error
		if host, port, err = net.SplitHostPort(text); err != nil {
			return "", fmt.Errorf("%q: expected HOST:PORT, with an IPv6 address in brackets", text)
		}
		if host == "" || strings.ContainsAny(host, " \t/=[]") {
			return "", fmt.Errorf("%q: expected HOST:PORT, such as 127.0.0.1:%s", text, port)
		}
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", fmt.Errorf("%q: the port is not a number from 0 to 65535", text)
	}
	return net.JoinHostPort(host, strconv.FormatUint(n, 10)), nil
}

// String returns what ParseForward parses.
func (f Forward) String() string {
	if f.UDP {
		return f.Listen + "=" + f.To + "/udp"
	}
	return f.Listen + "=" + f.To
}

// Open opens the port on the network from, for clients who are forwarded to the network to.
func (f Forward) Open(name string, from, to Network, o Options) (*Service, error) {
	if f.UDP {
		return f.openUDP(name, from, to, o)
	}
	l, err := from.Listen("tcp", f.Listen)
	if err != nil {
		return nil, err
	}
	limited := o.limit(l)
	serve := func(ctx context.Context) error {
		return relay.Serve(ctx, limited, func(ctx context.Context, c net.Conn) {
			far, err := to.dial(ctx, "tcp", f.To)
			if err != nil {
				relay.Reset(c) // the client must not take it for an empty answer
				if ctx.Err() == nil {
					logTo(o.Log, "%s %v: %v", name, l.Addr(), err)
				}
				return
			}
			logTo(o.Verbose, "%s %v: %v connected to %s", name, l.Addr(), c.RemoteAddr(), f.To)
			if err := relay.Join(ctx, c, far); err != nil && ctx.Err() == nil {
				logTo(o.Verbose, "%s %v: %v: %v", name, l.Addr(), c.RemoteAddr(), err)
			}
		})
	}
	return &Service{Name: name, Addr: l.Addr(), To: f.To, Closer: limited.Close, Serve: serve}, nil
}

func (f Forward) openUDP(name string, from, to Network, o Options) (*Service, error) {
	c, err := from.ListenPacket("udp", f.Listen)
	if err != nil {
		return nil, err
	}
	flows := &relay.Flows{Most: o.MaxClients,
		Dial: func(ctx context.Context) (net.Conn, error) { return to.Dial(ctx, "udp", f.To) },
		Log: func(format string, args ...any) {
			logTo(o.Log, "%s %v/udp: %s", name, c.LocalAddr(), fmt.Sprintf(format, args...))
		}}
	return &Service{Name: name, Addr: c.LocalAddr(), To: f.To + "/udp", Closer: c.Close,
		Serve: func(ctx context.Context) error { return flows.Serve(ctx, c) }}, nil
}
