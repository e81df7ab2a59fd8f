package gonet

import (
	"net/netip"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// maxDatagrams bounds the datagrams in a super-frame that is received: as many as Linux sends
// (UDP_MAX_SEGMENTS, linux/udp.h).
const maxDatagrams = 128

// sendDatagrams sends b as one datagram, or if info has a size of segments as many: in super-frames
// if the link takes them, and else one by one. It returns the number of bytes in the datagrams that
// were sent before an error. toSelf is as for sendUDP.
func (s *Stack) sendDatagrams(from, to netip.AddrPort, info PacketInfo, b []byte,
	toSelf bool) (int, error) {
	most := len(b)
	if info.Segment > 0 && info.Segment < len(b) {
		most = info.Segment * s.datagramsPerFrame(to.Addr(), info.Segment)
	}
	for sent := 0; ; {
		part := b[sent:min(sent+most, len(b))]
		if err := s.sendUDP(from, to, info, part, toSelf); err != nil {
			return sent, err
		}
		if sent += len(part); sent == len(b) {
			return sent, nil
		}
	}
}

// datagramsPerFrame returns how many datagrams with so many bytes one frame to an address takes. It
// is 1 if the link takes no super-frames, or if each datagram needs fragments.
func (s *Stack) datagramsPerFrame(to netip.Addr, size int) int {
	headers := headerLen(to) + wire.UDPLen
	if !s.link.features.UDP || !s.link.features.Partial || headers+size > s.mtuTo(to) {
		return 1
	}
	return max(1, min(link.MaxDatagrams, (s.link.features.MaxSuper-headers)/size))
}

// packetsOf returns how many packets a link makes of one. length is that of the packet in bytes,
// with its IP header.
func (s *Stack) packetsOf(gso *link.GSO, length int) int {
	if gso.Kind == link.Plain {
		return 1
	}
	size := int(gso.Size)
	return max(1, (s.link.header+length-int(gso.Header)+size-1)/size)
}
