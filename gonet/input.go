package gonet

import (
	"errors"
	"net/netip"
	"slices"

	"interleave/gonet/internal/demux"
	"interleave/gonet/link"
	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// This file is the story of a frame, from the link to the goroutine that reads, in order:
//
//	deal           the dealer reads a batch of frames from the link
//	input          Ethernet, unless the link has none: inputL3
//	inputIPv4      the IP header; inputIPv6, and inputChain for its extension headers
//	inputTransport the protocol above
//	inputTCP       the connection by its flow, and the segment to its machine (package tcp)
//	inputUDP       the socket by its address and port, and the datagram into its queue
//	flush, update  after the batch: segments that are due are sent, and users are woken or called
//
// What turns off on the way has a file of its own: ARP (arp.go), fragments (reassembly.go), ICMP
// (icmp.go, icmpv6.go) with neighbour discovery (nd.go) and routers (router.go), IGMP and MLD
// (igmp.go, mld.go), and segments without a connection (handshake.go). output.go is the way back.

// deal is the dealer: the goroutine that owns the tables, from New until the link is closed. It
// reads a batch of frames, runs the claims that have arrived, and then sends what the batch has
// made due.
func (s *Stack) deal() {
	batch := make([]link.Frame, batchLen)
	for {
		s.limitHeldACKs()
		n, err := s.link.Read(batch)
		if err != nil {
			s.end(err)
			return
		}
		s.ageHeldACKs()
		s.dealer.now = s.clock()
		s.inputFrames(batch[:n])
		s.dealer.loan = nil
		s.flush()
		s.serveClaims()
		s.flush()
		s.sendHeldACKs()
		s.runLoopback()
	}
}

// inputFrames runs frames through the layers. Which layer is the first is decided once for all.
// Dealer only.
func (s *Stack) inputFrames(frames []link.Frame) {
	if s.link.features.L3 {
		for i := range frames {
			s.inputL3(&frames[i])
		}
		return
	}
	for i := range frames {
		s.input(&frames[i])
	}
}

// inputL3 runs an IP packet, a frame of an L3 link, through the layers. Dealer only.
func (s *Stack) inputL3(f *link.Frame) {
	s.stats.received.Add(1)
	s.dealer.loan = nil
	if f.Buffer != nil {
		s.dealer.loan = f.Buffer
	}
	version := byte(0)
	if len(f.Data) > 0 {
		version = f.Data[0] >> 4
	}
	switch version {
	case 4:
		s.inputIPv4(f.Data, false, &f.GSO)
	case 6:
		s.inputIPv6(f.Data, wire.Ethernet{}, &f.GSO)
	default:
		s.stats.malformed.Add(1)
	}
}

// input runs an Ethernet frame through the layers. Dealer only.
func (s *Stack) input(f *link.Frame) {
	s.stats.received.Add(1)
	s.dealer.loan = nil
	if f.Buffer != nil {
		s.dealer.loan = f.Buffer
	}
	e, b, err := wire.ParseEthernet(f.Data)
	if err != nil {
		s.stats.malformed.Add(1)
		return
	}
	if e.Tagged && e.Tag&0xfff != 0 || e.Dst != s.link.mac && !e.Dst.IsGroup() ||
		e.Src == s.link.mac && !s.dealer.fromLoopback {
		// The frame is tagged for a VLAN, is for another station, or is our own and a switch has
		// sent it back.
		s.stats.foreign.Add(1)
		return
	}
	switch e.Type {
	case wire.EtherIPv4:
		s.inputIPv4(b, e.Dst.IsGroup(), &f.GSO)
	case wire.EtherIPv6:
		s.inputIPv6(b, e, &f.GSO)
	case wire.EtherARP:
		s.inputARP(b, e.Dst == s.link.mac)
	default:
		s.stats.foreign.Add(1)
	}
}

// inputIPv4 processes a packet. group tells whether its frame was to a group, and gso what the link
// says of it. Dealer only.
func (s *Stack) inputIPv4(b []byte, group bool, gso *link.GSO) {
	h, body, err := wire.ParseIPv4(b)
	if err != nil {
		s.stats.malformed.Add(1)
		return
	}
	broadcast := s.addresses.isBroadcast(h.Dst) || h.Dst.IsMulticast()
	foreign := !broadcast && !s.addresses.isOurs(h.Dst)
	if h.Dst.IsMulticast() && h.Dst != allHosts && !s.groups.hasJoined(h.Dst) ||
		foreign && !s.forward.takesFrom(h.Src, h.Dst) ||
		group && !broadcast || h.Src.IsMulticast() ||
		s.addresses.isBroadcast(h.Src) || s.isMartian(h.Src, h.Dst) {
		// The packet is for another host, or for a group that we are not in, or its source is not a
		// host (RFC 1122 sections 3.2.1.3 and 3.3.6).
		s.stats.foreign.Add(1)
		return
	}
	// A host without an address yet sends UDP (DHCP), and a switch without one queries for groups
	// (RFC 4541 section 2.1.1).
	if h.Src.IsUnspecified() && h.Protocol != wire.ProtocolUDP &&
		h.Protocol != wire.ProtocolIGMP {
		s.stats.foreign.Add(1)
		return
	}
	if len(h.Options) > 0 {
		if route, err := wire.CheckIPv4Options(h.Options); err != nil || route {
			s.stats.malformed.Add(1)
			return
		}
	}
	if h.IsFragment() {
		s.inputFragment(fragmentKey{h.Src, h.Dst, h.Protocol, uint32(h.ID)}, b[:h.Len()],
			fragment{int(h.Offset), body, h.MoreFragments, h.Protocol})
		return
	}
	s.inputTransport(h.Protocol, &packet{src: h.Src, dst: h.Dst, group: broadcast, foreign: foreign,
		valid: gso.Valid, segment: segmentOf(gso), header: b[:h.Len()], body: body})
}

// isMartian tells whether a packet cannot have come from the wire: its source is ours, or one of
// its addresses is a loopback address (RFC 1122 section 3.2.1.3 g, RFC 4291 section 2.5.3).
func (s *Stack) isMartian(src, dst netip.Addr) bool {
	return !s.dealer.fromLoopback &&
		(src.IsLoopback() || dst.IsLoopback() || s.addresses.isOurs(src))
}

// inputIPv6 processes a packet. e is the header of its frame, zero on an L3 link, and gso what the
// link says of it. Dealer only.
func (s *Stack) inputIPv6(b []byte, e wire.Ethernet, gso *link.GSO) {
	h, body, err := wire.ParseIPv6(b)
	if err != nil {
		s.stats.malformed.Add(1)
		return
	}
	multicast := h.Dst.IsMulticast()
	n := s.addresses.current()
	foreign := !n.isForUs(h.Dst) && !s.groups.hasJoined(h.Dst)
	switch {
	case n.mtu6 == 0, foreign && !s.forward.takesFrom(h.Src, h.Dst),
		e.Dst.IsGroup() && !multicast, h.Src.IsMulticast(),
		s.isMartian(h.Src, h.Dst) && !isConflictingAdvert(&h, body),
		// An IPv4-mapped address never stands in a packet on a wire, and would be confused with
		// IPv4 flows.
		h.Src.Is4In6(), h.Dst.Is4In6():
		s.stats.foreign.Add(1)
		return
	}
	s.inputChain(h.NextHeader, &packet{
		src: h.Src, dst: h.Dst, group: multicast, foreign: foreign, valid: gso.Valid,
		segment:  segmentOf(gso),
		hopLimit: h.HopLimit, from: e.Src, header: b[:wire.IPv6Len], body: body,
	})
}

// isConflictingAdvert tells whether a packet from an address of ours is the neighbour advertisement
// of another station that has this address. Duplicate address detection needs those.
func isConflictingAdvert(h *wire.IPv6, body []byte) bool {
	return h.NextHeader == wire.ProtocolICMPv6 && len(body) > 0 &&
		body[0] == wire.ICMPv6NeighborAdvert && !h.Src.IsLoopback()
}

// inputChain walks the extension headers: next is the number of the first, p.body their bytes. The
// upper layer gets what follows them. Dealer only.
func (s *Stack) inputChain(next wire.Protocol, p *packet) {
	c, err := wire.ParseChain(next, p.body)
	if err != nil {
		s.stats.malformed.Add(1)
		var bad *wire.Problem
		if errors.As(err, &bad) && !bad.Silent {
			s.sendICMPError(p, icmpErrorMessage{kind: wire.ICMPv6ParameterProblem, code: bad.Code,
				rest: bad.Pointer, toGroup: bad.Code == wire.ProblemV6Option && !bad.Unicast})
		}
		return
	}
	if c.IsFragment {
		if p.reassembled { // a fragment inside a fragment
			s.stats.malformed.Add(1)
			return
		}
		f := fragment{int(c.Fragment.Offset), c.Payload, c.Fragment.More, c.Protocol}
		if f.more && len(f.body)%8 != 0 {
			s.stats.malformed.Add(1)
			// pointer to the Payload Length field (RFC 8200 section 4.5)
			s.sendICMPError(p, icmpErrorMessage{kind: wire.ICMPv6ParameterProblem, rest: 4})
			return
		}
		s.inputFragment(fragmentKey{p.src, p.dst, 0, c.Fragment.ID},
			p.header[:wire.IPv6Len:wire.IPv6Len], f)
		return
	}
	whole := len(p.body)
	p.body, p.nextAt, p.alert = c.Payload, c.NextAt, c.RouterAlert
	if c.Unfragmentable > 0 && !p.reassembled { // header and body are views of one buffer
		p.header = p.header[:len(p.header)+whole-len(c.Payload)]
	}
	s.inputTransport(c.Protocol, p)
}

func (s *Stack) inputTransport(protocol wire.Protocol, p *packet) {
	switch {
	case protocol == wire.ProtocolICMPv6 && p.src.Is6():
		s.inputICMPv6(p)
	case p.src.Is6() && p.src.IsUnspecified():
		s.stats.malformed.Add(1) // no answer could be sent
	case protocol == wire.ProtocolTCP:
		s.inputTCP(p)
	case protocol == wire.ProtocolUDP:
		s.inputUDP(p)
	case protocol == wire.ProtocolICMP && p.src.Is4():
		s.inputICMP(p)
	case protocol == wire.ProtocolIGMP && p.src.Is4():
		s.inputIGMP(p)
	case protocol == wire.ProtocolNoNext && p.src.Is6(): // an empty packet
	default:
		s.stats.foreign.Add(1)
		s.sendICMPError(p, protocolUnreachable)
	}
}

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
	key := demux.Flow{Local: p.dst.As16(), Remote: p.src.As16(), LocalPort: h.DstPort,
		RemotePort: h.SrcPort}
	if c := s.connFor(key, &h); c != nil {
		s.inputConn(c, &h, body, p.marked())
		return
	}
	s.inputUnconnected(p, &h, body, key)
}

