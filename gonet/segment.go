package gonet

import (
	"interleave/gonet/link"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// transmit sends what is due. The caller has mu.
func (c *Conn) transmit(now tcp.Time) {
	e := newEnvelope()
	for c.machine.Output(&e.segment, now) {
		c.emit(e)
	}
	e.free()
}

// transmitNow is transmit without the acknowledgements that would go alone. The caller has mu.
func (c *Conn) transmitNow(now tcp.Time) {
	e := newEnvelope()
	for c.machine.OutputNow(&e.segment, now) {
		c.emit(e)
	}
	e.free()
}

func (c *Conn) emit(e *envelope) {
	if err := c.stack.sendSegment(c, e); err != nil {
		c.machine.Unreachable(translate(err), true)
	}
}

// pay sends the acknowledgement that has waited for something to go with, if nothing has
// come. The dealer's.
func (c *Conn) pay(now tcp.Time) {
	c.mu.Lock()
	c.owes = false
	if c.machine.AckDue() {
		now = c.at(now)
		c.transmit(now)
		c.arm(now)
	}
	c.mu.Unlock()
}

// hasPaid tells whether the acknowledgement that has waited has gone with something, or because the
// user waits for more. The dealer's.
func (c *Conn) hasPaid() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owes = c.machine.AckDue()
	return !c.owes
}

// way is the neighbour to which packets of the connection go first. It is looked for again
// when the stack's network has changed, or when others have needed its place in the table.
// The caller has mu.
func (c *Conn) way() (*neighbour, error) {
	if n := c.stack.net.Load(); n != c.net || c.neighbour.dropped.Load() {
		nb, err := c.stack.neighbourFor(c.remote.Addr())
		if err != nil {
			return nil, err
		}
		c.net, c.neighbour = n, nb
	}
	return c.neighbour, nil
}

// sendSegment gives the envelope's segment its ports and its header of IP, and leaves the checksum
// and the cutting to the link if it can.
func (s *Stack) sendSegment(c *Conn, e *envelope) error {
	way, err := c.way()
	if err != nil {
		return err
	}
	seg := &e.segment
	h := &seg.Header
	h.SrcPort, h.DstPort = c.local.Port(), c.remote.Port()
	header := &e.transport
	headerLen := h.Len()
	length := headerLen + seg.Len()
	ipLen, kind := c.putIP(e.ip[:], length, seg.Markable)
	sum := wire.Sum([]byte{byte(length >> 8), byte(length)}, c.pseudo)
	var gso link.GSO
	if s.fast.Partial {
		h.Checksum = sum
		gso = link.GSO{Partial: true, Start: uint16(wire.EthernetLen + ipLen), Offset: 16}
		if seg.Len() > seg.MSS && seg.MSS > 0 {
			gso.Kind, gso.Size, gso.Header = kind, uint16(seg.MSS),
				uint16(wire.EthernetLen+ipLen+headerLen)
		}
		h.Put(header[:])
	} else {
		e.sum(sum)
	}
	e.list[1], e.list[2], e.list[3], e.list[4], e.n = e.ip[:ipLen], header[:headerLen], seg.Payload,
		seg.Payload2, 5
	return s.send(way, gso, e)
}

// sum puts the segment's header in, with the checksum of all of it from that of the
// pseudo-header on.
func (e *envelope) sum(sum uint16) {
	seg, header := &e.segment, &e.transport
	h := &seg.Header
	n := h.Put(header[:])
	sum = wire.Sum(header[:n], sum)
	sum = wire.Sum(seg.Payload, sum)
	h.Checksum = ^wire.SumAt(seg.Payload2, len(seg.Payload), sum)
	h.Put(header[:])
}

// sendBare sends a segment without data that is not the machine's.
func (s *Stack) sendBare(c *Conn, h wire.TCP) error {
	e := newEnvelope()
	defer e.free()
	e.segment = tcp.Segment{Header: h}
	return s.sendSegment(c, e)
}

// putIP writes the header of IP for a segment, and tells its length and how
// super-frames of it are cut.
func (c *Conn) putIP(b []byte, length int, markable bool) (int, link.Kind) {
	tos := uint8(0)
	if markable {
		tos = wire.ECT0
	}
	if c.remote.Addr().Is4() {
		return c.putIPv4(b, length, tos), link.TCPv4
	}
	return c.putIPv6(b, length, tos), link.TCPv6
}

func (c *Conn) putIPv4(b []byte, length int, tos uint8) int {
	ip := wire.IPv4{
		TOS: tos, Length: uint16(wire.IPv4Len + length), TTL: defaultTTL, DontFragment: true,
		Protocol: wire.ProtocolTCP,
		Src:      c.local.Addr(), Dst: c.remote.Addr(), ID: uint16(c.stack.ids.Add(1)),
	}
	return ip.Put(b)
}

func (c *Conn) putIPv6(b []byte, length int, tos uint8) int {
	ip := wire.IPv6{
		TrafficClass: tos, Length: uint16(length), NextHeader: wire.ProtocolTCP,
		HopLimit: c.net.hopLimit, FlowLabel: c.label,
		Src: c.local.Addr(), Dst: c.remote.Addr(),
	}
	return ip.Put(b)
}
