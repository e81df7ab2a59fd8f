// Package tun2socks sends what hosts want of any address through a SOCKS5 server: their connections
// by CONNECT, their datagrams by UDP ASSOCIATE. The hosts' packets come in at a stack whose
// Config.Promiscuous has the addresses.
package tun2socks

import (
	"context"
	"errors"
	"net/netip"
	"sync/atomic"
	"time"

	"interleave/gonet"
	"interleave/gonet/relay"
	"interleave/gonet/socks"
)

// Config configures a Proxy. Stack and Server must be given.
type Config struct {
	Stack  *gonet.Stack
	Server *socks.Dialer
	NoUDP  bool // datagrams are answered by an ICMP error
	// Names is a network of IPv4 whose addresses stand for names; invalid: none. The proxy answers
	// all queries of DNS over UDP itself, with one of these addresses for each name, and sends the
	// server the name in its place.
	Names netip.Prefix
	// Connections bounds the connections at once; 0: 4096. SYNs beyond are dropped.
	Connections int
	// Log is called with each failure; nil: no log.
	Log func(format string, args ...any)
}

const (
	defaultConnections = 4096 // a guess; each has two buffers of 32 KiB and a socket of the kernel
	// connectTime is how long the server may take to connect. A guess.
	connectTime = 30 * time.Second
)

// Stats counts what a Proxy has done.
type Stats struct {
	Connections uint64 // that were opened
	Failed      uint64 // connections and associations that the server has refused, or has not made
	Open        int64  // connections that are open
	Flows       uint64 // of datagrams
	// Payload in bytes, to the server and from it.
	Sent, Received uint64
}

// Proxy connects the hosts behind a stack with a SOCKS5 server.
type Proxy struct {
	cfg     Config
	ctx     context.Context // ends with Serve
	slots   chan struct{}
	names   *names // nil without Config.Names
	running running
	sources sources

	connections, failed, flows, sent, received atomic.Uint64
	open                                       atomic.Int64
}

// New makes a proxy.
func New(cfg Config) (*Proxy, error) {
	p := &Proxy{cfg: cfg, sources: sources{all: map[netip.AddrPort]*source{}}}
	if cfg.Names.IsValid() {
		var err error
		if p.names, err = newNames(cfg.Names); err != nil {
			return nil, err
		}
	}
	most := cfg.Connections
	if most <= 0 {
		most = defaultConnections
	}
	p.slots = make(chan struct{}, most)
	return p, nil
}

// Serve forwards until the context or the stack ends, which is no error. It returns when all
// connections and flows have ended. A proxy serves once.
func (p *Proxy) Serve(ctx context.Context) error {
	var cancel context.CancelFunc
	p.ctx, cancel = context.WithCancel(ctx)
	defer p.running.wait()
	defer cancel()
	s := p.cfg.Stack
	if err := errors.Join(s.ForwardTCP(p.connect), s.ForwardUDP(p.flow)); err != nil {
		return err
	}
	select {
	case <-p.ctx.Done():
	case <-s.Done():
	}
	_ = errors.Join(s.ForwardTCP(nil), s.ForwardUDP(nil)) // a stack that has ended forwards nothing
	return nil
}

// Stats returns the counters.
func (p *Proxy) Stats() Stats {
	return Stats{Connections: p.connections.Load(), Failed: p.failed.Load(), Open: p.open.Load(),
		Flows: p.flows.Load(), Sent: p.sent.Load(), Received: p.received.Load()}
}

// fail counts and logs a failure, unless it is the end of Serve.
func (p *Proxy) fail(from, to netip.AddrPort, err error) {
	if p.ctx.Err() == nil {
		p.failed.Add(1)
		p.log("%v to %v: %v", from, to, err)
	}
}

func (p *Proxy) log(format string, args ...any) {
	if p.cfg.Log != nil {
		p.cfg.Log(format, args...)
	}
}

// destination returns what the server is to connect to: a name if the address stands for one.
func (p *Proxy) destination(to netip.AddrPort) (socks.Address, error) {
	if p.names != nil && p.names.network.Contains(to.Addr()) {
		return p.names.address(to)
	}
	return socks.AddressOf(to), nil
}

// connect handles a connection: it is accepted once the server has connected.
func (p *Proxy) connect(r *gonet.TCPRequest) {
	if !p.running.enter() {
		r.Refuse()
		return
	}
	defer p.running.leave()
	select {
	case p.slots <- struct{}{}:
	default:
		p.log("%v to %v: too many connections", r.Source(), r.Destination())
		return // the client sends its SYN again
	}
	defer func() { <-p.slots }()
	to, err := p.destination(r.Destination())
	if err != nil {
		p.fail(r.Source(), r.Destination(), err)
		r.Refuse()
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), connectTime)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	far, err := p.cfg.Server.Connect(ctx, to)
	if err != nil {
		if r.Context().Err() == nil { // else the client has gone
			p.fail(r.Source(), r.Destination(), err)
			refuse(r, err)
		}
		return
	}
	near, err := r.Accept()
	if err != nil {
		relay.Reset(far) // the client has gone
		return
	}
	p.connections.Add(1)
	p.open.Add(1)
	defer p.open.Add(-1)
	err = relay.Join(p.ctx, near, relay.Count(far, &p.received, &p.sent))
	if err != nil && p.ctx.Err() == nil {
		p.log("%v to %v: %v", r.Source(), r.Destination(), err)
	}
}

// refuse tells a client why there is no connection, as far as TCP and ICMP have a word for it.
func refuse(r *gonet.TCPRequest, err error) {
	switch code, answered := errors.AsType[socks.Code](err); {
	case !answered, code == socks.NetworkUnreachable:
		r.Unreachable(gonet.UnreachableNet)
	case code == socks.HostUnreachable, code == socks.TTLExpired:
		r.Unreachable(gonet.UnreachableHost)
	case code == socks.NotAllowed:
		r.Unreachable(gonet.UnreachableProhibited)
	default:
		r.Refuse()
	}
}
