package gonet

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"interleave/gonet/internal/demux"
	"interleave/gonet/wire"
)

// ForwardConfig bounds what the forwarders hold: ForwardTCP, ForwardUDP and ForwardEcho. Each bound
// is on goroutines of the program, too: a handler counts until it has returned or has decided.
type ForwardConfig struct {
	// Requests bounds the connections that wait for a decision of the program, or for the end of
	// their handshake. Further SYNs are dropped, and sent again by their clients; 0: 1024.
	Requests int
	// RequestTime is how long a client waits for a decision, and then how long a handshake may
	// last; 0: 75 s, as long as BSD's TCP tries to connect.
	RequestTime time.Duration
	// Flows bounds the flows of UDP. A new one ends the one that was idle for the longest time; 0:
	// 4096.
	Flows int
	// FlowIdle is after how long without a datagram in either direction a flow ends; 0: 2 min, the
	// least of RFC 4787 section 4.3.
	FlowIdle time.Duration
	Echoes   int // bound on echo requests that wait for their handler; 0: 256
	// AnswerEcho has the stack answer echo requests to foreign addresses itself, unless ForwardEcho
	// was called.
	AnswerEcho bool
}

// The defaults of ForwardConfig. The numbers are guesses.
const (
	defaultRequests    = 1024
	defaultRequestTime = 75 * time.Second
	defaultFlows       = 4096
	defaultFlowIdle    = 2 * time.Minute
	defaultEchoes      = 256
)

// forwarder takes packets to foreign addresses: those in Config.Promiscuous that are not the
// stack's own. A stack without such addresses has none: its methods that take a nil receiver say
// so.
type forwarder struct {
	promiscuous, spoofing []netip.Prefix
	limits                ForwardConfig // with the defaults filled in

	pending      atomic.Int32 // requests of TCP that count against the bound
	flowHandlers atomic.Int32 // handlers of flows that run
	echoHandlers atomic.Int32
	flows        flows
	configs      sharedConfigs

	// From here on: dealer only. A handler is nil if none was set.
	startTCP   func(*TCPRequest) (handle func())
	handleUDP  func(*UDPFlow)
	handleEcho func(*EchoRequest)
	requests   map[demux.Flow]*TCPRequest // those that wait for a decision
}

// newForwarder returns the forwarder for a configuration, or nil if the stack needs none.
func newForwarder(cfg *Config) *forwarder {
	if len(cfg.Promiscuous)+len(cfg.Spoofing) == 0 {
		return nil
	}
	l := cfg.Forward
	for _, n := range []struct {
		value     *int
		otherwise int
	}{{&l.Requests, defaultRequests}, {&l.Flows, defaultFlows}, {&l.Echoes, defaultEchoes}} {
		if *n.value <= 0 {
			*n.value = n.otherwise
		}
	}
	if l.RequestTime <= 0 {
		l.RequestTime = defaultRequestTime
	}
	if l.FlowIdle <= 0 {
		l.FlowIdle = defaultFlowIdle
	}
	return &forwarder{promiscuous: slices.Clone(cfg.Promiscuous),
		spoofing: slices.Clone(cfg.Spoofing), limits: l, requests: map[demux.Flow]*TCPRequest{}}
}

// checkForeign returns an error for networks of Promiscuous or Spoofing that are none.
func checkForeign(networks ...[]netip.Prefix) error {
	for _, p := range slices.Concat(networks...) {
		if !p.IsValid() || p.Addr().Is4In6() {
			return fmt.Errorf("gonet: foreign addresses %v: not a network", p)
		}
	}
	return nil
}

// takes tells whether the stack takes packets to an address that is not its own.
func (f *forwarder) takes(dst netip.Addr) bool {
	return f != nil && isForwardable(dst) && containsAddr(f.promiscuous, dst)
}

// takesFrom tells whether the stack takes a packet to a foreign address from another host.
func (f *forwarder) takesFrom(src, dst netip.Addr) bool {
	return f.takes(dst) && isForwardable(src)
}

