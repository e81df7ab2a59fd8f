// Package gonet is a TCP/IP stack that a program carries in itself, in the style of communicating
// sequential processes.
//
//	s, err := gonet.New(gonet.Config{Link: tap, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}})
//	l, err := s.Listen("tcp", ":80")
//	err = http.Serve(l, handler)
//
// One goroutine, the dealer, owns every table: it reads frames from the link in batches and runs
// them through the layers as plain calls. Who wants a table changed sends the dealer a claim over a
// channel. Connections, listeners and sockets are those of package net. design.md says what was
// measured to decide what is a channel and what a call.
package gonet

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"interleave/gonet/ip"
	"interleave/gonet/link"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// Config is what a stack needs to know. Only Link must be given: a router of IPv6 tells the rest
// of that family.
type Config struct {
	Link      link.Link
	MAC       wire.MAC       // zero: one is drawn, locally administered
	Addresses []netip.Prefix // ours, of both families, each with the network that is on the link
	Gateways  []netip.Addr   // where all else goes; the first of each family that answers
	Routes    []ip.Route     // to other networks, through routers on the link
	// Secret is what addresses of IPv6 are made from, beside the network and the MAC: who gives the
	// same again has the same addresses again (RFC 7217). Empty: drawn.
	Secret     []byte
	NoIPv6     bool // none is spoken, and no address of it is made
	NoAutoconf bool // what routers of IPv6 advertise is not heeded
	// addresses of IPv6 are not looked for at others before they count as ours (RFC
	// 4862 section 5.4)
	NoDAD     bool
	TCP       tcp.Config // defaults for connections: MSS, PeerMSS and Clock are set by the stack
	Backlog   int        // connections that wait for Accept at most; 0: 1024
	TimeWaits int        // connections in TIME-WAIT that are kept at most; 0: 65,536
}

// Stack is a host of its own.
type Stack struct {
	cfg    Config
	link   link.Link
	fast   link.Features
	mac    wire.MAC
	start  time.Time
	secret [32]byte // what is drawn of it; the first bytes are seen on the link
	sip    sipKey   // of sequence numbers
	stats  counters

	claims      chan func()
	done        chan struct{} // closed when the dealer has ended
	fail        error         // why it has, set before done is closed
	neighbours  sync.Map      // netip.Addr -> *neighbour
	self        loopback
	cache       neighbourCache // the same neighbours, in the order in which they make room
	unreachable unreachable
	alarms      alarms
	ids         atomic.Uint32 // of packets that are or may be fragmented
	net         atomic.Pointer[network]

	waiting waiting // for neighbours

	paths       sync.Map // netip.Addr -> path
	narrowPaths atomic.Int32
	pingCount   atomic.Uint32
	advertised  chan struct{} // closed when a router of IPv6 has been heard

	// The dealer's own from here on.
	conns     map[flow]*Conn
	listeners map[netip.AddrPort]*Listener
	sockets   map[netip.AddrPort]*PacketConn
	pings     map[pingKey]chan<- time.Time
	parts     map[partKey]*assembler
	touched   []*Conn // have heard something in this batch
	owed      []*Conn // have an acknowledgement that waits for something to go with
	expired   []*Conn // whose alarm has gone off, while they are seen to
	timeWaits timeWaits
	nextPort  uint16
	now       tcp.Time // of this batch
	loan      tcp.Loan // the memory of the frame that is being read, nil if it cannot be kept
	lastError tcp.Time // when the last error of ICMP went out
	place     place
	looping   bool // what is being read has been sent by ourselves
	reporting bool // a report of the groups that we hear is due
	// heardRouter is whether advertised has been closed.
	heardRouter bool
}

// claimsLen is how many claims may wait; who sends one more waits. 64 is a guess: a batch of frames
// takes microseconds.
const claimsLen = 64

// batchLen is how many frames are read at once. The device gives up to 32 in the time that a switch
// of goroutines takes.
const batchLen = 32

