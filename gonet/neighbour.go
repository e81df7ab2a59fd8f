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

// neighbour is an address on our link, and the MAC of its station once that is known. ARP or
// neighbour discovery finds the station. As in the paper, each address resolution has a goroutine
// of its own, which sends requests, waits until the dealer passes it an answer, and ends.
//
// A known MAC becomes stale after a while. The next packet then starts a request to confirm it, and
// a neighbour that does not answer is forgotten (RFC 4861 section 7.3, RFC 1122 section 2.3.2.1).
// Packets that are sent meanwhile do not wait.
type neighbour struct {
	addr    netip.Addr
	mac     atomic.Pointer[wire.MAC] // nil: unknown
	stale   atomic.Bool              // the next packet starts a request to confirm the MAC
	dropped atomic.Bool              // evicted: a connection must look in the cache again
	used    atomic.Bool              // a packet was sent to it since the clock's hand passed
	fixed   bool                     // ourselves, or a group: never resolved or updated
	mu      sync.Mutex
	// Guarded by mu: the frames that wait for the MAC, whether a resolution is under way, and the
	// timer after which the MAC is stale.
	waiting   [][]byte
	resolving bool
	failed    time.Time // when the last resolution failed
	aging     *time.Timer
	answer    chan wire.MAC
	quit      chan struct{}
}

// The bounds of the cache and of address resolution. RFC 1122 section 2.3.2.1 allows at most one
// request a second for each address. The number of requests and the time for which an answer counts
// are those of RFC 4861 section 10.
const (
	maxNeighbours        = 4096
	maxWaiting           = 16 // packets that wait for one address
	maxSolicitations     = 3
	solicitationInterval = time.Second
	reachableTime        = 30 * time.Second
	failedRetryDelay     = time.Second // no new request for this long after a failure
)

// neighbourFor returns the neighbour to which packets for dst are sent: dst itself, a router, or
// ourselves. Any goroutine.
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
		nb.setStation(s.mac)
	case s.isBroadcast(dst):
		nb.setStation(wire.Broadcast)
	case dst.IsMulticast():
		nb.setStation(wire.MulticastMAC(dst))
	}
	return s.addNeighbour(nb), nil
}

func (nb *neighbour) setStation(mac wire.MAC) {
	nb.fixed = true
	nb.mac.Store(&mac)
}

// loopbackAddr is the key in the cache for all addresses of this stack.
var loopbackAddr = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// learn stores the MAC of a neighbour. A confirmed MAC, one that has just answered, counts for
// reachableTime; another is stale at once. The caller holds mu.
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

// advertisement is what an ARP or neighbour discovery message says about a neighbour (RFC 4861
// section 7.2.5).
type advertisement struct {
	mac       wire.MAC
	noMAC     bool // it has no MAC: that of the cache counts
	override  bool // it may replace another MAC in the cache
	solicited bool // it answers a request of ours: both directions work
}

// update processes an advertisement (RFC 4861 section 7.2.5). Dealer only.
func (nb *neighbour) update(n advertisement) {
	nb.mu.Lock()
	defer nb.mu.Unlock()
	old := nb.mac.Load()
	switch {
	case nb.fixed, old == nil && n.noMAC:
	case old == nil && nb.resolving:
		nb.passAnswer(n.mac)
	case old == nil:
		nb.learn(n.mac, n.solicited)
	case n.noMAC, n.mac == *old:
		if n.solicited && nb.resolving {
			nb.passAnswer(*old)
		} else if n.solicited {
			nb.learn(*old, true)
		}
	case !n.override:
		nb.stale.Store(true)
	case n.solicited && nb.resolving:
		nb.passAnswer(n.mac)
	default:
		nb.learn(n.mac, n.solicited)
	}
}

// passAnswer passes the MAC to the goroutine that resolves it. The caller holds mu.
func (nb *neighbour) passAnswer(mac wire.MAC) {
	select {
	case nb.answer <- mac:
	default: // it has an answer already
	}
}

// stopResolving ends the address resolution, and the timer after which the MAC is stale.
func (nb *neighbour) stopResolving() {
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

// send sends an IP packet to a neighbour, or has it wait until the MAC is known. Any goroutine.
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

// hold keeps a packet until the neighbour's MAC is known, and starts the address resolution if none
// is under way.
func (s *Stack) hold(nb *neighbour, kind wire.EtherType, gso link.GSO, e *envelope) error {
	if gso.Kind != link.Plain {
		s.stats.droppedUnresolved.Add(1)
		return nil // a super-frame follows earlier segments, so TCP retransmits it
	}
	frame := slices.Concat(append([][]byte{make([]byte, wire.EthernetLen)}, e.packet()...)...)
	link.Complete(gso, frame)
	nb.mu.Lock()
	defer nb.mu.Unlock()
	if nb.mac.Load() != nil { // resolved just now
		return s.emitBytes(*nb.mac.Load(), kind, frame[wire.EthernetLen:])
	}
	if time.Since(nb.failed) < failedRetryDelay {
		return errUnreachableHost
	}
	if len(nb.waiting) >= maxWaiting {
		s.stats.droppedUnresolved.Add(1)
		s.waitingBytes.release(nb.waiting[0])
		// Drop the oldest: the latest packet should be saved (RFC 1122 section 2.3.2.2).
		nb.waiting = slices.Delete(nb.waiting, 0, 1)
	}
	if s.waitingBytes.reserve(frame) {
		nb.waiting = append(nb.waiting, frame)
	} else {
		s.stats.droppedUnresolved.Add(1)
	}
	if !nb.resolving {
		nb.resolving = true
		go s.resolveNeighbour(nb)
	}
	return nil
}

// emit sends a packet behind an Ethernet header. Any goroutine.
func (s *Stack) emit(dst wire.MAC, kind wire.EtherType, gso link.GSO, e *envelope) error {
	h := wire.Ethernet{Dst: dst, Src: s.mac, Type: kind}
	h.Put(e.ethernet[:])
	e.list[0] = e.ethernet[:]
	if dst == s.mac {
		return s.sendLoopback(gso, e.list[:e.n])
	}
	s.stats.sent.Add(1)
	return s.link.Write(gso, e.list[:e.n]...)
}

// emitBytes is emit for a packet given as slices.
func (s *Stack) emitBytes(dst wire.MAC, kind wire.EtherType, first []byte, rest ...[]byte) error {
	e := newEnvelope()
	defer e.free()
	e.pack(first, rest...)
	return s.emit(dst, kind, link.GSO{}, e)
}
