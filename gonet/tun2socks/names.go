package tun2socks

import (
	"container/list"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"

	"interleave/gonet/socks"
)

// names gives names addresses of a network, in which no host is. Hosts look a name up by DNS and
// connect to its address, and the server gets the name. The name that was used least recently gives
// its address to another one when there are too many.
type names struct {
	network netip.Prefix
	first   uint32 // the first address that a name may have
	most    int

	mu     sync.Mutex
	byName map[string]*list.Element
	byAddr map[netip.Addr]*list.Element
	lru    list.List // of *name; the last used one is in front
}

type name struct {
	text string
	addr netip.Addr
}

// maxNames bounds the names, of about 200 bytes each. A guess.
const maxNames = 1 << 16

// answerTTL is how long a host may keep an answer, in seconds. The address stays that of the name
// while fewer than maxNames others are looked up.
const answerTTL = 10

func newNames(network netip.Prefix) (*names, error) {
	if !network.Addr().Is4() || network.Bits() > 30 {
		return nil, fmt.Errorf("tun2socks: names in %v: not a network of IPv4 with 2 hosts or more",
			network)
	}
	network = network.Masked()
	first := network.Addr().As4()
	hosts := 1<<(32-network.Bits()) - 2 // without those of the network and of its broadcast
	return &names{network: network, first: binary.BigEndian.Uint32(first[:]) + 1,
		most: min(hosts, maxNames), byName: map[string]*list.Element{},
		byAddr: map[netip.Addr]*list.Element{}}, nil
}

// address returns the name for which an address stands.
func (n *names) address(a netip.AddrPort) (socks.Address, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.byAddr[a.Addr()]
	if e == nil {
		return socks.Address{}, fmt.Errorf("no name has the address %v any more", a.Addr())
	}
	n.lru.MoveToFront(e)
	return socks.Address{Name: e.Value.(*name).text, Port: a.Port()}, nil
}

// addressOf returns the address of a name.
func (n *names) addressOf(text string) netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.byName[text]
	switch {
	case e != nil:
		n.lru.MoveToFront(e)
	case n.lru.Len() < n.most:
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], n.first+uint32(n.lru.Len()))
		e = n.lru.PushFront(&name{addr: netip.AddrFrom4(b)})
	default:
		e = n.lru.Back()
		n.lru.MoveToFront(e)
		delete(n.byName, e.Value.(*name).text)
	}
	v := e.Value.(*name)
	v.text = text
	n.byName[text], n.byAddr[v.addr] = e, e
	return v.addr
}

// The constants of DNS (RFC 1035 section 4, RFC 3596).
const (
	headerLen   = 12 // bytes
	maxNameLen  = 255
	maxLabelLen = 63
	typeA       = 1
	classIN     = 1
	noError     = 0
	notFound    = 3 // NXDOMAIN
	notServed   = 4 // NOTIMP

	flagResponse  = 1 << 15
	flagRecursion = 1 << 8 // desired
	flagAvailable = 1 << 7 // recursion is available
	maskOpcode    = 0xf << 11
)

// errNoQuery is the error of a datagram that gets no answer.
var errNoQuery = errors.New("not a query of DNS")

// query is a query of DNS for one name.
type query struct {
	id, flags   uint16
	name        string // in lower case, without the dot at the end; empty if no host can have it
	kind, class uint16
	question    []byte // as it was sent
}

// parseQuery parses a query. What follows its question, as the options of EDNS do, is ignored.
func parseQuery(b []byte) (q query, err error) {
	be := binary.BigEndian
	if len(b) < headerLen || be.Uint16(b[4:]) != 1 || be.Uint16(b[2:])&flagResponse != 0 {
		return q, errNoQuery
	}
	q.id, q.flags = be.Uint16(b), be.Uint16(b[2:])
	var text strings.Builder
	at, good := headerLen, true
	for {
		if at >= len(b) || b[at] > maxLabelLen || at-headerLen >= maxNameLen {
			return q, errNoQuery // a question has no compressed names
		}
		n := int(b[at])
		at++
		if n == 0 {
			break
		}
		if at+n > len(b) {
			return q, errNoQuery
		}
		if text.Len() > 0 {
			text.WriteByte('.')
		}
		for _, c := range b[at : at+n] {
			good = good && isNameByte(c)
			text.WriteByte(c)
		}
		at += n
	}
	if at+4 > len(b) {
		return q, errNoQuery
	}
	if good {
		q.name = strings.ToLower(text.String())
	}
	q.kind, q.class, q.question = be.Uint16(b[at:]), be.Uint16(b[at+2:]), b[headerLen:at+4]
	return q, nil
}

// isNameByte tells whether a byte may stand in the name of a host, or of a service.
func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' ||
		c == '_'
}

// answer answers a query: with an address for each name that is asked for one, and with nothing for
// another type.
func (n *names) answer(b []byte) ([]byte, error) {
	q, err := parseQuery(b)
	if err != nil {
		return nil, err
	}
	be := binary.BigEndian
	code, count := uint16(noError), uint16(0)
	switch {
	case q.flags&maskOpcode != 0 || q.class != classIN:
		code = notServed
	case q.name == "":
		code = notFound
	case q.kind == typeA:
		count = 1
	}
	out := be.AppendUint16(nil, q.id)
	out = be.AppendUint16(out,
		flagResponse|flagAvailable|q.flags&(maskOpcode|flagRecursion)|code)
	out = be.AppendUint16(out, 1) // question
	out = be.AppendUint16(out, count)
	out = append(append(out, 0, 0, 0, 0), q.question...)
	if count > 0 {
		a := n.addressOf(q.name).As4()
		out = be.AppendUint16(out, 0xc000|headerLen) // the name of the question
		out = be.AppendUint16(be.AppendUint16(out, typeA), classIN)
		out = be.AppendUint32(out, answerTTL)
		out = append(be.AppendUint16(out, uint16(len(a))), a[:]...)
	}
	return out, nil
}
