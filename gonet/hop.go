package gonet

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// hop is a neighbour: an address on our link, and the station that has it, once that is known. As in the paper each request has
// a goroutine of its own, which asks, waits for the dealer to hear the answer, and ends.
type hop struct {
	addr netip.Addr
	mac  atomic.Pointer[wire.MAC] // nil: not known
	mu   sync.Mutex
	// Guarded by mu: what waits for the answer, and whether somebody asks.
	waiting [][]byte
	asking  bool
	failed  time.Time // when the last asking ended without an answer
	known   time.Time // when the station was heard of last
	answer  chan wire.MAC
	quit    chan struct{}
}

// The bounds of the table and of asking (RFC 1122 section 2.3.2: at most one request a second and address; RFC 4861's constants
// for the number of them and the life of an answer).
const (
	maxHops       = 4096
	maxWaiting    = 16 // packets for one address
	askTimes      = 3
	askInterval   = time.Second
	hopLife       = 30 * time.Second // after which it is confirmed, while it goes on to be used
	failedSilence = time.Second      // in which a neighbour that did not answer is not asked again
)

// nextHop is where a packet to dst goes first; false if there is no way.
func (s *Stack) nextHop(dst netip.Addr) (netip.Addr, bool) {
	if s.onLink(dst) || dst == broadcast4 || dst.IsMulticast() {
		return dst, true
	}
	return s.cfg.Gateway, s.cfg.Gateway.IsValid()
}

var broadcast4 = netip.AddrFrom4([4]byte{255, 255, 255, 255})

func (s *Stack) onLink(a netip.Addr) bool {
	for _, p := range s.cfg.Addresses {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// isOurs tells whether a is an address of this stack.
func (s *Stack) isOurs(a netip.Addr) bool {
	for _, p := range s.cfg.Addresses {
		if p.Addr() == a {
			return true
		}
	}
	return a.Is4() && a.As4()[0] == 127
}

// isBroadcast tells whether a means all hosts of a network of ours.
func (s *Stack) isBroadcast(a netip.Addr) bool {
	if a == broadcast4 {
		return true
	}
	for _, p := range s.cfg.Addresses {
		if p.Contains(a) && p.Bits() < 31 && a == lastOf(p) {
			return true
		}
	}
	return false
}

// lastOf is the highest address of a network of IPv4.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().As4()
	for i := range b {
		if bits := min(max(8*(i+1)-p.Bits(), 0), 8); bits > 0 {
			b[i] |= 1<<bits - 1
		}
	}
	return netip.AddrFrom4(b)
}

// source is the address of ours that packets to dst carry.
func (s *Stack) source(dst netip.Addr) (netip.Addr, error) {
	if s.isOurs(dst) {
		return dst, nil
	}
	next, ok := s.nextHop(dst)
	if !ok {
		return netip.Addr{}, errUnreachable
	}
	for _, p := range s.cfg.Addresses {
		if p.Contains(next) {
			return p.Addr(), nil
		}
	}
	if len(s.cfg.Addresses) > 0 {
		return s.cfg.Addresses[0].Addr(), nil
	}
	return netip.Addr{}, errUnreachable
}

// hop returns the neighbour that packets to dst go to. Any goroutine.
func (s *Stack) hop(dst netip.Addr) (*hop, error) {
	if s.isOurs(dst) {
		dst = loopbackAddr
	} else {
		next, ok := s.nextHop(dst)
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
		h.learn(s.mac)
	case s.isBroadcast(dst):
		h.learn(wire.Broadcast)
	case dst.IsMulticast():
		h.learn(wire.MulticastMAC(dst))
	}
	if s.stats.hops.Add(1) > maxHops {
		s.dropHops()
	}
	other, _ := s.hops.LoadOrStore(dst, h)
	return other.(*hop), nil
}

// loopbackAddr stands for all addresses of ours among the neighbours.
var loopbackAddr = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// dropHops forgets neighbours that are not being asked for, about half of the table: a scan of the network must not fill it.
// Connections keep the hop that they have.
func (s *Stack) dropHops() {
	left := maxHops / 2
	s.hops.Range(func(k, v any) bool {
		h := v.(*hop)
		h.mu.Lock()
		idle := !h.asking
		h.mu.Unlock()
		if idle && k != loopbackAddr {
			s.hops.Delete(k)
			s.stats.hops.Add(-1)
			left--
		}
		return left > 0
	})
}

func (h *hop) learn(mac wire.MAC) {
	h.mu.Lock()
	h.known = time.Now()
	h.mu.Unlock()
	if old := h.mac.Load(); old == nil || *old != mac {
		h.mac.Store(&mac)
	}
}

// stop ends the asking.
func (h *hop) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.quit:
	default:
		close(h.quit)
	}
}

