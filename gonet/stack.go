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
	"sync"
	"sync/atomic"
	"time"

	"interleave/gonet/address"
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

// Stack is one host: its addresses, sockets and connections.
type Stack struct {
	cfg      Config
	link     link.Link
	features link.Features
	header   int      // features.HeaderLen: what precedes the IP packet in a frame, in bytes
	mac      wire.MAC // zero on an L3 link
	start    time.Time
	secret   [32]byte // random; its first bytes may be seen on the link, as the MAC
	sip      sipKey   // derived from secret: makes sequence numbers and the like
	stats    counters

	claims     chan func()
	done       chan struct{} // closed when the dealer has ended
	fail       error         // why the dealer has ended; set before done is closed
	neighbours neighbours
	self       *neighbour.Entry // the neighbour to which packets to ourselves go
	peer       *neighbour.Entry // the only other one on an L3 link; nil on others
	loopback   loopback
	alarms     alarms
	async      asyncQueue
	draws      atomic.Uint64 // how many random numbers were drawn
	packetIDs  packetIDs
	net        atomic.Pointer[network]
	joined     atomic.Pointer[map[netip.Addr]bool] // the groups that sockets have joined
	forward    *forwarder                          // nil unless Config names foreign addresses

	pathMTUs     sync.Map // netip.Addr -> pathMTU; pathMTUCount is their number
	pathMTUCount atomic.Int32
	pingCount    atomic.Uint32
	advertised   chan struct{} // closed after the first router advertisement

	// From here on: dealer only.
	conns         map[flow]*Conn
	listeners     bindings[*Listener]
	sockets       bindings[*PacketConn]
	groups        groups
	peers         map[peerKey]*PacketConn // the dialed ones
	pings         map[pingKey]chan<- time.Time
	icmpConns     []*ICMPConn
	reassemblies  map[fragmentKey]*reassembler
	toUpdate      []*Conn // connections that flush updates at the end of this batch
	heldACKs      heldACKs
	unarmed       unarmed
	envelope      envelope // of the segments that the dealer sends
	expired       []*Conn  // connections whose alarm is due; used within expire
	timeWaits     timeWaits
	remnants      remnants
	now           tcp.Time // the time of this batch
	loan          tcp.Loan // the buffer of the current frame, nil if it cannot be kept
	lastICMPError tcp.Time // when the last ICMP error was sent
	unreachable   unreachable
	table         *address.Table
	tableTimer    *time.Timer // goes off at the table's deadline
	fromLoopback  bool        // the current frame was sent by this stack itself
	// routerFound tells whether advertised has been closed.
	routerFound bool
}

// claimsLen is how many claims may wait in the channel; a goroutine that sends one more blocks. 64
// is a guess: a batch of frames takes microseconds.
const claimsLen = 64

// batchLen is the largest number of frames in one read. Reading 32 from a tap takes about as long
// as one switch of goroutines.
const batchLen = 32

