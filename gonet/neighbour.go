package gonet

import (
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// neighbour is an address on our link, and the station that has it, once that is known. ARP and
// neighbour discovery find the station. As in the paper, each request has a goroutine of its own,
// which asks, waits for the dealer to hear the answer, and ends.
//
// What is known ages. After a while the next packet has the neighbour asked again, and if it does
// not answer, it is forgotten (RFC 4861 section 7.3, RFC 1122 section 2.3.2.1). Packets that are
// sent meanwhile do not wait.
type neighbour struct {
	addr    netip.Addr
	mac     atomic.Pointer[wire.MAC] // nil: not known
	stale   atomic.Bool              // to be confirmed when it is used next
	dropped atomic.Bool              // out of the cache: a connection looks there again
	used    atomic.Bool              // something was sent by it since the cache looked for room
	fixed   bool                     // ourselves or a group: nobody is asked for it, or believed
	mu      sync.Mutex
	// Guarded by mu: the packets that wait for the answer, whether a request is under way, and the
	// timer after which the neighbour is stale.
	waiting [][]byte
	asking  bool
	failed  time.Time // when the last asking ended without an answer
	aging   *time.Timer
	answer  chan wire.MAC
	quit    chan struct{}
}

// The bounds of the cache and of asking (RFC 1122 section 2.3.2: at most one request a second and
// address; RFC 4861's constants for the number of them and the life of an answer).
const (
	maxNeighbours = 4096
	maxWaiting    = 16 // packets for one address
	askTimes      = 3
	askInterval   = time.Second
	reachableTime = 30 * time.Second
	failedSilence = time.Second // in which a neighbour that did not answer is not asked again
)

// neighbourFor returns the neighbour that packets to dst go to. Any goroutine.
func (s *Stack) neighbourFor(dst netip.Addr) (*neighbour, error) {
	n := s.net.Load()
	if n.isOurs(dst) {
		dst = loopbackAddr
	} else {
		next, ok := n.nextHop(dst)
		if !ok {
			return nil, errUnreachable
		}
		dst = next
	}
	if h, ok := s.neighbours.Load(dst); ok {
		return h.(*neighbour), nil
	}
	nb := &neighbour{addr: dst, answer: make(chan wire.MAC, 1), quit: make(chan struct{})}
	switch {
	case dst == loopbackAddr:
		nb.fix(s.mac)
	case s.isBroadcast(dst):
		nb.fix(wire.Broadcast)
	case dst.IsMulticast():
		nb.fix(wire.MulticastMAC(dst))
	}
	return s.addNeighbour(nb), nil
}

func (nb *neighbour) fix(mac wire.MAC) {
	nb.fixed = true
	nb.mac.Store(&mac)
}

// loopbackAddr stands for all addresses of ours among the neighbours.
var loopbackAddr = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// learn takes the station of a neighbour. One that has just answered is known for a while; what was
// heard otherwise is to be confirmed when it is used. The caller has mu.
func (nb *neighbour) learn(mac wire.MAC, confirmed bool) {
	if old := nb.mac.Load(); old == nil || *old != mac {
		nb.mac.Store(&mac)
		nb.stale.Store(true)
	}
	if !confirmed {
		return
	}
	nb.stale.Store(false)
	if nb.aging == nil {
		nb.aging = time.AfterFunc(reachableTime, func() { nb.stale.Store(true) })
	} else {
		nb.aging.Reset(reachableTime)
	}
}

// advertisement is what a neighbour says of itself, by ARP or by neighbour discovery (RFC 4861
// section 7.2.5).
type advertisement struct {
	mac       wire.MAC
	silent    bool // it does not say where it is: at the station that we know
	override  bool // it is to be believed even if another station is known
	solicited bool // it answers us, so that the way there and back is known to be good
}

// hear takes what a neighbour says of itself. The dealer's.
func (nb *neighbour) hear(n advertisement) {
	nb.mu.Lock()
	defer nb.mu.Unlock()
	old := nb.mac.Load()
	switch {
	case nb.fixed, old == nil && n.silent:
	case old == nil && nb.asking:
		nb.answerWith(n.mac)
	case old == nil:
		nb.learn(n.mac, n.solicited)
	case n.silent, n.mac == *old:
		if n.solicited && nb.asking {
			nb.answerWith(*old)
		} else if n.solicited {
			nb.learn(*old, true)
		}
	case !n.override:
		nb.stale.Store(true)
	case n.solicited && nb.asking:
		nb.answerWith(n.mac)
	default:
		nb.learn(n.mac, n.solicited)
	}
}

// answerWith gives the request its answer. The caller has mu.
func (nb *neighbour) answerWith(mac wire.MAC) {
	select {
	case nb.answer <- mac:
	default: // it has one
	}
}

// stopAsking ends the request.
func (nb *neighbour) stopAsking() {
	nb.mu.Lock()
	defer nb.mu.Unlock()
	if nb.aging != nil {
		nb.aging.Stop()
	}
	select {
	case <-nb.quit:
	default:
		close(nb.quit)
	}
}

// send gives a packet of IP to the station, or has it wait until the station is known.
// Any goroutine.
func (s *Stack) send(nb *neighbour, gso link.GSO, e *envelope) error {
	kind := etherType(e.list[1])
	if mac := nb.mac.Load(); mac != nil {
		if !nb.used.Load() {
			nb.used.Store(true)
		}
		if nb.stale.Load() {
			s.confirm(nb)
		}
		return s.emit(*mac, kind, gso, e)
	}
	return s.hold(nb, kind, gso, e)
}

// hold has a packet wait, and its neighbour asked for.
func (s *Stack) hold(nb *neighbour, kind wire.EtherType, gso link.GSO, e *envelope) error {
	if gso.Kind != link.Plain {
		s.stats.droppedUnresolved.Add(1)
		return nil // only what was sent before has made it large; the connection sends it again
	}
	frame := slices.Concat(append([][]byte{make([]byte, wire.EthernetLen)}, e.packet()...)...)
	link.Complete(gso, frame)
	nb.mu.Lock()
	defer nb.mu.Unlock()
	if nb.mac.Load() != nil { // just now
		return s.emitBytes(*nb.mac.Load(), kind, frame[wire.EthernetLen:])
	}
	if time.Since(nb.failed) < failedSilence {
		return errUnreachableHost
	}
	if len(nb.waiting) >= maxWaiting {
		s.stats.droppedUnresolved.Add(1)
		s.waiting.give(nb.waiting[0])
		// the oldest is the least wanted (RFC 1122 section 2.3.2.2)
		nb.waiting = slices.Delete(nb.waiting, 0, 1)
	}
	if s.waiting.take(frame) {
		nb.waiting = append(nb.waiting, frame)
	} else {
		s.stats.droppedUnresolved.Add(1)
	}
	if !nb.asking {
		nb.asking = true
		go s.ask(nb)
	}
	return nil
}

// emit puts the header of Ethernet before a packet. Any goroutine.
func (s *Stack) emit(dst wire.MAC, kind wire.EtherType, gso link.GSO, e *envelope) error {
	h := wire.Ethernet{Dst: dst, Src: s.mac, Type: kind}
	h.Put(e.ethernet[:])
	e.list[0] = e.ethernet[:]
	if dst == s.mac {
		return s.loop(gso, e.list[:e.n])
	}
	s.stats.sent.Add(1)
	return s.link.Write(gso, e.list[:e.n]...)
}

// emitBytes is emit for what is in one piece, or has a header of its own before it.
func (s *Stack) emitBytes(dst wire.MAC, kind wire.EtherType, first []byte, rest ...[]byte) error {
	e := newEnvelope()
	defer e.free()
	e.pack(first, rest...)
	return s.emit(dst, kind, link.GSO{}, e)
}
