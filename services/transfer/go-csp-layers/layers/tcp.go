package layers

import (
	"errors"
	"net"
	"net/netip"

	"interleave/gonet/wire"
)

const (
	firstPort = 49152 // of those that Dial takes (RFC 6335 section 6)
	lastPort  = 65535
	// maxConns bounds the connections of a stack, half-open ones included: a flood of SYNs takes
	// some 200 MB. A guess.
	maxConns = 1 << 14
	// resetQueue is in segments that wait to be answered with a reset; more are dropped.
	resetQueue = 64
)

// errNoPort is of a Dial when all ports are in use, and of a Listen on one in use.
var errNoPort = errors.New("no free port")

// flow names a connection.
type flow struct{ local, remote netip.AddrPort }

// segment is one that has arrived.
type segment struct {
	flow
	header wire.TCP
	data   []byte
}

// claim asks the dealer for a change of its tables.
type claim struct {
	flow   flow
	conn   *Conn     // to be entered; nil: the flow is to be removed
	listen *Listener // to be entered at the flow's local port; nil with a conn
	done   chan<- error
}

// tcp is the layer of TCP: its dealer owns the tables of connections and listeners.
type tcp struct {
	stack  *Stack
	in     chan datagram
	claims chan claim
	resets chan *segment
	ended  chan struct{} // closed when the dealer has ended
}

func newTCP(s *Stack) *tcp {
	return &tcp{s, make(chan datagram, queueLen), make(chan claim),
		make(chan *segment, resetQueue), make(chan struct{})}
}

func (t *tcp) start() {
	t.stack.processes.Go(t.deal)
	t.stack.processes.Go(t.reset)
}

// tables are the dealer's.
type tables struct {
	conns     map[flow]*Conn
	listeners map[uint16]*Listener
	port      uint16 // the last one that Dial has taken
}

// deal is the packet dealer of TCP. It never waits for a connection: a segment for which one has no
// room is lost, and comes again. At its end it closes the channels of all connections.
func (t *tcp) deal() {
	defer close(t.ended)
	defer close(t.resets)
	tables := tables{map[flow]*Conn{}, map[uint16]*Listener{}, lastPort}
	for {
		select {
		case d, ok := <-t.in:
			if !ok {
				for _, c := range tables.conns {
					close(c.in)
				}
				for _, l := range tables.listeners {
					close(l.in)
				}
				return
			}
			t.receive(d, tables)
		case c := <-t.claims:
			c.done <- tables.obey(c)
		}
	}
}

func (t *tcp) receive(d datagram, tables tables) {
	if !d.isLocal && wire.Sum(d.payload, wire.PseudoSum(d.src, d.dst, wire.ProtocolTCP,
		len(d.payload))) != 0xffff {
		return
	}
	h, data, err := wire.ParseTCP(d.payload)
	if err != nil {
		return
	}
	s := &segment{flow{netip.AddrPortFrom(d.dst, h.DstPort),
		netip.AddrPortFrom(d.src, h.SrcPort)}, h, data}
	if c := tables.conns[s.flow]; c != nil {
		select {
		case c.in <- s:
		default:
		}
		return
	}
	const which = wire.SYN | wire.ACK | wire.RST
	if l := tables.listeners[h.DstPort]; l != nil && h.Flags&which == wire.SYN {
		select {
		case l.in <- s:
		default:
		}
		return
	}
	if h.Flags&wire.RST == 0 {
		select {
		case t.resets <- s:
		default:
		}
	}
}

// obey changes the tables. A flow without a local port gets a free one.
func (t *tables) obey(c claim) error {
	switch {
	case c.listen != nil:
		port := c.flow.local.Port()
		if t.listeners[port] != nil {
			return errNoPort
		}
		t.listeners[port] = c.listen
		return nil
	case c.conn == nil:
		delete(t.conns, c.flow)
		return nil
	case len(t.conns) == maxConns:
		return errNoPort
	case c.flow.local.Port() != 0:
		if t.conns[c.flow] != nil {
			return errNoPort
		}
		t.conns[c.flow] = c.conn
		return nil
	}
	for range lastPort - firstPort + 1 {
		if t.port++; t.port < firstPort {
			t.port = firstPort
		}
		f := c.flow
		f.local = netip.AddrPortFrom(f.local.Addr(), t.port)
		if t.conns[f] == nil {
			c.conn.flow = f
			t.conns[f] = c.conn
			return nil
		}
	}
	return errNoPort
}

// ask passes a claim to the dealer and waits for its answer.
func (t *tcp) ask(c claim) error {
	done := make(chan error, 1)
	c.done = done
	select {
	case t.claims <- c:
		return <-done
	case <-t.ended:
		return net.ErrClosed
	}
}

// reset answers segments that belong to no connection (RFC 9293 section 3.5.2). It is a goroutine
// of its own, since it may have to wait for an address.
func (t *tcp) reset() {
	for s := range t.resets {
		t.refuse(s)
	}
}

// refuse sends the reset that a segment without a connection gets.
func (t *tcp) refuse(s *segment) {
	h := wire.TCP{Flags: wire.RST | wire.ACK, Ack: s.end()}
	if s.header.Flags&wire.ACK != 0 {
		h.Flags, h.Seq, h.Ack = wire.RST, s.header.Ack, 0
	}
	t.send(s.flow, h, nil)
}

// end returns the number behind the last one of a segment: SYN and FIN have one each.
func (s *segment) end() uint32 {
	n := s.header.Seq + uint32(len(s.data))
	if s.header.Flags&wire.SYN != 0 {
		n++
	}
	if s.header.Flags&wire.FIN != 0 {
		n++
	}
	return n
}

// send sends a segment in memory of its own.
func (t *tcp) send(f flow, h wire.TCP, data []byte) {
	h.SrcPort, h.DstPort = f.local.Port(), f.remote.Port()
	n := h.Len()
	b := make([]byte, headroom+n+len(data))
	s := b[headroom:]
	h.Put(s)
	copy(s[n:], data)
	src, dst := f.local.Addr(), f.remote.Addr()
	if !t.stack.owns(dst) {
		const checksumAt = 16 // in a header
		sum := ^wire.Sum(s, wire.PseudoSum(src, dst, wire.ProtocolTCP, len(s)))
		s[checksumAt], s[checksumAt+1] = byte(sum>>8), byte(sum)
	}
	t.stack.ip.send(src, dst, wire.ProtocolTCP, b)
}