// send gives a packet to the station, or has it wait until the station is known. The pieces begin with the header of IP. Any
// goroutine.
func (s *Stack) send(h *hop, kind wire.EtherType, gso link.GSO, pieces ...[]byte) error {
	if mac := h.mac.Load(); mac != nil {
		return s.emit(*mac, kind, gso, pieces)
	}
	if gso.Kind != link.Plain {
		s.stats.droppedUnresolved.Add(1)
		return nil // only what was sent before has made it large; the connection sends it again
	}
	frame := make([]byte, wire.EthernetLen, s.fast.MTU+wire.EthernetLen)
	for _, p := range pieces {
		frame = append(frame, p...)
	}
	link.Complete(gso, frame)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mac.Load() != nil { // just now
		return s.emit(*h.mac.Load(), kind, link.GSO{}, [][]byte{frame[wire.EthernetLen:]})
	}
	if time.Since(h.failed) < failedSilence {
		return errUnreachableHost
	}
	if len(h.waiting) >= maxWaiting {
		s.stats.droppedUnresolved.Add(1)
		h.waiting = h.waiting[1:] // the oldest is the least wanted (RFC 1122 section 2.3.2.2)
	}
	h.waiting = append(h.waiting, frame)
	if !h.asking {
		h.asking = true
		go s.ask(h)
	}
	return nil
}

// emit puts the header of Ethernet before a packet.
func (s *Stack) emit(dst wire.MAC, kind wire.EtherType, gso link.GSO, pieces [][]byte) error {
	e := wire.Ethernet{Dst: dst, Src: s.mac, Type: kind}
	var header [wire.EthernetLen]byte
	e.Put(header[:])
	if dst == s.mac {
		return s.loop(header[:], gso, pieces)
	}
	s.stats.sent.Add(1)
	var all [6][]byte
	all[0] = header[:]
	return s.link.Write(gso, all[:1+copy(all[1:], pieces)]...)
}

// ask is the goroutine of one request: it asks up to three times, a second apart, and hands the packets that have waited to the
// station that answers.
func (s *Stack) ask(h *hop) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for asked := 0; ; {
		select {
		case mac := <-h.answer:
			s.answered(h, mac)
			return
		case <-h.quit:
			s.unanswered(h)
			return
		case <-timer.C:
			if asked == askTimes {
				s.unanswered(h)
				return
			}
			asked++
			s.request(h.addr, wire.Broadcast)
			timer.Reset(askInterval)
		}
	}
}

func (s *Stack) answered(h *hop, mac wire.MAC) {
	h.learn(mac)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asking = false
	for _, frame := range h.waiting {
		_ = s.emit(mac, wire.EtherIPv4, link.GSO{}, [][]byte{frame[wire.EthernetLen:]}) // a link that fails ends the stack
	}
	h.waiting = nil
}

func (s *Stack) unanswered(h *hop) {
	h.mu.Lock()
	h.asking, h.failed = false, time.Now()
	s.stats.droppedUnresolved.Add(uint64(len(h.waiting)))
	h.waiting = nil
	h.mu.Unlock()
	_ = s.post(func() { // a stack that has ended tells its connections itself
		for _, c := range s.conns {
			if c.hop == h {
				c.mu.Lock()
				c.machine.Unreachable(errUnreachableHost, true)
				c.mu.Unlock()
				s.touch(c)
			}
		}
	})
}

// request asks who has an address.
func (s *Stack) request(a netip.Addr, to wire.MAC) {
	src, err := s.source(a)
	if err != nil {
		return
	}
	m := wire.ARP{Op: wire.ARPRequest, SenderMAC: s.mac, SenderIP: src, TargetIP: a}
	var b [wire.ARPLen]byte
	m.Put(b[:])
	_ = s.emit(to, wire.EtherARP, link.GSO{}, [][]byte{b[:]}) // a link that fails ends the stack
}

// inputARP is the dealer's part: it answers for our addresses, and tells who asks what it hears (RFC 826).
func (s *Stack) inputARP(b []byte) {
	m, err := wire.ParseARP(b)
	if err != nil || m.SenderMAC.IsGroup() {
		s.stats.malformed.Add(1)
		return
	}
	if s.isOurs(m.SenderIP) {
		s.stats.conflicts.Add(1) // somebody has an address of ours; we keep it (RFC 5227 section 2.4 c)
		return
	}
	ours := s.isOurs(m.TargetIP) && !m.TargetIP.IsLoopback()
	if v, ok := s.hops.Load(m.SenderIP); ok {
		s.hear(v.(*hop), m.SenderMAC)
	} else if ours && s.onLink(m.SenderIP) { // who asks for us is about to be sent something
		if h, err := s.hop(m.SenderIP); err == nil {
			h.learn(m.SenderMAC)
		}
	}
	if m.Op == wire.ARPRequest && ours {
		reply := wire.ARP{Op: wire.ARPReply, SenderMAC: s.mac, SenderIP: m.TargetIP, TargetMAC: m.SenderMAC, TargetIP: m.SenderIP}
		var out [wire.ARPLen]byte
		reply.Put(out[:])
		_ = s.emit(m.SenderMAC, wire.EtherARP, link.GSO{}, [][]byte{out[:]}) // a link that fails ends the stack
	}
}

// hear takes what a neighbour says of itself.
func (s *Stack) hear(h *hop, mac wire.MAC) {
	h.mu.Lock()
	asking := h.asking
	h.mu.Unlock()
	if !asking {
		if h.mac.Load() != nil {
			h.learn(mac)
		}
		return
	}
	select {
	case h.answer <- mac:
	default: // it has one
	}
}
