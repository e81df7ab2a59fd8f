package gonet

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/neighbour"
	"interleave/gonet/wire"
)

// neighbours is the neighbour cache of a stack (RFC 4861's Neighbor Cache, and ARP's cache), with
// the lock and the timer that a cache does not have itself.
type neighbours struct {
	self        *neighbour.Entry // to which packets to ourselves go
	peer        *neighbour.Entry // the only other one on an L3 link; nil on others
	unreachable unreachable      // dealer only

	mu    sync.Mutex
	cache neighbour.Cache // guarded by mu, except for Get
	timer *time.Timer
	due   time.Time // for which deadline of the cache the timer runs; zero: it does not
	ended bool
}

// neighbourTick is the least time for which the timer runs. In a flood each of thousands of
// neighbours has a deadline of its own.
const neighbourTick = 5 * time.Millisecond

// neighbourFor returns the neighbour to which packets for dst are sent: dst itself, a router, or
// ourselves. Any goroutine.
func (s *Stack) neighbourFor(dst netip.Addr) (*neighbour.Entry, error) {
	n := s.addresses.current()
	if n.isOurs(dst) {
		return s.neighbours.self, nil
	}
	next, ok := n.nextHop(dst)
	if !ok {
		return nil, errUnreachable
	}
	if s.neighbours.peer != nil {
		return s.neighbours.peer, nil
	}
	if nb := s.neighbours.cache.Get(next); nb != nil {
		return nb, nil
	}
	return s.addNeighbour(next), nil
}

// neighbourOf returns the neighbour to which the packet in an envelope is sent.
func (s *Stack) neighbourOf(e *envelope, dst netip.Addr) (*neighbour.Entry, error) {
	if e.toSelf {
		return s.neighbours.self, nil
	}
	return s.neighbourFor(dst)
}

// addNeighbour adds an address to the cache. Any goroutine.
func (s *Stack) addNeighbour(a netip.Addr) (nb *neighbour.Entry) {
	s.onNeighbours(func(c *neighbour.Cache, _ time.Time) {
		switch {
		case s.addresses.isBroadcast(a):
			nb = c.AddPermanent(a, wire.Broadcast)
		case a.IsMulticast():
			nb = c.AddPermanent(a, wire.MulticastMAC(a))
		default:
			nb = c.Add(a)
		}
	})
	return nb
}

// loopbackAddr is the address of a host to itself.
var loopbackAddr = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// onNeighbours runs f on the neighbour cache, and then does what the cache asks for. Any goroutine.
func (s *Stack) onNeighbours(f func(c *neighbour.Cache, now time.Time)) {
	n, now := &s.neighbours, time.Now()
	n.mu.Lock()
	f(&n.cache, now)
	todo := n.cache.Actions()
	s.setNeighbourTimer(now)
	n.mu.Unlock()
	s.stats.droppedUnresolved.Add(uint64(todo.Dropped))
	for _, q := range todo.Solicit {
		if q.Addr.Is4() {
			s.requestARP(q.Addr, q.To)
		} else {
			s.solicit(q.Addr, q.To)
		}
	}
	for _, d := range todo.Send {
		for _, packet := range d.Packets {
			_ = s.emitBytes(d.Station, etherType(packet), packet) // the dealer sees a failed link
		}
	}
	if len(todo.Unreachable) > 0 { // only Expire finds out, so this is the dealer
		s.noteUnreachable(todo.Unreachable)
	}
}

// setNeighbourTimer sets the timer for the cache's next deadline, unless it goes off early enough
// already. It is never stopped for a deadline that has gone. The caller holds mu.
func (s *Stack) setNeighbourTimer(now time.Time) {
	n := &s.neighbours
	due, ok := n.cache.Deadline()
	if !ok || n.ended || !n.due.IsZero() && !due.Before(n.due) {
		return
	}
	n.due = due
	if wait := max(due.Sub(now), neighbourTick); n.timer == nil {
		n.timer = time.AfterFunc(wait, s.neighbourTimerFired)
	} else {
		n.timer.Reset(wait)
	}
}

// neighbourTimerFired runs in the timer's goroutine. It leaves the work to the dealer, which first
// reads the frames that wait at the link: the answer may be among them.
func (s *Stack) neighbourTimerFired() {
	_ = s.post(s.expireNeighbours) // a stack that has ended has no neighbours
}

// expireNeighbours runs the timers of the neighbour cache. Dealer only.
func (s *Stack) expireNeighbours() {
	s.onNeighbours(func(c *neighbour.Cache, now time.Time) {
		s.neighbours.due = time.Time{}
		c.Expire(now)
	})
}

