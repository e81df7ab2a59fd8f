package gonet

import (
	"net/netip"

	"interleave/gonet/internal/demux"
	"interleave/gonet/internal/random"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// A listener whose backlog is full answers SYNs with SYN cookies (RFC 4987 section 3.6), which
// package tcp makes and reads.

// sendCookie answers a SYN with a SYN cookie and keeps no state. If the accept queue alone is as
// long as the backlog, the connection would be refused later, so the SYN is dropped; the peer sends
// it again. Dealer only.
func (s *Stack) sendCookie(l *Listener, c *Conn, h *wire.TCP) {
	s.flush() // connections that this batch has established enter the accept queue first
	if l.queueIsFull() {
		s.stats.droppedBacklog.Add(1)
		return
	}
	s.stats.cookies.Add(1)
	now := s.dealer.now
	l.synQueue.SentCookie(now)
	cfg := *c.cfg
	cfg.Clock = c.clock
	answer := tcp.CookieAnswer(&cfg, tcp.Cookie(s.cookieHash(c.flow, h.Seq), h, now), h, now)
	_ = s.sendBare(c, answer) // the peer sends its SYN again
}

// cookieHash returns the hash for the cookies of a flow and the peer's initial sequence number.
func (s *Stack) cookieHash(f demux.Flow, seq uint32) tcp.Keyed {
	return func(part uint32) uint32 {
		return uint32(f.Hash(&s.random, random.ForCookie, uint64(part)<<32|uint64(seq)))
	}
}

// acceptCookie makes a connection for a segment that acknowledges a cookie. It returns false if the
// segment does not. Dealer only.
func (s *Stack) acceptCookie(local, remote netip.AddrPort, h *wire.TCP, body []byte) bool {
	l := s.listenerFor(local, remote)
	if l == nil || !l.synQueue.TakesCookies(s.dealer.now) {
		return false
	}
	c, err := l.newConn(local, remote)
	if err != nil {
		return false
	}
	m := tcp.AcceptCookie(c.cfg, s.cookieHash(c.flow, h.Seq-1), h, s.dealer.now)
	if m == nil {
		return false
	}
	c.run(m)
	if l.queueIsFull() {
		s.stats.droppedBacklog.Add(1)
		return true // the peer's next segment acknowledges the cookie again
	}
	s.addConn(l, c)
	c.machine.Input(h, body, s.dealer.now)
	return true
}
