package load

// Echo requests and replies as they are on the wire, and the raw socket that they pass.

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	icmpHeader  = 8 // bytes: type, code, checksum, identifier, sequence number (RFC 792)
	ipv4Header  = 20
	echoReply   = 0
	echoRequest = 8
	maxPayload  = 65535 - ipv4Header - icmpHeader // bytes
	maxPingers  = 60_000                          // identifiers have 16 bits
)

// echoes makes the echo requests of one thread's pingers, and reads the replies.
type echoes struct {
	fd      int32
	first   uint16 // the identifier of pinger 0
	parts   uint16
	part    uint16
	pattern *echo
	packet  []byte
}

func newEchoes(p *Plan, part, parts int) echoes {
	return echoes{
		fd: -1, first: uint16(p.Seed), part: uint16(part), parts: uint16(parts),
		pattern: newEcho(p), packet: make([]byte, icmpHeader+p.Load.SizeBytes),
	}
}

// openSocket makes the socket. It hears from its peer only, and of that only replies to
// its own pingers.
func (g *echoes) openSocket(to *unix.SockaddrInet4, count int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC,
		unix.IPPROTO_ICMP)
	if err != nil {
		return fmt.Errorf("a raw socket, which needs CAP_NET_RAW: %w", err)
	}
	g.fd = int32(fd)
	filter := g.filter(uint32(count))
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}); err != nil {
		return fmt.Errorf("attaching a filter: %w", err)
	}
	for _, option := range [][2]int{{unix.SO_RCVBUFFORCE, unix.SO_RCVBUF},
		{unix.SO_SNDBUFFORCE, unix.SO_SNDBUF}} {
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, option[0], pingBuffer) == nil {
			continue
		}
		// as much as may be
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option[1], pingBuffer); err != nil {
			return fmt.Errorf("sizing the socket's buffers: %w", err)
		}
	}
	if err := unix.Connect(fd, to); err != nil {
		return fmt.Errorf("connecting it to %v: %w", to.Addr, err)
	}
	g.forget()
	return nil
}

// forget drops what came in before the filter was there.
func (g *echoes) forget() {
	var any [1]byte
	for {
		if _, e := rawRead(g.fd, any[:]); e != 0 {
			return
		}
	}
}

// filter passes echo replies whose identifier is that of one of this thread's pingers,
// of count in all.
func (g *echoes) filter(count uint32) []unix.SockFilter {
	const drop = 0
	return []unix.SockFilter{
		// X = length of the header of IP
		{Code: unix.BPF_LDX | unix.BPF_MSH | unix.BPF_B, K: 0},
		// A = type
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_IND, K: 0},
		// else drop
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: echoReply, Jf: 6},
		// A = identifier
		{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_IND, K: 4},
		// A = pinger
		{Code: unix.BPF_ALU | unix.BPF_SUB | unix.BPF_K, K: uint32(g.first)},
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xffff},       //
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: count, Jt: 2}, // drop
		// A = its thread
		{Code: unix.BPF_ALU | unix.BPF_MOD | unix.BPF_K, K: uint32(g.parts)},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(g.part), Jt: 1, Jf: 0}, // take
		{Code: unix.BPF_RET | unix.BPF_K, K: drop},
		{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 18}, // all of it
	}
}

func (g *echoes) close() {
	if g.fd >= 0 {
		unix.Close(int(g.fd))
		g.fd = -1
	}
}

// compose writes the next ping of a pinger.
func (g *echoes) compose(c *conn) {
	p := g.packet
	p[0], p[1], p[2], p[3] = echoRequest, 0, 0, 0
	binary.BigEndian.PutUint16(p[4:], g.first+uint16(c.id))
	binary.BigEndian.PutUint16(p[6:], uint16(c.sent))
	fillPattern(g.pattern.key(c), c.sent, 0, p[icmpHeader:])
	binary.BigEndian.PutUint16(p[2:], ^onesSum(p))
}

// onesSum is the ones' complement sum of the Internet's checksums (RFC 1071); over what carries its
// checksum it is 0xffff.
func onesSum(p []byte) uint16 {
	var sum uint64
	for ; len(p) >= 4; p = p[4:] {
		sum += uint64(binary.BigEndian.Uint32(p))
	}
	if len(p) >= 2 {
		sum += uint64(binary.BigEndian.Uint16(p)) << 16
		p = p[2:]
		if len(p) == 1 {
			sum += uint64(p[0]) << 8
		}
	} else if len(p) == 1 {
		sum += uint64(p[0]) << 24
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return uint16(sum)
}

// A reply is a packet that was read, parsed.
type reply struct {
	pinger  uint16 // its place among all threads'
	number  uint16 // of the ping, its last 16 bits
	payload []byte
}

// parseReply reads a packet of IPv4. The socket has checked nothing but that it is IP from the
// peer, and the filter that it is a reply to one of ours: the kernel looks at the checksum of ICMP
// after raw sockets do.
func (g *echoes) parseReply(p []byte) (r reply, ok bool) {
	if len(p) < ipv4Header || p[0]>>4 != 4 {
		return r, false
	}
	header := int(p[0]&15) * 4
	if header < ipv4Header || len(p) < header+icmpHeader {
		return r, false
	}
	m := p[header:]
	if m[0] != echoReply || m[1] != 0 || onesSum(m) != 0xffff {
		return r, false
	}
	r.pinger = binary.BigEndian.Uint16(m[4:]) - g.first
	r.number = binary.BigEndian.Uint16(m[6:])
	r.payload = m[icmpHeader:]
	return r, true
}

// number is the ping whose last 16 bits these are, of those that c has sent; false if none can be.
func (c *conn) number(low uint16) (uint64, bool) {
	back := uint64(uint16(c.sent) - low) // pings ago
	if back == 0 || back > c.sent {
		return 0, false
	}
	return c.sent - back, true
}