// New starts a stack; its goroutine runs until Close or until the link fails.
func New(cfg Config) (*Stack, error) {
	if cfg.Link == nil {
		return nil, errors.New("gonet: a stack needs a link")
	}
	s := &Stack{
		cfg: cfg, link: cfg.Link, fast: cfg.Link.Features(), mac: cfg.MAC,
		start:  time.Now().Add(-time.Hour),
		claims: make(chan func(), claimsLen), done: make(chan struct{}),
		conns: map[flow]*Conn{}, listeners: map[netip.AddrPort]*Listener{},
		sockets: map[netip.AddrPort]*PacketConn{},
		pings:   map[pingKey]chan<- time.Time{}, parts: map[partKey]*assembler{},
		advertised: make(chan struct{}),
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	_, _ = rand.Read(s.secret[:]) // never fails
	s.sip = makeSIPKey([16]byte(s.secret[16:]))
	if s.mac == (wire.MAC{}) {
		copy(s.mac[:], s.secret[:6])
		s.mac[0] = s.mac[0]&^1 | 2 // one station, locally administered
	}
	s.nextPort = firstPort + uint16(s.secret[6])<<5
	if len(s.cfg.Secret) == 0 {
		s.cfg.Secret = s.secret[:]
	}
	s.alarms.tell = s.alarm
	s.useAddresses()
	go s.deal()
	return s, nil
}

// check looks for what cannot be in the configuration.
func (s *Stack) check() error {
	if s.fast.MTU < minMTU {
		return fmt.Errorf("gonet: the link's MTU is %d bytes, IPv4 needs %d (RFC 791)", s.fast.MTU,
			minMTU)
	}
	if s.fast.MTU < wire.IPv6MinMTU {
		s.cfg.NoIPv6 = true
	}
	for _, r := range s.cfg.Routes {
		if !r.Network.IsValid() || r.Via.IsValid() && r.Via.Is4() != r.Network.Addr().Is4() {
			return fmt.Errorf("gonet: route to %v through %v: not a network, or of two families",
				r.Network, r.Via)
		}
	}
	return s.checkNetwork(s.cfg.Addresses, s.cfg.Gateways)
}

// minMTU is the smallest that IPv4 allows, in bytes (RFC 791 section 3.2).
const minMTU = 68

// Close ends the stack, its connections with an error, and the link.
func (s *Stack) Close() error {
	err := s.link.Close()
	<-s.done
	return err
}

// MAC is the address that the stack has on its link.
func (s *Stack) MAC() wire.MAC { return s.mac }

// clock is now for the machines of connections: nanoseconds since an hour before the
// stack was made.
func (s *Stack) clock() tcp.Time { return tcp.Time(time.Since(s.start)) }

// deal is the dealer: the goroutine that owns the tables, from New until the link is closed. Frames
// come in batches, claims between them, and what a batch has made due goes out at its end: but
// acknowledgements that would go alone wait until the next batch, or until those whom the batch has
// woken wait again, for most of them write or close, and so save one of the three packets of a
// request and its answer; and no longer than patience.
func (s *Stack) deal() {
	batch := make([]link.Frame, batchLen)
	var owed []*Conn
	for {
		if len(s.owed) > 0 {
			s.alarms.lookAt(s.now.Add(patience), s.now)
		}
		n, err := s.link.Read(batch)
		if err != nil {
			s.end(err)
			return
		}
		if owed, s.owed = s.owed, owed[:0]; len(owed) > 0 {
			s.alarms.lookAt(0, s.now)
			owed = slices.DeleteFunc(owed, (*Conn).hasPaid)
		}
		s.now = s.clock()
		for i := range batch[:n] {
			s.input(&batch[i])
		}
		s.loan = nil
		s.flush()
		s.serveClaims()
		s.flush()
		for i, c := range owed {
			c.pay(s.now)
			owed[i] = nil
		}
		s.drainLoop()
	}
}

// patience is how long an acknowledgement waits for company while nothing comes from the link, and
// its user does not read: as long as that of the peer's end, which tcp bounds by what Linux waits
// before it probes a tail.
const patience = 2 * time.Millisecond

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

// flush lets each connection that heard something answer, once for the whole batch, and wakes its
// users. One that finds no place in its listener's backlog is touched once more on the way.
func (s *Stack) flush() {
	for i := 0; i < len(s.touched); i++ {
		c := s.touched[i]
		s.touched[i] = nil
		c.update(s.now)
	}
	s.touched = s.touched[:0]
}

// end tells everybody that the link is gone.
func (s *Stack) end(err error) {
	s.alarms.end()
	s.fail = err
	if errors.Is(err, link.ErrClosed) {
		s.fail = errClosed
	}
	close(s.done)
	for _, c := range s.conns {
		c.kill(s.fail)
	}
	for _, l := range s.listeners {
		l.shut(s.fail)
	}
	for _, p := range s.sockets {
		p.shut(s.fail)
	}
	for _, a := range s.parts {
		close(a.pieces)
	}
	if s.place.timer != nil {
		s.place.timer.Stop()
	}
	s.neighbours.Range(func(_, h any) bool {
		h.(*neighbour).stopAsking()
		return true
	})
}

// claim has the dealer run f, and waits until it has. f must not block.
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

// post has the dealer run f some time.
func (s *Stack) post(f func()) error {
	select {
	case s.claims <- f:
		s.link.Interrupt()
		return nil
	case <-s.done:
		return s.fail
	}
}