// New starts a stack. Its goroutine runs until Close, or until the link fails.
func New(cfg Config) (*Stack, error) {
	if cfg.Link == nil {
		return nil, errors.New("gonet: a stack needs a link")
	}
	s := &Stack{
		cfg: cfg, link: cfg.Link, features: cfg.Link.Features(), mac: cfg.MAC,
		header: cfg.Link.Features().HeaderLen(),
		start:  time.Now().Add(-time.Hour),
		claims: make(chan func(), claimsLen), done: make(chan struct{}),
		conns: map[flow]*Conn{}, listeners: bindings[*Listener]{},
		sockets: bindings[*PacketConn]{}, peers: map[peerKey]*PacketConn{},
		pings: map[pingKey]chan<- time.Time{}, reassemblies: map[fragmentKey]*reassembler{},
		advertised: make(chan struct{}), forward: newForwarder(&cfg),
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	_, _ = rand.Read(s.secret[:]) // never fails
	s.cfg.TCP = withKeepAlive(s.cfg.TCP)
	s.sip = makeSIPKey([16]byte(s.secret[16:]))
	if s.features.L3 {
		s.peer = neighbour.NewPermanent(new(wire.MAC))
	} else if s.mac == (wire.MAC{}) {
		copy(s.mac[:], s.secret[:6])
		s.mac[0] = s.mac[0]&^1 | 2 // an individual address, locally administered
	}
	if len(s.cfg.Secret) == 0 {
		s.cfg.Secret = s.secret[:]
	}
	s.self = neighbour.NewPermanent(&s.mac)
	s.alarms.onTimer = s.alarmTimerFired
	s.startGroups()
	s.useAddresses()
	go s.deal()
	_ = s.post(s.runGroups) // a link that has failed already needs no reports
	return s, nil
}

// check returns an error for a configuration that cannot work.
func (s *Stack) check() error {
	if s.features.MTU < minMTU {
		return fmt.Errorf("gonet: the link's MTU is %d bytes, IPv4 needs %d (RFC 791)",
			s.features.MTU, minMTU)
	}
	if s.features.MTU < wire.IPv6MinMTU {
		s.cfg.NoIPv6 = true
	}
	if s.features.L3 {
		s.cfg.NoDAD = true
		if s.mac != (wire.MAC{}) {
			return fmt.Errorf("gonet: MAC %v: the link has no Ethernet", s.mac)
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
func (s *Stack) MAC() wire.MAC { return s.mac }

// clock returns the current time for the machines of connections: nanoseconds since an hour before
// the stack was made.
func (s *Stack) clock() tcp.Time { return tcp.Time(time.Since(s.start)) }

// deal is the dealer: the goroutine that owns the tables, from New until the link is closed. It
// reads a batch of frames, runs the claims that have arrived, and then sends what the batch has
// made due.
func (s *Stack) deal() {
	batch := make([]link.Frame, batchLen)
	for {
		s.limitHeldACKs()
		n, err := s.link.Read(batch)
		if err != nil {
			s.end(err)
			return
		}
		s.ageHeldACKs()
		s.now = s.clock()
		s.inputFrames(batch[:n])
		s.loan = nil
		s.flush()
		s.serveClaims()
		s.flush()
		s.sendHeldACKs()
		s.runLoopback()
	}
}

func (s *Stack) serveClaims() {
	for {
		select {
		case claim := <-s.claims:
			claim()
		default:
			return
		}
	}
}

// flush updates each connection that was queued since the last flush, and wakes or calls its users.
// Those that user goroutines and callbacks have queued meanwhile are updated, too, but only once: a
// callback that always queues another connection must not keep the dealer from the link.
func (s *Stack) flush() {
	s.updateAll()
	if s.async.waits.Load() {
		s.takeAsync()
		s.updateAll()
	}
}

// updateAll updates the connections of toUpdate. An update may queue a connection again: one that
// finds its listener's accept queue full is reset.
func (s *Stack) updateAll() {
	for i := 0; i < len(s.toUpdate); i++ {
		c := s.toUpdate[i]
		s.toUpdate[i] = nil
		c.update(s.now)
	}
	s.toUpdate = s.toUpdate[:0]
}

// end ends all connections, listeners, sockets and goroutines after the link has failed or was
// closed.
func (s *Stack) end(err error) {
	s.alarms.end()
	s.fail = err
	if errors.Is(err, link.ErrClosed) {
		s.fail = errClosed
	}
	close(s.done)
	for _, c := range s.conns {
		c.endWithStack(s.fail)
	}
	s.listeners.each(func(_ netip.AddrPort, l *Listener) { l.closeWith(s.fail) })
	s.sockets.each(func(_ netip.AddrPort, p *PacketConn) { p.closeWith(s.fail) })
	for _, p := range s.peers {
		p.closeWith(s.fail)
	}
	for p := range s.groups.sockets {
		p.closeWith(s.fail)
	}
	for _, c := range s.icmpConns {
		c.closeWith(s.fail)
	}
	for _, a := range s.reassemblies {
		close(a.fragments)
	}
	s.endAsync()
	s.endForwarding()
	if s.tableTimer != nil {
		s.tableTimer.Stop()
	}
	if s.groups.timer != nil {
		s.groups.timer.Stop()
	}
	s.neighbours.end()
}

// claim has the dealer run f, and returns when it has run. f must not block.
func (s *Stack) claim(f func()) error {
	ran := make(chan struct{})
	if err := s.post(func() { f(); close(ran) }); err != nil {
		return err
	}
	select {
	case <-ran:
		return nil
	case <-s.done:
		return s.fail
	}
}

// post has the dealer run f, and does not wait for it.
func (s *Stack) post(f func()) error {
	select {
	case s.claims <- f:
		s.link.Interrupt()
		return nil
	case <-s.done:
		return s.fail
	}
}
