package gonet

import (
	"net/netip"
	"time"

	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// inputTCP finds the connection of a segment, or makes one of a SYN, or answers that there is none.
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
			s.endTimeWait(c)
			c = nil
		}
	}
	if c != nil {
		c.mu.Lock()
		if p.marked() {
			c.machine.Marked()
		}
		c.machine.InputLoan(&h, body, s.loan, c.at(s.now))
		c.mu.Unlock()
		s.touch(c)
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
	s.refuse(p, &h, len(body))
}

// touch puts a connection in the list of those that flush looks at. The dealer's.
func (s *Stack) touch(c *Conn) {
	if !c.touched {
		c.touched = true
		s.touched = append(s.touched, c)
	}
}

// endTimeWait ends a connection in TIME-WAIT early: its place is wanted. The dealer's.
func (s *Stack) endTimeWait(c *Conn) {
	c.mu.Lock()
	c.gone = true
	s.alarms.drop(c)
	c.mu.Unlock()
	s.remove(c)
}

// acceptSYN makes a connection of a SYN for a listener. The dealer's.
func (s *Stack) acceptSYN(local, remote netip.AddrPort, h *wire.TCP) bool {
	l := s.listenerAt(local)
	if l == nil {
		return false
	}
	c, err := s.newConn(local, remote)
	if err != nil {
		return true // there is no way back
	}
	if int(l.half.Load()) >= cap(l.ready) {
		s.sendCookie(l, c, h)
		return true
	}
	c.machine = tcp.Accept(&c.cfg, c.isn(), h, s.now)
	s.admit(l, c)
	return true
}

// listenerAt is the listener of an address. The dealer's.
func (s *Stack) listenerAt(local netip.AddrPort) *Listener { return owner(s.listeners, local) }

// admit puts a connection of a listener in the table. The dealer's.
func (s *Stack) admit(l *Listener, c *Conn) {
	c.listener = l
	l.half.Add(1)
	s.conns[c.flow] = c
	s.touch(c)
}

// cookieTime is for how long after a flood cookies are taken: as long as they are good.
const cookieTime = 2 * time.Minute

// sendCookie answers a SYN for which there is no room with a cookie, and keeps nothing. Where the
// backlog itself is full a connection would find no place: the SYN is dropped, and the peer tries
// again. The dealer's.
func (s *Stack) sendCookie(l *Listener, c *Conn, h *wire.TCP) {
	s.flush() // connections that this batch has established go to the backlog first
	if len(l.ready) >= cap(l.ready) {
		s.stats.droppedBacklog.Add(1)
		return
	}
	s.stats.cookies.Add(1)
	l.flooded = s.now.Add(cookieTime)
	answer := tcp.CookieAnswer(&c.cfg, tcp.Cookie(s.keyed(c.flow, h.Seq), h, s.now), h, s.now)
	_ = s.sendBare(c, answer) // the peer asks again
}

// keyed is the hash of cookies for a flow and the peer's first sequence number.
func (s *Stack) keyed(f flow, seq uint32) tcp.Keyed {
	return func(part uint32) uint32 {
		return uint32(s.hash(&f, forCookie, uint64(part)<<32|uint64(seq)))
	}
}

// acceptCookie makes a connection of a segment that acknowledges a cookie. The dealer's.
func (s *Stack) acceptCookie(local, remote netip.AddrPort, h *wire.TCP, body []byte) bool {
	l := s.listenerAt(local)
	if l == nil || s.now > l.flooded {
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
		return true // its next segment asks again
	}
	s.admit(l, c)
	c.machine.Input(h, body, s.now)
	return true
}

// refuse answers a segment for which there is no connection (RFC 9293 section 3.10.7.1).
func (s *Stack) refuse(p *packet, h *wire.TCP, n int) {
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

// isn is an initial sequence number: a clock of 4 us, from a start that is secret for each
// flow (RFC 6528).
func (c *Conn) isn() uint32 { return c.first + uint32(c.stack.clock()/4000) }
