package packetdrill

import (
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// conn is a connection of the player's host: a machine, and what the program has asked of it.
type conn struct {
	// machine is nil if a segment other than a SYN came to a listener.
	machine     *tcp.Conn
	cfg         *tcp.Config
	numbers     numbers
	established bool // the handshake has ended once
	reported    bool // the program knows of the error that ended the connection
	unsent      int  // bytes that the program has written and the machine has not taken yet
	readShut    bool // the program reads no more
	shut        bool // CloseWrite follows the unsent bytes
	closed      bool // so does Close
}

// sent is a segment that a machine has sent, or the host itself.
type sent struct {
	at       tcp.Time
	conn     *conn
	header   wire.TCP
	n        int // bytes of payload
	markable bool
}

// zeros is the payload of all segments and writes.
var zeros = make([]byte, 64<<10)

// iss is the initial sequence number of our machines. Sequence numbers wrap soon after it.
const iss = 0xfffffe00

// maxSent bounds the segments that wait for a script, which stops a machine that sends without end.
const maxSent = 100_000

// collect gives the machine what the program has written, and takes what the machine sends. It
// tells whether anything has happened.
func (p *player) collect(c *conn) (moved bool) {
	m := c.machine
	if m == nil {
		return false
	}
	for len(p.out) < maxSent {
		for c.unsent > 0 {
			n := m.Write(zeros[:min(c.unsent, len(zeros))])
			if n == 0 {
				break
			}
			c.unsent -= n
		}
		c.finish(p.now)
		var s tcp.Segment
		if !m.Output(&s, p.now) {
			break
		}
		moved = true
		p.out = append(p.out, sent{p.now, c, s.Header, s.Len(), s.Markable})
	}
	if m.State() >= tcp.Established {
		c.established = true
	}
	return moved
}

// finish closes the machine once it has all that the program has written.
func (c *conn) finish(now tcp.Time) {
	m := c.machine
	if m.State() == tcp.Closed {
		c.unsent = 0
	}
	if c.closed && (c.unsent == 0 || m.Readable() > 0) {
		c.closed = false
		m.Close(now)
	}
	if c.shut && c.unsent == 0 {
		c.shut = false
		m.CloseWrite()
	}
}

// collectAll collects from all connections.
func (p *player) collectAll() (moved bool) {
	for _, c := range p.conns {
		moved = p.collect(c) || moved
	}
	return moved
}

// settle lets the machines and the call that blocks do all that they can do now.
func (p *player) settle() error {
	for moved := true; moved; {
		moved = p.collectAll()
		w := p.waiting
		if w == nil {
			continue
		}
		r, done := w.try()
		if !done {
			moved = p.collectAll() || moved // a part may have been written
			continue
		}
		p.waiting, moved = nil, true
		if err := p.check(w, r); err != nil {
			return err
		}
	}
	if len(p.out) >= maxSent {
		return p.differs("it sends without end: %s", p.out[maxSent-1].String())
	}
	return nil
}

// next returns when the next timer of a machine goes off.
func (p *player) next() (tcp.Time, bool) {
	var first tcp.Time
	found := false
	for _, c := range p.conns {
		if c.machine == nil {
			continue
		}
		if at, ok := c.machine.Deadline(); ok && (!found || at < first) {
			first, found = at, true
		}
	}
	return first, found
}

// step runs the timers that are due first, unless they are due after limit. It tells whether there
// were any.
func (p *player) step(limit tcp.Time) (bool, error) {
	at, ok := p.next()
	if !ok || at > limit {
		return false, nil
	}
	p.now = max(p.now, at)
	for _, c := range p.conns {
		if c.machine != nil {
			c.machine.Expire(p.now)
		}
	}
	return true, p.settle()
}

// passUntil lets time pass.
func (p *player) passUntil(at tcp.Time) error {
	for {
		moved, err := p.step(at)
		if err != nil {
			return err
		}
		if !moved {
			p.now = max(p.now, at)
			return nil
		}
	}
}

// arrive hands a segment to the connection under test. A SYN to a listener makes the connection.
func (p *player) arrive(s *Segment) error {
	h := s.Header
	if l := p.listener; p.conn == nil && l != nil {
		cfg := *l.cfg
		c := &conn{cfg: &cfg, numbers: numbers{ours: iss}}
		p.use(c)
		if h.Flags&(wire.SYN|wire.ACK|wire.RST) == wire.SYN {
			c.numbers.arriving(&h)
			c.machine = tcp.Accept(c.cfg, iss, &h, p.now)
			l.backlog = append(l.backlog, c)
			return p.settle()
		}
	}
	c := p.conn
	if c == nil {
		return p.differs("there is no connection for the segment")
	}
	c.numbers.arriving(&h)
	if c.machine == nil || c.machine.State() == tcp.Closed {
		p.reset(c, &h, s.Len)
		return p.settle()
	}
	if s.ECN == "ce" {
		c.machine.Marked()
	}
	c.machine.Input(&h, zeros[:s.Len], p.now)
	return p.settle()
}

// use makes c the connection under test, to which all segments belong from now on.
func (p *player) use(c *conn) {
	p.conn = c
	p.conns = append(p.conns, c)
}

// reset answers a segment without a connection (RFC 9293 section 3.10.7.1).
func (p *player) reset(c *conn, h *wire.TCP, n int) {
	if h.Flags&wire.RST != 0 {
		return
	}
	out := wire.TCP{Flags: wire.RST, Seq: h.Ack}
	if h.Flags&wire.ACK == 0 {
		out = wire.TCP{Flags: wire.RST | wire.ACK, Ack: h.Seq + uint32(n)}
		if h.Flags&wire.SYN != 0 {
			out.Ack++
		}
		if h.Flags&wire.FIN != 0 {
			out.Ack++
		}
	}
	p.out = append(p.out, sent{at: p.now, conn: c, header: out})
}

// hardErrors are the codes of "unreachable" that end a handshake (RFC 1122 section 4.2.3.9).
var hardErrors = map[string]bool{"protocol_unreachable": true, "port_unreachable": true}

// softErrors are those that do not.
var softErrors = map[string]bool{"net_unreachable": true, "host_unreachable": true,
	"source_route_failed": true, "net_unreachable_for_tos": true, "host_unreachable_for_tos": true,
	"packet_filtered": true, "no_route": true, "address_unreachable": true}

// icmp hands an ICMP message to the machine.
func (p *player) icmp(m *ICMP) error {
	c := p.conn
	if c == nil || c.machine == nil {
		return p.differs("there is no connection for the message")
	}
	if !c.machine.Sent(c.numbers.ours + m.Seq) {
		return nil // it quotes no segment in flight (RFC 5927)
	}
	if m.Code == "frag_needed" || m.Type == "packet_too_big" {
		c.machine.PathMTU(m.MTU-(1500-p.set.cfg.MSS), p.now)
	} else {
		c.machine.Unreachable(errUnreachable, hardErrors[m.Code])
	}
	return p.settle()
}
