package gonet

import (
	"interleave/gonet/link"
	"interleave/gonet/neighbour"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// transmit sends all segments that are due. With hold it leaves an acknowledgement that would go
// alone and may be held: see heldack.go. The caller holds mu.
func (c *Conn) transmit(now tcp.Time, hold bool) {
	e := newEnvelope()
	c.transmitIn(e, now, hold)
	e.free()
}

// transmitByDealer is transmit for the dealer, which has an envelope of its own.
func (c *Conn) transmitByDealer(now tcp.Time, hold bool) {
	e := &c.stack.dealer.envelope
	c.transmitIn(e, now, hold)
	e.reset()
}

func (c *Conn) transmitIn(e *envelope, now tcp.Time, hold bool) {
	for {
		more := false
		if hold {
			more = c.machine.OutputNow(&e.segment, now)
		} else {
			more = c.machine.Output(&e.segment, now)
		}
		if !more {
			break
		}
		c.emit(e)
	}
}

func (c *Conn) emit(e *envelope) {
	if err := c.stack.sendSegment(c, e); err != nil {
		c.machine.Unreachable(translate(err), true)
	}
}

// nextNeighbour returns the neighbour to which the connection's packets go. It looks the neighbour
// up again when the stack's network has changed, or when the neighbour has left the cache.
// The caller holds mu.
func (c *Conn) nextNeighbour() (*neighbour.Entry, error) {
	if n := c.stack.addresses.current(); n != c.net || c.neighbour.Removed() {
		nb, err := c.stack.neighbourFor(c.flow.RemoteEnd().Addr())
		if err != nil {
			return nil, err
		}
		was := c.neighbour
		c.net, c.neighbour = n, nb
		if self := c.stack.neighbours.self; was == self && nb != self {
			return nil, c.leaveLoopback()
		}
	}
	return c.neighbour, nil
}

// leaveLoopback gives a connection to an address that was ours, and is not any more, the segments
// of the link. The current one is too long for it, and is lost.
func (c *Conn) leaveLoopback() error {
	remote := c.flow.RemoteEnd().Addr()
	c.machine.PathMTU(c.stack.mtu(remote)-headerLen(remote)-wire.TCPLen, c.lastTime)
	return errTooLong
}

// sendSegment completes the segment in the envelope with its ports and IP header, and sends it. The
// checksum and the cutting of a super-frame are left to the link if it offers them.
func (s *Stack) sendSegment(c *Conn, e *envelope) error {
	nb, err := c.nextNeighbour()
	if err != nil {
		return err
	}
	seg := &e.segment
	h := &seg.Header
	h.SrcPort, h.DstPort = c.flow.LocalPort, c.flow.RemotePort
	if nb == s.neighbours.self {
		if s.loopSegment(c, seg) {
			s.link.Interrupt()
		}
		return nil
	}
	header := &e.transport
	headerLen := h.Len()
	length := headerLen + seg.Len()
	ipLen, kind := c.putIP(e.ip[:], length, seg.Markable)
	sum := wire.Sum([]byte{byte(length >> 8), byte(length)}, c.pseudo)
	var gso link.GSO
	if s.link.features.Partial {
		h.Checksum = sum
		gso = link.GSO{Partial: true, Start: uint16(s.link.header + ipLen), Offset: 16}
		if seg.Len() > seg.MSS && seg.MSS > 0 {
			gso.Kind, gso.Size, gso.Header = kind, uint16(seg.MSS),
				uint16(s.link.header+ipLen+headerLen)
		}
		h.Put(header[:])
	} else {
		e.putChecksum(sum)
	}
	e.list[1], e.list[2], e.list[3], e.list[4], e.n = e.ip[:ipLen], header[:headerLen], seg.Payload,
		seg.Payload2, 5
	return s.send(nb, gso, e)
}

// putChecksum writes the segment's header with its checksum, which starts from the sum of the
// pseudo header.
func (e *envelope) putChecksum(sum uint16) {
	seg, header := &e.segment, &e.transport
	h := &seg.Header
	n := h.Put(header[:])
	sum = wire.Sum(header[:n], sum)
	sum = wire.Sum(seg.Payload, sum)
	h.Checksum = ^wire.SumAt(seg.Payload2, len(seg.Payload), sum)
	h.Put(header[:])
}

// sendBare sends a segment without payload that the machine has not made, such as a cookie.
func (s *Stack) sendBare(c *Conn, h wire.TCP) error {
	e := newEnvelope()
	defer e.free()
	e.segment = tcp.Segment{Header: h}
	return s.sendSegment(c, e)
}

// maxFlowLabel is the largest flow label: 20 bits.
const maxFlowLabel = 1<<20 - 1

// putIP writes the IP header of a segment, and returns its length and the kind of its super-frames.
func (c *Conn) putIP(b []byte, length int, markable bool) (int, link.Kind) {
	tos := c.tos
	if markable {
		tos |= wire.ECT0
	}
	if c.flow.Is4() {
		return c.putIPv4(b, length, tos), link.TCPv4
	}
	return c.putIPv6(b, length, tos), link.TCPv6
}

func (c *Conn) putIPv4(b []byte, length int, tos uint8) int {
	c.packetID++
	local, remote := c.flow.Ends()
	ip := wire.IPv4{
		TOS: tos, Length: uint16(wire.IPv4Len + length), TTL: orElse(c.ttl, defaultTTL),
		DontFragment: true,
		Protocol:     wire.ProtocolTCP,
		Src:          local.Addr(), Dst: remote.Addr(), ID: c.packetID,
	}
	return ip.Put(b)
}

// putIPv6 writes an IPv6 header. The flow label keeps the packets of a connection on one path. It
// must not be predictable (RFC 6437 section 3).
func (c *Conn) putIPv6(b []byte, length int, tos uint8) int {
	local, remote := c.flow.Ends()
	ip := wire.IPv6{
		TrafficClass: tos, Length: uint16(length), NextHeader: wire.ProtocolTCP,
		HopLimit: orElse(c.ttl, c.net.hopLimit), FlowLabel: c.clock & maxFlowLabel,
		Src: local.Addr(), Dst: remote.Addr(),
	}
	return ip.Put(b)
}
