package gonet

import (
	"net/netip"

	"interleave/gonet/internal/demux"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// inputUnconnected processes a segment for which there is no connection. Dealer only.
func (s *Stack) inputUnconnected(p *packet, h *wire.TCP, body []byte, key demux.Flow) {
	if s.inputRemnant(p, h, body, key) {
		return
	}
	local, remote := netip.AddrPortFrom(p.dst, h.DstPort), netip.AddrPortFrom(p.src, h.SrcPort)
	if p.foreign && !s.tcp.listeners.Has(local) {
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
	if l.synQueue.IsFull() {
		s.evictHalfOpen(l)
	}
	if l.synQueue.IsFull() {
		s.sendCookie(l, c, h)
		return true
	}
	c.run(tcp.Accept(c.cfg, c.isn(s.dealer.now), h, s.dealer.now))
	s.addConn(l, c)
	return true
}

// listenerFor returns the listener for a connection, or nil. Dealer only.
func (s *Stack) listenerFor(local, remote netip.AddrPort) *Listener {
	return s.tcp.listeners.Find(&s.random, local, remote)
}

// addConn puts a listener's new connection in the table. Dealer only.
func (s *Stack) addConn(l *Listener, c *Conn) {
	c.listener = l
	l.synQueue.Enter()
	s.tcp.conns[c.flow] = c
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
