// Package slirp is a network for guests without privileges on the host: a network namespace behind
// a tap, or a virtual machine. The guest has an Ethernet with a gateway. Its connections, datagrams
// and pings to the outside are made anew by sockets of the host, so no packet of the guest leaves
// it.
//
// The gateway is a stack that takes packets to all addresses. Its forwarders (tcp.go, udp.go,
// ping.go) hand them to the host's sockets. The station below it (station.go) is what a gateway has
// beside a host: DHCP, router advertisements, ICMP errors. Connections from the outside come in by
// port forwards (hostfwd.go), which an API adds and removes (api.go).
//
// A guest is not trusted. It has addresses of the network only, reaches the host's loopback by the
// gateway's address or not at all, and what it can make the host hold is bounded: connections,
// flows, queries, pings, leases.
package slirp

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"interleave/gonet"
	"interleave/gonet/link"
	"interleave/gonet/tcp"
)

// Config configures a Slirp. Link, Network and Host must be given.
type Config struct {
	Link    link.Link // to the guest, with Ethernet
	Network Network
	Host    Host
	// StartTCP begins to connect the host to an address by TCP, in place of Host.DialContext. It
	// must not block. With a server that answers before it returns, as one on the same machine
	// does, the guest has its answer a few switches of goroutines earlier. Nil: the host dials.
	StartTCP func(to netip.AddrPort) (Starting, error)
	// NoHostLoopback keeps the guest from the host's loopback, which is behind the gateway's
	// address otherwise.
	NoHostLoopback bool
	// Resolvers returns the servers of DNS to which queries are forwarded, the first one first. It
	// is called for each query. Nil: there is no DNS forwarder.
	Resolvers func() []netip.AddrPort
	// Hosts returns the addresses of a name that the host knows without a server, nil for all
	// others. The DNS forwarder calls it for each query for addresses, with the name in lower case
	// and without a dot at its end. An address of the loopback is the host's own. Nil: there are
	// none.
	Hosts func(name string) []netip.Addr
	// Connections bounds the connections at once, of both directions; 0: 4096. SYNs beyond are
	// dropped.
	Connections int
	// Flows bounds the flows of datagrams; 0: 1024. A new one ends the one that was idle for the
	// longest time.
	Flows int
	// Log is called with each failure; nil: no log.
	Log func(format string, args ...any)
}

// The bounds on what a guest can make the host hold. All are guesses. A connection has a socket of
// the host, and buffers while bytes are on their way. A flow has a socket and 2 KiB, and another 64
// KiB where the socket is no SegmentConn.
const (
	defaultConnections = 4096
	defaultFlows       = 1024
	maxRequests        = 512 // connections that the host is still dialing
	maxEchoes          = 128
	maxQueries         = 256 // of DNS
	maxNameClients     = 64  // connections with the DNS forwarder
	// maxWaiting bounds the bytes of datagrams that wait in a flow for the host.
	maxWaiting = 512 << 10
)

// connectTime bounds how long the host dials, and how long a guest waits for it. A guess.
const connectTime = 30 * time.Second

// Host is the network to which guests are connected. A Kernel is that of this process.
type Host interface {
	// DialContext connects to an address, not a name. network is "tcp" or "udp".
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	// DialFlow connects a socket of UDP to an address from a port of the host; 0: a free one.
	// Sockets of DialFlow to different addresses may have the same port. A SegmentConn is used as
	// such.
	DialFlow(ctx context.Context, port uint16, address string) (net.Conn, error)
	// Ping sends an echo request, and returns when it was answered. If the host lets nobody ping,
	// the error is ErrNoPing.
	Ping(ctx context.Context, to netip.Addr, seq uint16, data []byte) error
	// Listen and ListenPacket open sockets for port forwards. network ends with "4" or "6".
	Listen(network, address string) (net.Listener, error)
	ListenPacket(network, address string) (net.PacketConn, error)
}

// Starting is a connection of the host that was begun.
type Starting interface {
	// Connected tells whether Wait need not wait for the other end.
	Connected() bool
	// Wait returns the connection when it is established. It must be called once.
	Wait(ctx context.Context) (net.Conn, error)
}

// ErrNoPing is the error of Host.Ping if the host lets nobody ping.
var ErrNoPing = errors.New("the host allows no unprivileged ICMP sockets " +
	"(net.ipv4.ping_group_range)")

// Slirp connects a guest with the host's network.
type Slirp struct {
	cfg     Config
	stack   *gonet.Stack
	station *station
	ctx     context.Context // ends with Serve
	cancel  context.CancelFunc

	connections, flows, echoes, queries slots
	buffers                             buffers
	names                               []func(context.Context) // serve the DNS forwarder
	mappings                            mappings
	forwards                            forwards
	noPing                              sync.Once // the failure of a ping was logged
	counters                            struct {
		connections, flows, echoes, queries, failed atomic.Uint64
		sent, received                              atomic.Uint64
	}
}

// Stats counts what a Slirp has done.
type Stats struct {
	Connections uint64 `json:"connections"` // that the guest has opened
	Flows       uint64 `json:"flows"`       // of datagrams
	Echoes      uint64 `json:"echoes"`      // pings
	Queries     uint64 `json:"queries"`     // of DNS
	Failed      uint64 `json:"failed"`      // of all these
	Spoofed     uint64 `json:"spoofed"`     // packets from addresses that are not the guest's
	Refused     uint64 `json:"refused"`     // packets to where nobody is
	// Payload of connections and flows in bytes, to the host and from it.
	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
}

