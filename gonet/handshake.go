package gonet

import (
	"net/netip"

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
	key := flow{p.dst.As16(), p.src.As16(), h.DstPort, h.SrcPort}
	if c := s.connFor(key, &h); c != nil {
		s.inputConn(c, &h, body, p.marked())
		return
	}
	s.inputUnconnected(p, &h, body, key)
}

// connFor returns the connection that a segment is for, or nil. A SYN may end one in TIME-WAIT.
// Dealer only.
func (s *Stack) connFor(key flow, h *wire.TCP) *Conn {
	c := s.conns[key]
	if c != nil && h.Flags&(wire.SYN|wire.ACK|wire.RST) == wire.SYN {
		c.mu.Lock()
		again := c.machine.Reusable(h)
		c.mu.Unlock()
		if again {
			s.evict(c)
			return nil
		}
	}
	return c
}

// inputConn hands a segment to its connection. marked tells whether a router has marked its packet.
// Dealer only.
func (s *Stack) inputConn(c *Conn, h *wire.TCP, body []byte, marked bool) {
	c.mu.Lock()
	if marked {
		c.machine.Marked()
	}
	if now := c.machineTime(s.now); c.async != nil && c.async.takesNow() {
		c.machine.InputBorrowed(h, body, s.loan, now)
	} else {
		c.machine.InputLoan(h, body, s.loan, now)
	}
	c.mu.Unlock()
	s.queueUpdate(c)
}

// inputUnconnected processes a segment for which there is no connection. Dealer only.
func (s *Stack) inputUnconnected(p *packet, h *wire.TCP, body []byte, key flow) {
	if s.inputRemnant(p, h, body, key) {
		return
	}
	local, remote := netip.AddrPortFrom(p.dst, h.DstPort), netip.AddrPortFrom(p.src, h.SrcPort)
	if p.foreign && s.listeners[local] == nil {
		s.forwardSegment(p, h, key, len(body))
		return
	}
	switch h.Flags & (wire.SYN | wire.ACK | wire.RST) {
	case wire.SYN:
		if s.acceptSYN(local, remote, h) {
			return
		}
	case wire.ACK:
		if s.acceptCookie(local, remote, h, body) {
			return
		}
	}
	s.sendReset(p, h, len(body))
}

// queueUpdate has the next flush update a connection. Dealer only.
func (s *Stack) queueUpdate(c *Conn) {
	if !c.dealer.updateQueued {
		c.dealer.updateQueued = true
		s.toUpdate = append(s.toUpdate, c)
	}
}

// evict removes a connection and sends its peer nothing: one in TIME-WAIT whose flow or memory is
// needed, or a half-open one. Dealer only.
func (s *Stack) evict(c *Conn) {
	c.mu.Lock()
	c.removed = true
	c.removeAlarm()
	if c.async != nil {
		c.async.evicted()
	}
	c.mu.Unlock()
	s.removeConn(c)
}

// acceptSYN makes a connection for a SYN to a listener, or answers with a cookie when the backlog
// has no room. It returns false if nobody listens. Dealer only.
func (s *Stack) acceptSYN(local, remote netip.AddrPort, h *wire.TCP) bool {
	l := s.listenerFor(local, remote)
	if l == nil {
		return false
	}
	c, err := l.newConn(local, remote)
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
	c.machine = tcp.Accept(&c.cfg, c.isn(s.now), h, s.now)
	s.addConn(l, c)
	return true
}

// listenerFor returns the listener for a connection, or nil. Dealer only.
func (s *Stack) listenerFor(local, remote netip.AddrPort) *Listener {
	return pick(s, s.listeners.lookup(local), local, remote)
}

// addConn puts a listener's new connection in the table. Dealer only.
func (s *Stack) addConn(l *Listener, c *Conn) {
	c.listener = l
	l.unaccepted.Add(1)
	s.conns[c.flow] = c
	s.queueUpdate(c)
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
func (c *Conn) isn(now tcp.Time) uint32 { return c.isnOffset + uint32(now/4000) }