// spoofs tells whether sockets may send from an address that is not the stack's own.
func (f *forwarder) spoofs(src netip.Addr) bool {
	return f != nil && isForwardable(src) && containsAddr(f.spoofing, src)
}

func containsAddr(networks []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(a) })
}

// isForwardable tells whether an address can be that of a host behind a router: it is neither a
// group, a broadcast, a loopback nor a link-local address, nor of "this network" or a reserved one
// (RFC 1812 section 5.3.7, RFC 3927 section 7, RFC 4291 section 2.5).
func isForwardable(a netip.Addr) bool {
	if a.Is4() {
		if first := a.As4()[0]; first == 0 || first >= 240 {
			return false
		}
	}
	return a.IsGlobalUnicast() && !a.Is4In6()
}

// maySendFrom tells whether a socket may send from an address: one of the stack, or one that it may
// spoof.
func (s *Stack) maySendFrom(a netip.Addr) bool {
	return s.addresses.isOurs(a) || s.forward.spoofs(a)
}

// hasSentFrom tells whether the stack may have sent a packet from an address that an ICMP error
// quotes.
func (s *Stack) hasSentFrom(a netip.Addr) bool { return s.maySendFrom(a) || s.forward.takes(a) }

// setForwarder has the dealer store a handler.
func (s *Stack) setForwarder(set func(f *forwarder)) error {
	if s.forward == nil || len(s.forward.promiscuous) == 0 {
		return errors.New("gonet: a forwarder needs networks in Config.Promiscuous")
	}
	return s.claim(func() { set(s.forward) })
}

// stopForwarding ends the forwarders of a stack that is being closed: clients that wait for a
// decision are refused. Dealer only.
func (s *Stack) stopForwarding() {
	f := s.forward
	if f == nil {
		return
	}
	f.startTCP, f.handleUDP, f.handleEcho = nil, nil, nil
	for _, r := range f.requests {
		s.sendReset(&r.quote, &r.syn, 0)
		s.abandonRequest(r, errClosed)
	}
}

// endForwarding tells the handlers that the stack has ended. Dealer only.
func (s *Stack) endForwarding() {
	if f := s.forward; f != nil {
		for _, r := range f.requests {
			s.abandonRequest(r, s.dealer.fail)
		}
		f.flows.end()
	}
}

// Unreachable is why a destination cannot be reached, as an ICMP error says it.
type Unreachable uint8

// The reasons.
const (
	UnreachableNet        Unreachable = iota // there is no route
	UnreachableHost                          // the host does not answer
	UnreachablePort                          // the port is closed
	UnreachableProhibited                    // a rule forbids it
)

// code returns the code of the ICMP error.
func (u Unreachable) code(is4 bool) uint8 {
	switch {
	case u == UnreachablePort && is4:
		return wire.UnreachablePort
	case u == UnreachablePort:
		return wire.UnreachableV6Port
	case u == UnreachableHost && is4:
		return wire.UnreachableHost
	case u == UnreachableHost:
		return wire.UnreachableV6Address
	case u == UnreachableProhibited && is4:
		return wire.UnreachableAdministrative
	case u == UnreachableProhibited:
		return wire.UnreachableV6Prohibited
	case is4:
		return wire.UnreachableNet
	}
	return wire.UnreachableV6NoRoute
}

// sendUnreachable answers a packet with an ICMP destination unreachable. A closed port is reported
// from the destination, all else from an address of ours, as by a router. Dealer only.
func (s *Stack) sendUnreachable(p *packet, why Unreachable) {
	c := icmpErrorMessage{kind: wire.ICMPUnreachable, code: why.code(p.src.Is4()),
		asRouter: why != UnreachablePort}
	if p.src.Is6() {
		c.kind = wire.ICMPv6Unreachable
	}
	s.sendICMPError(p, c)
}