// connFor returns the connection that a segment is for, or nil. A SYN may end one in TIME-WAIT.
// Dealer only.
func (s *Stack) connFor(key demux.Flow, h *wire.TCP) *Conn {
	c := s.tcp.conns[key]
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
	if now := c.machineTime(s.dealer.now); c.async != nil && c.async.takesNow() {
		c.machine.InputBorrowed(h, body, s.dealer.loan, now)
	} else {
		c.machine.InputLoan(h, body, s.dealer.loan, now)
	}
	c.mu.Unlock()
	s.queueUpdate(c)
}

// queueUpdate has the next flush update a connection. Dealer only.
func (s *Stack) queueUpdate(c *Conn) {
	if !c.dealer.updateQueued {
		c.dealer.updateQueued = true
		s.tcp.toUpdate = append(s.tcp.toUpdate, c)
	}
}

func (s *Stack) inputUDP(p *packet) {
	h, body, err := wire.ParseUDP(p.body)
	noChecksum := h.Checksum == 0 && p.src.Is4() // IPv6 must have a checksum (RFC 8200 section 8.1)
	if err != nil || !noChecksum && !p.valid &&
		wire.Sum(p.body[:h.Length], wire.PseudoSum(p.src, p.dst, wire.ProtocolUDP,
			int(h.Length))) != 0xffff {
		s.stats.malformed.Add(1)
		return
	}
	from, to := netip.AddrPortFrom(p.src, h.SrcPort), netip.AddrPortFrom(p.dst, h.DstPort)
	if p.segment == 0 || p.segment >= len(body) {
		s.deliverUDP(p, from, to, body)
	} else {
		s.deliverSuperUDP(p, from, to, body)
	}
}

