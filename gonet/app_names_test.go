package gonet

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"

	"golang.org/x/net/dns/dnsmessage"
)

// names is a DNS server for a zone of the tests, over UDP and TCP (RFC 1035, RFC 7766), with EDNS
// (RFC 6891).
type names struct {
	zone     map[string][]netip.Addr // by name, with the dot
	udp, tcp atomic.Int32            // queries
}

// newNames returns a server with host.test in both families, old.test and new.test in one each, and
// many.test, whose addresses do not fit in a datagram. Queries for silent.test are not answered;
// those for other names get NXDOMAIN.
func newNames() *names {
	v4, v6 := netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("2001:db8::2")
	n := &names{zone: map[string][]netip.Addr{"host.test.": {v4, v6}, "old.test.": {v4},
		"new.test.": {v6}, "silent.test.": nil}}
	for i := range byte(200) {
		n.zone["many.test."] = append(n.zone["many.test."], netip.AddrFrom4([4]byte{10, 1, 0, i}))
	}
	return n
}

// leastUDP is the largest response over UDP, in bytes, to a client without EDNS (RFC 1035 section
// 2.3.4).
const leastUDP = 512

// answer returns the response to a query, truncated if it is too long, or nil for none.
func (n *names) answer(question []byte, udp bool) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil || m.Response || len(m.Questions) != 1 {
		return nil
	}
	q, most := m.Questions[0], 65535
	if udp {
		most = leastUDP
	}
	var opt []dnsmessage.Resource
	for _, r := range m.Additionals {
		if r.Header.Type == dnsmessage.TypeOPT {
			if udp {
				most = max(most, int(r.Header.Class))
			}
			opt = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: r.Header.Name,
				Type: dnsmessage.TypeOPT, Class: 1232}, Body: &dnsmessage.OPTResource{}}}
		}
	}
	list, ok := n.zone[strings.ToLower(q.Name.String())]
	m.Header = dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true,
		RecursionDesired: m.RecursionDesired}
	m.Answers, m.Authorities, m.Additionals = nil, nil, opt
	switch {
	case ok && list == nil:
		return nil
	case !ok:
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range list {
		h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 60}
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h,
				Body: &dnsmessage.AResource{A: a.As4()}})
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h,
				Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	b, err := m.Pack()
	if err == nil && len(b) > most {
		m.Truncated, m.Answers = true, nil
		b, err = m.Pack()
	}
	if err != nil {
		return nil
	}
	return b
}

// serve answers datagrams until the socket is closed.
func (n *names) serve(p net.PacketConn) {
	b := make([]byte, 4096)
	for {
		got, from, err := p.ReadFrom(b)
		if err != nil {
			return
		}
		n.udp.Add(1)
		if a := n.answer(b[:got], true); a != nil {
			_, _ = p.WriteTo(a, from) // the client checks
		}
	}
}

// serveTCP answers queries until the listener is closed. For a query without an answer it closes
// the connection.
func (n *names) serveTCP(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = c.Close() }()
			for {
				var length [2]byte
				if _, err := io.ReadFull(c, length[:]); err != nil {
					return
				}
				q := make([]byte, binary.BigEndian.Uint16(length[:]))
				if _, err := io.ReadFull(c, q); err != nil {
					return
				}
				n.tcp.Add(1)
				a := n.answer(q, false)
				if a == nil {
					return
				}
				if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(a))),
					a...)); err != nil {
					return
				}
			}
		}()
	}
}
