package gonet

import (
	"net/netip"
	"time"

	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// inputTCP hands a segment to its connection. Without one, a SYN or the acknowledgement of a cookie
// may make a connection; all else is answered by a reset. Dealer only.
func (s *Stack) inputTCP(p *packet) {
	h, body, err := wire.ParseTCP(p.body)
	if err != nil || p.group ||
		!p.valid && wire.Sum(p.body, wire.PseudoSum(p.src, p.dst, wire.ProtocolTCP,
			len(p.body))) != 0xffff {
		s.stats.malformed.Add(1)
		return
	}
	local, remote := netip.AddrPortFrom(p.dst, h.DstPort), netip.AddrPortFrom(p.src, h.SrcPort)
	key := flowOf(local, remote)
	c := s.conns[key]
	if c != nil && h.Flags&(wire.SYN|wire.ACK|wire.RST) == wire.SYN {
		c.mu.Lock()
		again := c.machine.Reusable(&h)
		c.mu.Unlock()
		if again {
			s.forget(c)
			c = nil
		}
	}
	if c != nil {
		c.mu.Lock()
		if p.marked() {
			c.machine.Marked()
		}
		c.machine.InputLoan(&h, body, s.loan, c.machineTime(s.now))
		c.mu.Unlock()
		s.queueUpdate(c)
		return
	}
	if p.foreign && s.listeners[local] == nil {
		s.forwardSegment(p, &h, key, len(body))
		return
	}
	switch h.Flags & (wire.SYN | wire.ACK | wire.RST) {
	case wire.SYN:
		if s.acceptSYN(local, remote, &h) {
			return
		}
	case wire.ACK:
		if s.acceptCookie(local, remote, &h, body) {
			return
		}
	}
	s.sendReset(p, &h, len(body))
}

// queueUpdate has the next flush update a connection. Dealer only.
func (s *Stack) queueUpdate(c *Conn) {
	if !c.updateQueued {
		c.updateQueued = true
		s.toUpdate = append(s.toUpdate, c)
	}
}

// forget removes a connection without a word to its peer: one in TIME-WAIT whose flow or memory is
// needed, or a half-open one. Dealer only.
func (s *Stack) forget(c *Conn) {
	c.mu.Lock()
	c.removed = true
	s.alarms.remove(c)
	c.mu.Unlock()
	s.removeConn(c)
}

// acceptSYN makes a connection for a SYN to a listener, or answers with a cookie when the backlog
// has no room. It returns false if nobody listens. Dealer only.
func (s *Stack) acceptSYN(local, remote netip.AddrPort, h *wire.TCP) bool {
	l := s.listenerAt(local)
	if l == nil {
		return false
	}
	c, err := s.newConn(local, remote)
	if err != nil {
		return true // no route to the peer
	}
	if l.isFull() {
		s.evictHalfOpen(l)
	}
	if l.isFull() {
		s.sendCookie(l, c, h)
		return true
	}
	c.machine = tcp.Accept(&c.cfg, c.isn(), h, s.now)
	s.addConn(l, c)
	return true
}

// listenerAt returns the listener for an address, or nil. Dealer only.
func (s *Stack) listenerAt(local netip.AddrPort) *Listener {
	return lookupBound(s.listeners, local)
}

// addConn puts a listener's new connection in the table. Dealer only.
func (s *Stack) addConn(l *Listener, c *Conn) {
	c.listener = l
	l.unaccepted.Add(1)
	s.conns[c.flow] = c
	s.queueUpdate(c)
}

// cookieTime is how long a listener accepts cookies after it has sent one: as long as a cookie is
// valid.
const cookieTime = 2 * time.Minute

// sendCookie answers a SYN with a cookie and keeps no state. If the backlog itself is full, the
// connection would be refused later, so the SYN is dropped; the peer sends it again. Dealer only.
func (s *Stack) sendCookie(l *Listener, c *Conn, h *wire.TCP) {
	s.flush() // connections that this batch has established enter the backlog first
	if len(l.ready) >= cap(l.ready) {
		s.stats.droppedBacklog.Add(1)
		return
	}
	s.stats.cookies.Add(1)
	l.cookiesUntil = s.now.Add(cookieTime)
	answer := tcp.CookieAnswer(&c.cfg, tcp.Cookie(s.keyed(c.flow, h.Seq), h, s.now), h, s.now)
	_ = s.sendBare(c, answer) // the peer sends its SYN again
}

// keyed returns the hash for the cookies of a flow and the peer's initial sequence number.
func (s *Stack) keyed(f flow, seq uint32) tcp.Keyed {
	return func(part uint32) uint32 {
		return uint32(s.hash(&f, forCookie, uint64(part)<<32|uint64(seq)))
	}
}

// acceptCookie makes a connection for a segment that acknowledges a cookie. It returns false if the
// segment does not. Dealer only.
func (s *Stack) acceptCookie(local, remote netip.AddrPort, h *wire.TCP, body []byte) bool {
	l := s.listenerAt(local)
	if l == nil || s.now > l.cookiesUntil {
		return false
	}
	c, err := s.newConn(local, remote)
	if err != nil {
		return false
	}
	if c.machine = tcp.AcceptCookie(&c.cfg, s.keyed(c.flow, h.Seq-1), h, s.now); c.machine == nil {
		return false
	}
	if len(l.ready) >= cap(l.ready) {
		s.stats.droppedBacklog.Add(1)
		return true // the peer's next segment acknowledges the cookie again
	}
	s.addConn(l, c)
	c.machine.Input(h, body, s.now)
	return true
}

// sendReset answers a segment without a connection by a reset (RFC 9293 section 3.10.7.1).
func (s *Stack) sendReset(p *packet, h *wire.TCP, n int) {
	if h.Flags&wire.RST != 0 {
		return
	}
	s.stats.resets.Add(1)
	out := wire.TCP{SrcPort: h.DstPort, DstPort: h.SrcPort, Flags: wire.RST}
	if h.Flags&wire.ACK != 0 {
		out.Seq = h.Ack
	} else {
		out.Flags |= wire.ACK
		out.Ack = h.Seq + uint32(n)
		if h.Flags&wire.SYN != 0 {
			out.Ack++
		}
		if h.Flags&wire.FIN != 0 {
			out.Ack++
		}
	}
	var b [wire.TCPLen]byte
	out.Put(b[:])
	out.Checksum = ^wire.Sum(b[:], wire.PseudoSum(p.dst, p.src, wire.ProtocolTCP, len(b)))
	out.Put(b[:])
	s.reply(p, wire.ProtocolTCP, b[:])
}

// isn returns an initial sequence number: a clock of 4 us plus a secret offset for each flow (RFC
// 6528).
func (c *Conn) isn() uint32 { return c.isnOffset + uint32(c.stack.clock()/4000) }
