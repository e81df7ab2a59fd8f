// Package gonet is a TCP/IP stack that a program carries in itself, in the style of communicating
// sequential processes.
//
//	s, err := gonet.New(gonet.Config{Link: tap, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}})
//	l, err := s.Listen("tcp", ":80")
//	err = http.Serve(l, handler)
//
// One goroutine, the dealer, owns every table. It reads frames from the link in batches and runs
// them through the layers as plain calls. Another goroutine that wants a table changed sends the
// dealer a claim over a channel. Connections, listeners and sockets satisfy the interfaces of
// package net. For TCP there are callbacks, too: AsyncHandler. design.md says which boundaries are
// channels, which are calls, and what was measured to decide it.
package gonet

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"interleave/gonet/internal/demux"
	"interleave/gonet/internal/pathmtu"
	"interleave/gonet/internal/random"
	"interleave/gonet/ip"
	"interleave/gonet/link"
	"interleave/gonet/neighbour"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// Config configures a stack. Only Link must be given: the stack learns its IPv6 addresses and
// gateways from router advertisements.
type Config struct {
	// Link may have Ethernet or not (link.Features.L3). Without it there are no MACs, and neither
	// ARP, neighbour discovery nor duplicate address detection: all packets go to the one peer.
	Link      link.Link
	MAC       wire.MAC       // zero: a random, locally administered address
	Addresses []netip.Prefix // the stack's own, of both families, each with its on-link network
	Gateways  []netip.Addr   // default routers; of each family the first one that answers is used
	Routes    []ip.Route     // static routes through routers on the link
	// Secret is the key from which the interface identifiers of IPv6 addresses are made, together
	// with the prefix and the MAC (RFC 7217). A stack that is given the same secret again gets the
	// same addresses again. Empty: random.
	Secret     []byte
	NoIPv6     bool // IPv6 is off
	NoAutoconf bool // router advertisements are ignored
	// NoDAD skips duplicate address detection (RFC 4862 section 5.4).
	NoDAD bool
	// TCP has the defaults for connections; the stack sets MSS, PeerMSS and Clock. A KeepAlive of 0
	// means 15 s, as in package net, and a negative one switches it off.
	TCP tcp.Config
	// SocketBuffer bounds the datagrams that wait in a UDP socket, in bytes; 0: 256 datagrams.
	SocketBuffer int
	Backlog      int // bound on connections that wait for Accept; 0: 1024
	// Promiscuous lists the networks whose addresses the stack takes packets for, beside its own.
	// They go to a socket that is bound to exactly such an address, and else to the forwarders:
	// ForwardTCP, ForwardUDP, ForwardEcho. Groups, broadcast, loopback and link-local addresses are
	// never taken.
	Promiscuous []netip.Prefix
	// Spoofing lists the networks whose addresses sockets may send from, beside the stack's own.
	Spoofing  []netip.Prefix
	Forward   ForwardConfig
	TimeWaits int // bound on connections in TIME-WAIT; 0: 65,536
}

// Stack is one host, composed of the parts below. Each says who may use it.
type Stack struct {
	cfg    Config
	start  time.Time // of the clock
	stats  counters
	random random.Source // ports, sequence numbers and the like, which nobody outside can predict
	dealer dealer        // the goroutine that owns the tables

	link       netif         // the network interface
	loopback   loopback      // the packets to the stack itself
	addresses  addresses     // our addresses and routes, and how IPv6 configures them
	neighbours neighbours    // the neighbour cache: ARP's and neighbour discovery's
	paths      pathmtu.Table // the path MTUs of IPv6
	// reassemblies has the datagrams whose fragments are being put together. Dealer only.
	reassemblies map[fragmentKey]*reassembler
	groups       groups // the multicast groups: IGMP and MLD

	icmp    icmpLayer
	udp     udpLayer
	tcp     tcpLayer
	forward *forwarder // for foreign addresses; nil unless Config names some
}

