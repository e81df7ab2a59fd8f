// Package gateway joins the sockets of this machine with those of a tunnel: a SOCKS5 server, an
// HTTP proxy, and ports that are forwarded in either direction.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"interleave/gonet/relay"
	"interleave/gonet/socks"
)

// Network is one of the two sides: the kernel's sockets, or those of a stack.
type Network struct {
	// Dial connects to "host:port". network is "tcp" or "udp".
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Listen and ListenPacket open sockets at "host:port".
	Listen       func(network, address string) (net.Listener, error)
	ListenPacket func(network, address string) (net.PacketConn, error)
	// Lookup returns the addresses of a name, at least one. network is "ip".
	Lookup func(ctx context.Context, network, name string) ([]netip.Addr, error)
}

// Kernel returns the network of this machine's kernel, with its resolver.
func Kernel() Network {
	var d net.Dialer
	return Network{Dial: d.DialContext, Listen: net.Listen, ListenPacket: net.ListenPacket,
		Lookup: net.DefaultResolver.LookupNetIP}
}

// A Service has a socket that listens already.
type Service struct {
	Name   string // "socks5", "http", "forward" or "remote"
	Addr   net.Addr
	To     string // the destination of a forward; empty for a proxy
	Closer func() error
	// Serve serves clients until the context ends, and closes the socket.
	Serve func(ctx context.Context) error
}

// Options are those of all services.
type Options struct {
	Login      relay.Login // of the proxies' clients
	MaxClients int         // of each service, at once; 0 is 1024
	// Log is called with what has failed, and Verbose with each connection; nil: no log.
	Log, Verbose func(format string, args ...any)
}

const defaultClients = 1024 // a guess

// limit bounds the connections of a service.
func (o Options) limit(l net.Listener) *relay.Limited {
	return relay.Limit(l, cmp.Or(o.MaxClients, defaultClients))
}

// SOCKS5 opens a SOCKS5 server at an address of the network near, for connections and datagrams to
// the network far.
func SOCKS5(near, far Network, address string, o Options) (*Service, error) {
	l, err := near.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s := &socks.Server{Dial: far.Dial, Login: o.Login, MaxClients: o.MaxClients, Log: o.Verbose,
		ListenPacket: func() (net.PacketConn, error) { return far.ListenPacket("udp", ":0") },
		Lookup:       far.lookupFirst}
	return &Service{Name: "socks5", Addr: l.Addr(), Closer: l.Close,
		Serve: func(ctx context.Context) error { return s.Serve(ctx, l) }}, nil
}

// lookupFirst returns the first address of a name.
func (n Network) lookupFirst(ctx context.Context, name string) (netip.Addr, error) {
	all, err := n.Lookup(ctx, "ip", name)
	if err != nil {
		return netip.Addr{}, err
	}
	return all[0].Unmap(), nil
}

// dialTime is how long a connection to the other side may take. A guess, as SOCKS clients wait.
const dialTime = 30 * time.Second

// dial connects to an address of the network within dialTime.
func (n Network) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	return n.Dial(ctx, network, address)
}

// isTimeout tells whether an operation has taken too long.
func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func logTo(log func(format string, args ...any), format string, args ...any) {
	if log != nil {
		log(format, args...)
	}
}