// New makes a Slirp and its stack, which forwards for the guest from now on. The DNS forwarder
// answers what waits when Serve begins. If the stack cannot be made, the link stays open.
func New(cfg Config) (*Slirp, error) {
	if cfg.Link == nil || cfg.Host == nil || cfg.Link.Features().L3 {
		return nil, errors.New("slirp: a link with Ethernet and a host are needed")
	}
	if cfg.Connections <= 0 {
		cfg.Connections = defaultConnections
	}
	if cfg.Flows <= 0 {
		cfg.Flows = defaultFlows
	}
	s := &Slirp{cfg: cfg, connections: make(slots, cfg.Connections),
		// handlers of flows that have ended may still run
		flows:  make(slots, 2*cfg.Flows),
		echoes: make(slots, maxEchoes), queries: make(slots, maxQueries),
		station: newStation(cfg.Link, cfg.Network, cfg.Resolvers == nil)}
	n := &cfg.Network
	c := gonet.Config{Link: s.station, MAC: s.station.mac, NoIPv6: !n.has6(), NoAutoconf: true,
		NoDAD:        true,
		TCP:          tcp.Config{SendBuffer: maxBuffer, ReceiveBuffer: maxBuffer},
		SocketBuffer: maxWaiting,
		Addresses:    []netip.Prefix{netip.PrefixFrom(n.DNS, n.Prefix.Bits())},
		Promiscuous:  []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0)},
		Spoofing:     []netip.Prefix{netip.PrefixFrom(n.Gateway, n.Gateway.BitLen())},
		Forward: gonet.ForwardConfig{Requests: maxRequests, RequestTime: connectTime,
			Flows: cfg.Flows, Echoes: maxEchoes}}
	if n.has6() {
		c.Addresses = append(c.Addresses, netip.PrefixFrom(n.DNS6, n.Prefix6.Bits()),
			netip.PrefixFrom(n.Router6, n.Prefix6.Bits()))
		c.Promiscuous = append(c.Promiscuous, netip.PrefixFrom(netip.IPv6Unspecified(), 0))
		c.Spoofing = append(c.Spoofing, netip.PrefixFrom(n.Gateway6, n.Gateway6.BitLen()))
	}
	var err error
	if s.stack, err = gonet.New(c); err != nil {
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if s.names, err = s.listenNames(); err == nil {
		err = errors.Join(s.stack.ForwardTCPStart(s.start), s.stack.ForwardUDP(s.flow),
			s.stack.ForwardEcho(s.echo))
	}
	if err != nil {
		s.cancel()
		return nil, errors.Join(err, s.stack.Abort())
	}
	return s, nil
}

// Serve serves until the context ends, which is no error, or the link. It returns when all
// connections, flows and port forwards have ended, and the link is closed. A Slirp serves once.
func (s *Slirp) Serve(ctx context.Context) (err error) {
	var running sync.WaitGroup
	for _, serve := range s.names {
		running.Go(func() { serve(s.ctx) })
	}
	if s.cfg.Network.has6() {
		running.Go(func() { s.station.keepAdvertising(s.ctx) })
	}
	select {
	case <-ctx.Done():
	case <-s.stack.Done():
		err = s.stack.Err()
	}
	s.cancel()
	s.forwards.close()
	_ = s.stack.Abort() // a transfer that is cut off must not look like a whole
	running.Wait()
	for _, all := range []slots{s.connections, s.flows, s.echoes, s.queries} {
		all.close()
	}
	return err
}

// Stats returns the counters.
func (s *Slirp) Stats() Stats {
	c := &s.counters
	return Stats{Connections: c.connections.Load(), Flows: c.flows.Load(), Echoes: c.echoes.Load(),
		Queries: c.queries.Load(), Failed: c.failed.Load(), Spoofed: s.station.spoofed.Load(),
		Refused: s.station.refused.Load(), Sent: c.sent.Load(), Received: c.received.Load()}
}

// fail counts and logs a failure, unless it is the end of Serve.
func (s *Slirp) fail(format string, args ...any) {
	if s.ctx.Err() == nil {
		s.counters.failed.Add(1)
		s.log(format, args...)
	}
}

func (s *Slirp) log(format string, args ...any) {
	if s.cfg.Log != nil {
		s.cfg.Log(format, args...)
	}
}

// outside returns where a destination of the guest is for the host: the gateway is its loopback. It
// returns false for what the guest may not reach.
func (s *Slirp) outside(to netip.Addr) (netip.Addr, bool) {
	switch n := &s.cfg.Network; {
	case n.isGateway(to) && !s.cfg.NoHostLoopback:
		if to.Is4() {
			return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
		}
		return netip.IPv6Loopback(), true
	case n.contains(to): // the station has refused all but the gateway
		return to, false
	}
	return to, isOutside(to)
}

// slots counts the handlers of a kind that run. Its capacity is their bound.
type slots chan struct{}

// enter takes a slot, and returns false if all are taken.
func (s slots) enter() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

// leave gives a slot back.
func (s slots) leave() { <-s }

// close waits until all handlers have left, and lets no other enter.
func (s slots) close() {
	for range cap(s) {
		s <- struct{}{}
	}
}