// deliverSuperUDP delivers the datagrams of a super-frame, each as a copy: one that waits to be
// read must not keep the memory of all. Dealer only.
func (s *Stack) deliverSuperUDP(p *packet, from, to netip.AddrPort, body []byte) {
	if len(body) > maxDatagrams*p.segment {
		s.stats.malformed.Add(1)
		return
	}
	for datagram := range slices.Chunk(body, p.segment) {
		s.deliverUDP(p, from, to, datagram)
	}
}

// deliverUDP gives a datagram to the socket or the sockets that it is for. Dealer only.
func (s *Stack) deliverUDP(p *packet, from, to netip.AddrPort, body []byte) {
	if to.Addr().IsMulticast() {
		if !s.deliverToGroup(datagram{from: from, info: p.info(), body: body}, to) {
			s.stats.foreign.Add(1)
		}
		return
	}
	var u *PacketConn
	if p.foreign {
		if u = s.boundExactly(to, from); u == nil {
			u = s.newFlow(p, to, from)
		}
		if u == nil {
			return // it was counted
		}
	} else if u = s.socketFor(to, from); u == nil {
		s.stats.foreign.Add(1)
		s.sendICMPError(p, portUnreachable)
		return
	}
	if w := u.flow; w != nil && w.take != nil {
		s.queueForHandler(w, body)
		return
	}
	u.deliver(datagram{from: from, info: p.info(),
		body: append(make([]byte, 0, len(body)), body...)})
}

