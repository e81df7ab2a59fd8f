package slirp

import (
	"net/netip"
	"sync/atomic"
	"time"

	"interleave/gonet/dhcp"
	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// station is the link of the stack. It does what a gateway does and a host does not: it answers for
// the gateway's address, leases addresses, advertises itself as a router, and refuses what the
// stack would drop without a word. The stack gets the rest.
//
// The gateway's address is none of the stack's own: connections to it go to the forwarders, which
// map it to the host's loopback.
//
// The goroutine that reads the link, the stack's dealer, owns the fields without a note.
type station struct {
	link.Link
	network   Network
	mac       wire.MAC // the gateway's, and so the stack's; constant
	noDNS     bool     // constant
	leases    leases
	lastError time.Time // when the last ICMP error was sent

	spoofed, refused atomic.Uint64 // packets; any goroutine
}

var broadcast4 = netip.AddrFrom4([4]byte{255, 255, 255, 255})

func newStation(l link.Link, network Network, noDNS bool) *station {
	gateway := network.Gateway.As4()
	return &station{Link: l, network: network, noDNS: noDNS,
		// libslirp's address of a gateway; locally administered
		mac:    wire.MAC{0x52, 0x55, gateway[0], gateway[1], gateway[2], gateway[3]},
		leases: newLeases(network, noDNS)}
}

// Read implements link.Link.
func (s *station) Read(batch []link.Frame) (int, error) {
	n, err := s.Link.Read(batch)
	return link.Filter(batch[:n], s.takes), err
}

// takes processes a frame, and returns whether the stack must not see it. The stack counts frames
// that are malformed, or for other stations.
func (s *station) takes(f *link.Frame) bool {
	e, b, err := wire.ParseEthernet(f.Data)
	if err != nil || e.Tagged && e.Tag&0xfff != 0 || e.Dst != s.mac && !e.Dst.IsGroup() {
		return false
	}
	switch {
	case e.Type == wire.EtherARP:
		return s.takesARP(b)
	case e.Type == wire.EtherIPv4 && len(b) >= wire.IPv4Len:
		return s.takesIPv4(&e, b, f.GSO.Valid || f.GSO.Partial)
	case e.Type == wire.EtherIPv6 && len(b) >= wire.IPv6Len && s.network.has6():
		return s.takesIPv6(&e, b)
	}
	return false
}

// takesARP answers a request for the gateway's address.
func (s *station) takesARP(b []byte) bool {
	m, err := wire.ParseARP(b)
	if err != nil || m.Op != wire.ARPRequest || m.TargetIP != s.network.Gateway ||
		m.SenderMAC.IsGroup() {
		return false
	}
	reply := wire.ARP{Op: wire.ARPReply, SenderMAC: s.mac, SenderIP: m.TargetIP,
		TargetMAC: m.SenderMAC, TargetIP: m.SenderIP}
	e := wire.Ethernet{Dst: m.SenderMAC, Src: s.mac, Type: wire.EtherARP}
	frame := make([]byte, wire.EthernetLen+wire.ARPLen)
	reply.Put(frame[e.Put(frame):])
	_ = s.Write(link.GSO{}, frame) // the reader of the link sees a failed link
	return true
}

// takesIPv4 takes DHCP, and what has a wrong source or a destination where nobody is.
func (s *station) takesIPv4(e *wire.Ethernet, b []byte, valid bool) bool {
	src, dst := netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	n := &s.network
	switch {
	case (dst == broadcast4 || dst == n.Gateway) && s.takesDHCP(b, valid):
	case !n.isGuest(src):
		s.spoofed.Add(1)
	case e.Dst.IsGroup(), dst.IsMulticast(), dst == broadcast4, dst == lastOf(n.Prefix),
		dst == n.Gateway, dst == n.DNS:
		return false
	case n.Prefix.Contains(dst):
		s.refuse(e.Src, src, b, wire.UnreachableHost)
	case !isOutside(dst):
		s.refuse(e.Src, src, b, wire.UnreachableAdministrative)
	default:
		return false
	}
	return true
}

// takesDHCP processes a packet that is a message for the server.
func (s *station) takesDHCP(b []byte, valid bool) bool {
	m, ok := dhcp.ParsePacket(b, dhcp.ServerPort, valid)
	if !ok {
		return false
	}
	reply, ok := s.leases.answer(&m, time.Now())
	if !ok {
		return true
	}
	// RFC 2131 section 4.1
	to, dst := m.MAC, reply.Yours
	switch {
	case isSet(m.Client) && reply.Type() == dhcp.Ack:
		dst = m.Client
	case m.Broadcast || reply.Type() == dhcp.Nak:
		to, dst = wire.Broadcast, broadcast4
	}
	body := reply.Append(make([]byte, wire.UDPLen))
	h := wire.UDP{SrcPort: dhcp.ServerPort, DstPort: dhcp.ClientPort, Length: uint16(len(body))}
	h.Put(body)
	h.Checksum = ^wire.Sum(body, wire.PseudoSum(s.network.Gateway, dst, wire.ProtocolUDP,
		len(body)))
	if h.Checksum == 0 {
		h.Checksum = 0xffff // 0 means no checksum (RFC 768)
	}
	h.Put(body)
	s.send(to, s.network.Gateway, dst, wire.ProtocolUDP, gatewayTTL, body)
	return true
}

// isSet tells whether an address field of a message has a value.
func isSet(a netip.Addr) bool { return a.IsValid() && !a.IsUnspecified() }

// The TTL, or hop limit, of the gateway's packets: the default of RFC 1700, and that of neighbour
// discovery, which no router lets pass (RFC 4861 section 11.2).
const (
	gatewayTTL = 64
	ndHopLimit = 255
)

// send sends an IP packet to a station from the gateway, from whose address the stack cannot send.
// Any goroutine.
func (s *station) send(to wire.MAC, src, dst netip.Addr, protocol wire.Protocol, ttl uint8,
	body []byte) {
	var header [wire.EthernetLen + wire.IPv6Len]byte
	e := wire.Ethernet{Dst: to, Src: s.mac, Type: wire.EtherIPv4}
	if dst.Is6() {
		e.Type = wire.EtherIPv6
	}
	n := e.Put(header[:])
	if dst.Is4() {
		// A packet that is never fragmented needs no ID (RFC 6864 section 4.1).
		ip := wire.IPv4{Length: uint16(wire.IPv4Len + len(body)), DontFragment: true, TTL: ttl,
			Protocol: protocol, Src: src, Dst: dst}
		n += ip.Put(header[n:])
	} else {
		ip := wire.IPv6{Length: uint16(len(body)), NextHeader: protocol, HopLimit: ttl, Src: src,
			Dst: dst}
		n += ip.Put(header[n:])
	}
	_ = s.Write(link.GSO{}, header[:n], body) // the reader of the link sees a failed link
}
