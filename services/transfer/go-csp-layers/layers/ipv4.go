package layers

import (
	"net/netip"
	"sync/atomic"

	"interleave/gonet/wire"
)

// headroom is the room for the headers below a transport protocol's.
const headroom = wire.EthernetLen + wire.IPv4Len

// ttl is the default of RFC 1700.
const ttl = 64

// datagram is what IPv4 passes to a transport protocol.
type datagram struct {
	src, dst netip.Addr
	payload  []byte
	isLocal  bool // it came over the loopback, without a checksum
}

// ipv4 is the layer of packets: a dealer, and a reader for each protocol that is bound.
type ipv4 struct {
	stack   *Stack
	in      chan frame
	readers map[wire.Protocol]*ipReader
	id      atomic.Uint32 // of the last datagram that was sent in fragments
}

func newIPv4(s *Stack) *ipv4 {
	return &ipv4{stack: s, in: make(chan frame, queueLen),
		readers: map[wire.Protocol]*ipReader{}}
}

// bind has the datagrams of a protocol read by a goroutine of their own, which passes them on. It
// is called before the layer starts.
func (i *ipv4) bind(p wire.Protocol, out chan<- datagram) {
	i.readers[p] = &ipReader{stack: i.stack, in: make(chan frame, queueLen), out: out,
		assembled: make(chan assembly), assemblers: map[fragmentKey]chan<- fragment{}}
}

func (i *ipv4) start() {
	i.stack.processes.Go(i.deal)
	for _, r := range i.readers {
		i.stack.processes.Go(r.read)
	}
}

// deal is the packet dealer of IPv4: it hands each packet to the reader of its protocol.
func (i *ipv4) deal() {
	for f := range i.in {
		if len(f.payload) < wire.IPv4Len {
			continue
		}
		const protocolAt = 9 // its byte in the header
		if r := i.readers[wire.Protocol(f.payload[protocolAt])]; r != nil {
			r.in <- f
		}
	}
	for _, r := range i.readers {
		close(r.in)
	}
}

// route returns the port that leads to an address, and the next hop. There is no port without a
// route.
func (s *Stack) route(dst netip.Addr) (p *port, hop netip.Addr) {
	switch e := s.ethernet; {
	case s.owns(dst):
		return e.local, dst
	case e.external == nil:
		return nil, dst
	case s.config.Address.Contains(dst):
		return e.external, dst
	case s.config.Gateway.IsValid():
		return e.external, s.config.Gateway
	}
	return nil, dst
}

// send sends a datagram, which begins after headroom bytes of b. It blocks while the next hop's MAC
// is being asked for; a datagram that cannot be sent is lost.
func (i *ipv4) send(src, dst netip.Addr, p wire.Protocol, b []byte) {
	out, hop := i.stack.route(dst)
	if out == nil {
		return
	}
	var mac wire.MAC
	if !out.isLocal {
		var ok bool
		if mac, ok = i.stack.arp.resolve(hop); !ok {
			return
		}
	}
	mtu := out.device.MTU()
	h := wire.IPv4{TTL: ttl, Protocol: p, Src: src, Dst: dst}
	if size := len(b) - wire.EthernetLen; size <= mtu {
		h.Length, h.DontFragment = uint16(size), true
		h.Put(b[wire.EthernetLen:])
		i.stack.ethernet.send(out, mac, wire.EtherIPv4, b)
		return
	}
	h.ID = uint16(i.id.Add(1))
	payload := b[headroom:]
	piece := (mtu - wire.IPv4Len) &^ 7 // offsets count units of eight bytes
	for at := 0; at < len(payload); at += piece {
		n := min(piece, len(payload)-at)
		h.Length, h.Offset = uint16(wire.IPv4Len+n), uint16(at)
		h.MoreFragments = at+n < len(payload)
		f := make([]byte, headroom+n)
		h.Put(f[wire.EthernetLen:])
		copy(f[headroom:], payload[at:])
		i.stack.ethernet.send(out, mac, wire.EtherIPv4, f)
	}
}