func (p *PacketConn) deliver(d datagram) {
	if p.flow != nil {
		p.flow.touch()
	}
	if !p.in.put(d) {
		p.stack.stats.droppedSockets.Add(1)
	}
}

// flush updates each connection that was queued since the last flush, and wakes or calls its users.
// Those that user goroutines and callbacks have queued meanwhile are updated, too, but only once: a
// callback that always queues another connection must not keep the dealer from the link.
func (s *Stack) flush() {
	s.handDatagrams()
	s.updateAll()
	if s.tcp.async.waits.Load() {
		s.takeAsync()
		s.updateAll()
	}
}

// updateAll updates the connections of toUpdate. An update may queue a connection again: one that
// finds its listener's accept queue full is reset.
func (s *Stack) updateAll() {
	for i := 0; i < len(s.tcp.toUpdate); i++ {
		c := s.tcp.toUpdate[i]
		s.tcp.toUpdate[i] = nil
		c.update(s.dealer.now)
	}
	s.tcp.toUpdate = s.tcp.toUpdate[:0]
}

// update sends the segments that are due, sets the alarm, and wakes waiters. It runs after
// segments, a timer or a claim have changed the machine. Dealer only; the caller does not hold mu.
func (c *Conn) update(now tcp.Time) {
	c.dealer.updateQueued = false
	if c.async != nil {
		c.async.update(now)
		return
	}
	c.mu.Lock()
	now = c.machineTime(now)
	c.machine.Postpone(now)
	c.transmitByDealer(now, !c.closed) // a user who has closed sends nothing more
	if left, ok := c.shrink(); ok {
		c.mu.Unlock()
		c.stack.keepRemnant(c, left, now)
		return
	}
	c.armLater(now)
	c.wake()
	held := c.holdACK()
	over := c.newlyClosed()
	accept := c.machine.State() >= tcp.Established && !c.delivered
	c.delivered = c.delivered || accept
	waits := c.machine.State() == tcp.TimeWait && !c.dealer.inTimeWait
	c.dealer.inTimeWait = c.dealer.inTimeWait || waits
	c.mu.Unlock()
	if held {
		h := &c.stack.tcp.heldACKs
		h.young = append(h.young, c)
	}
	if accept && c.listener != nil {
		c.listener.deliver(c)
	}
	switch {
	case over:
		c.stack.removeConn(c)
	case waits:
		c.stack.enterTimeWait(c)
	}
}

// wake signals the goroutines whose condition holds now. The caller holds mu.
func (c *Conn) wake() {
	over := c.machine.State() == tcp.Closed || c.stackErr != nil || c.readClosed
	if c.readable != nil && (over || c.machine.Readable() > 0 || c.machine.EndOfStream()) {
		signal(c.readable)
	}
	// A writer that is woken for a few bytes would soon sleep again.
	if c.writable != nil && (over || c.machine.Writable() >= c.writeThreshold() &&
		c.machine.State() >= tcp.Established) {
		signal(c.writable)
	}
}