// end stops the timer. It is not set again.
func (n *neighbours) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended = true
	if n.timer != nil {
		n.timer.Stop()
	}
}

// learnNeighbour records the station of a neighbour that has asked for ours, and is to be answered.
// Dealer only.
func (s *Stack) learnNeighbour(a netip.Addr, mac wire.MAC) {
	if s.neighbours.cache.Get(a) == nil && !s.addresses.current().onLink(a) {
		return
	}
	s.onNeighbours(func(c *neighbour.Cache, now time.Time) { c.Learn(a, mac, now) })
}

// updateNeighbour processes what a message says of a neighbour. Those that nothing is sent to leave
// no trace in the cache. Dealer only.
func (s *Stack) updateNeighbour(a netip.Addr, n neighbour.Advertisement) {
	if s.neighbours.cache.Get(a) == nil {
		return
	}
	s.onNeighbours(func(c *neighbour.Cache, now time.Time) { c.Advertise(a, n, now) })
}

// lookup is send for a neighbour about which the cache must be asked. A super-frame of TCP does not
// wait: it follows earlier segments, so TCP retransmits it. One of UDP waits in pieces, and the
// cache keeps the last ones of them.
//
//go:noinline
func (s *Stack) lookup(to netip.Addr, gso link.GSO, e *envelope) error {
	var mac *wire.MAC
	var answer neighbour.Answer
	s.onNeighbours(func(c *neighbour.Cache, now time.Time) {
		if mac, answer = c.Lookup(to, now); answer != neighbour.Asking {
			return
		}
		switch gso.Kind {
		case link.Plain:
			c.Hold(to, e.whole(gso))
		case link.UDP:
			for _, datagram := range e.pieces(gso) {
				c.Hold(to, datagram)
			}
		}
	})
	switch {
	case answer == neighbour.Found:
		return s.emit(mac, etherType(e.list[1]), gso, e)
	case answer == neighbour.RateLimited:
		return errUnreachableHost
	case gso.Kind != link.Plain && gso.Kind != link.UDP:
		s.stats.droppedUnresolved.Add(1)
	}
	return nil
}

// whole returns a copy of the packet in an envelope, with the checksum that is left to the link.
func (e *envelope) whole(gso link.GSO) []byte {
	frame := slices.Concat(append([][]byte{e.ethernet[:]}, e.packet()...)...)
	link.Complete(gso, frame)
	return frame[wire.EthernetLen:]
}

// pieces returns the datagrams of a super-frame of UDP in an envelope, as packets of their own. The
// link has Ethernet: on others no station is looked up.
func (e *envelope) pieces(gso link.GSO) (packets [][]byte) {
	frame := slices.Concat(append([][]byte{e.ethernet[:]}, e.packet()...)...)
	_ = link.Cut(gso, frame, func(piece []byte) error { // what this stack has made can be cut
		packets = append(packets, piece[wire.EthernetLen:])
		return nil
	})
	return packets
}

// unreachable has the neighbours that have not answered, until connections are told. One walk over
// all connections serves many neighbours: a flood from addresses that do not exist makes thousands
// of them. Dealer only.
type unreachable struct {
	addrs map[netip.Addr]bool // nil: no walk is due
	last  time.Time           // of the last walk
}

// unreachableInterval is the least time between two walks. A walk over 10,000 connections takes
// about a millisecond.
const unreachableInterval = 50 * time.Millisecond

// noteUnreachable has the connections told that neighbours are unreachable. If one of them is a
// router, another is preferred from then on. Dealer only.
func (s *Stack) noteUnreachable(addrs []netip.Addr) {
	u := &s.neighbours.unreachable
	due := u.addrs != nil
	if !due {
		u.addrs = map[netip.Addr]bool{}
	}
	for _, a := range addrs {
		u.addrs[a] = true
	}
	switch wait := unreachableInterval - time.Since(u.last); {
	case due:
	case wait > 0:
		// a stack that has ended fails its connections itself
		time.AfterFunc(wait, func() { _ = s.post(s.reportUnreachable) })
	default:
		s.reportUnreachable()
	}
}

// reportUnreachable is the walk. Dealer only.
func (s *Stack) reportUnreachable() {
	u := &s.neighbours.unreachable
	silent := u.addrs
	u.addrs, u.last = nil, time.Now()
	for a := range silent {
		s.avoidRouter(a)
	}
	for _, c := range s.tcp.conns {
		c.mu.Lock()
		ours := silent[c.neighbour.Addr()]
		if ours {
			c.machine.Unreachable(errUnreachableHost, true)
		}
		c.mu.Unlock()
		if ours {
			s.queueUpdate(c)
		}
	}
}