// netif is the network interface: the link, and what the stack knows of it.
type netif struct {
	link.Link
	features link.Features
	header   int      // features.HeaderLen: what precedes the IP packet in a frame, in bytes
	mac      wire.MAC // zero on an L3 link
}

// New starts a stack. Its goroutine runs until Close, or until the link fails.
func New(cfg Config) (*Stack, error) {
	if cfg.Link == nil {
		return nil, errors.New("gonet: a stack needs a link")
	}
	s := &Stack{
		cfg: cfg, start: time.Now().Add(-time.Hour),
		link: netif{Link: cfg.Link, features: cfg.Link.Features(), mac: cfg.MAC,
			header: cfg.Link.Features().HeaderLen()},
		dealer:       dealer{claims: make(chan func(), claimsLen), done: make(chan struct{})},
		addresses:    addresses{advertised: make(chan struct{})},
		reassemblies: map[fragmentKey]*reassembler{},
		icmp:         icmpLayer{pings: map[pingKey]chan<- time.Time{}},
		udp: udpLayer{sockets: demux.Table[*PacketConn]{},
			peers: map[peerKey]*PacketConn{}},
		tcp: tcpLayer{conns: map[demux.Flow]*Conn{},
			listeners: demux.Table[*Listener]{}},
		forward: newForwarder(&cfg),
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	s.cfg.TCP = withKeepAlive(s.cfg.TCP)
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)               // never fails
	s.random.SetKey([16]byte(secret[16:])) // the first bytes may be seen on the link, as the MAC
	if s.link.features.L3 {
		s.neighbours.peer = neighbour.NewPermanent(new(wire.MAC))
	} else if s.link.mac == (wire.MAC{}) {
		copy(s.link.mac[:], secret)
		s.link.mac[0] = s.link.mac[0]&^1 | 2 // an individual address, locally administered
	}
	if len(s.cfg.Secret) == 0 {
		s.cfg.Secret = secret
	}
	s.neighbours.self = neighbour.NewPermanent(&s.link.mac)
	s.tcp.alarms.onTimer = s.alarmTimerFired
	s.startGroups()
	s.useAddresses()
	go s.deal()
	_ = s.post(s.runGroups) // a link that has failed already needs no reports
	return s, nil
}

// check returns an error for a configuration that cannot work.
func (s *Stack) check() error {
	if s.link.features.MTU < minMTU {
		return fmt.Errorf("gonet: the link's MTU is %d bytes, IPv4 needs %d (RFC 791)",
			s.link.features.MTU, minMTU)
	}
	if s.link.features.MTU < wire.IPv6MinMTU {
		s.cfg.NoIPv6 = true
	}
	if s.link.features.L3 {
		s.cfg.NoDAD = true
		if s.link.mac != (wire.MAC{}) {
			return fmt.Errorf("gonet: MAC %v: the link has no Ethernet", s.link.mac)
		}
	}
	for _, r := range s.cfg.Routes {
		if !r.Network.IsValid() || r.Via.IsValid() && r.Via.Is4() != r.Network.Addr().Is4() {
			return fmt.Errorf("gonet: route to %v through %v: not a network, or two families",
				r.Network, r.Via)
		}
	}
	if err := checkForeign(s.cfg.Promiscuous, s.cfg.Spoofing); err != nil {
		return err
	}
	return s.checkNetwork(s.cfg.Addresses, s.cfg.Gateways)
}

// minMTU is the smallest MTU that IPv4 allows, in bytes (RFC 791 section 3.2).
const minMTU = 68

// MAC returns the hardware address that the stack has on its link; zero on a link without Ethernet.
func (s *Stack) MAC() wire.MAC { return s.link.mac }

// clock returns the current time for the machines of connections: nanoseconds since an hour before
// the stack was made.
func (s *Stack) clock() tcp.Time { return tcp.Time(time.Since(s.start)) }
