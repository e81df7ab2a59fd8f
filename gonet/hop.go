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

// hop is a neighbour: an address on our link, and the station that has it, once that is known; ARP
// and neighbour discovery find it. As in the paper each request has a goroutine of its own, which
// asks, waits for the dealer to hear the answer, and ends.
//
// What is known ages: after a while the next packet has the neighbour asked again, and if it does
// not answer it is forgotten (RFC 4861 section 7.3, RFC 1122 section 2.3.2.1). Who sends
// meanwhile does not wait.
type hop struct {
	addr    netip.Addr
	mac     atomic.Pointer[wire.MAC] // nil: not known
	stale   atomic.Bool              // to be confirmed when it is used next
	dropped atomic.Bool              // out of the table: who keeps it looks there again
	used    atomic.Bool              // something was sent by it since the table looked for room
	fixed   bool                     // ourselves or a group: nobody is asked, or believed
	mu      sync.Mutex
	// Guarded by mu: what waits for the answer, whether somebody asks, and what makes
	// stale of known.
	waiting [][]byte
	asking  bool
	failed  time.Time // when the last asking ended without an answer
	aging   *time.Timer
	answer  chan wire.MAC
	quit    chan struct{}
}

// The bounds of the table and of asking (RFC 1122 section 2.3.2: at most one request a second and
// address; RFC 4861's constants for the number of them and the life of an answer).
const (
	maxHops       = 4096
	maxWaiting    = 16 // packets for one address
	askTimes      = 3
	askInterval   = time.Second
	hopLife       = 30 * time.Second
	failedSilence = time.Second // in which a neighbour that did not answer is not asked again
)

// hop returns the neighbour that packets to dst go to. Any goroutine.
func (s *Stack) hop(dst netip.Addr) (*hop, error) {
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
	if h, ok := s.hops.Load(dst); ok {
		return h.(*hop), nil
	}
	h := &hop{addr: dst, answer: make(chan wire.MAC, 1), quit: make(chan struct{})}
	switch {
	case dst == loopbackAddr:
		h.fix(s.mac)
	case s.isBroadcast(dst):
		h.fix(wire.Broadcast)
	case dst.IsMulticast():
		h.fix(wire.MulticastMAC(dst))
	}
	return s.enter(h), nil
}

func (h *hop) fix(mac wire.MAC) {
	h.fixed = true
	h.mac.Store(&mac)
}

// loopbackAddr stands for all addresses of ours among the neighbours.
var loopbackAddr = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// learn takes the station of a neighbour. One that has just answered is known for a while; what was
// heard otherwise is to be confirmed when it is used. The caller has mu.
func (h *hop) learn(mac wire.MAC, confirmed bool) {
	if old := h.mac.Load(); old == nil || *old != mac {
		h.mac.Store(&mac)
		h.stale.Store(true)
	}
	if !confirmed {
		return
	}
	h.stale.Store(false)
	if h.aging == nil {
		h.aging = time.AfterFunc(hopLife, func() { h.stale.Store(true) })
	} else {
		h.aging.Reset(hopLife)
	}
}

// sighting is what a neighbour says of itself, by ARP or by neighbour discovery (RFC 4861
// section 7.2.5).
type sighting struct {
	mac       wire.MAC
	silent    bool // it does not say where it is: at the station that we know
	override  bool // it is to be believed even if another station is known
	solicited bool // it answers us, so that the way there and back is known to be good
}

// hear takes what a neighbour says of itself. The dealer's.
func (h *hop) hear(n sighting) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.mac.Load()
	switch {
	case h.fixed, old == nil && n.silent:
	case old == nil && h.asking:
		h.tell(n.mac)
	case old == nil:
		h.learn(n.mac, n.solicited)
	case n.silent, n.mac == *old:
		if n.solicited && h.asking {
			h.tell(*old)
		} else if n.solicited {
			h.learn(*old, true)
		}
	case !n.override:
		h.stale.Store(true)
	case n.solicited && h.asking:
		h.tell(n.mac)
	default:
		h.learn(n.mac, n.solicited)
	}
}

// tell gives who asks the answer. The caller has mu.
func (h *hop) tell(mac wire.MAC) {
	select {
	case h.answer <- mac:
	default: // it has one
	}
}

// stop ends the asking.
func (h *hop) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.aging != nil {
		h.aging.Stop()
	}
	select {
	case <-h.quit:
	default:
		close(h.quit)
	}
}

// send gives a packet of IP to the station, or has it wait until the station is known.
// Any goroutine.
func (s *Stack) send(h *hop, gso link.GSO, e *envelope) error {
	kind := etherType(e.list[1])
	if mac := h.mac.Load(); mac != nil {
		if !h.used.Load() {
			h.used.Store(true)
		}
		if h.stale.Load() {
			s.confirm(h)
		}
		return s.emit(*mac, kind, gso, e)
	}
	return s.hold(h, kind, gso, e)
}

// hold has a packet wait, and its neighbour asked for.
func (s *Stack) hold(h *hop, kind wire.EtherType, gso link.GSO, e *envelope) error {
	if gso.Kind != link.Plain {
		s.stats.droppedUnresolved.Add(1)
		return nil // only what was sent before has made it large; the connection sends it again
	}
	frame := slices.Concat(append([][]byte{make([]byte, wire.EthernetLen)}, e.packet()...)...)
	link.Complete(gso, frame)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mac.Load() != nil { // just now
		return s.emitBytes(*h.mac.Load(), kind, frame[wire.EthernetLen:])
	}
	if time.Since(h.failed) < failedSilence {
		return errUnreachableHost
	}
	if len(h.waiting) >= maxWaiting {
		s.stats.droppedUnresolved.Add(1)
		s.waiting.give(h.waiting[0])
		// the oldest is the least wanted (RFC 1122 section 2.3.2.2)
		h.waiting = slices.Delete(h.waiting, 0, 1)
	}
	if s.waiting.take(frame) {
		h.waiting = append(h.waiting, frame)
	} else {
		s.stats.droppedUnresolved.Add(1)
	}
	if !h.asking {
		h.asking = true
		go s.ask(h)
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
