// Package wire parses and writes headers: Ethernet, ARP, IPv4, IPv6, ICMP, IGMP, MLD,
// neighbour discovery, UDP and TCP.
//
// It is pure. ParseX takes the bytes from the header on, and returns the header and a view of what
// follows it. Put writes a header to the start of a slice, which must be long enough, and returns
// its length in bytes. Neither allocates for the packets of a connection. Numbers are in network
// byte order on the wire, and in that of the machine in structs.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The reasons for which a header cannot be parsed. A parser adds the name of the header: "tcp:
// shorter than its header".
var (
	ErrShort    = errors.New("shorter than its header")
	ErrLength   = errors.New("an impossible length")
	ErrVersion  = errors.New("wrong version")
	ErrChecksum = errors.New("wrong checksum")
	ErrOption   = errors.New("an impossible option")
	ErrAddress  = errors.New("an impossible address")
	ErrHardware = errors.New("not for Ethernet and IPv4")
)

// Error is a header that could not be parsed.
type Error struct {
	Header string // "tcp"
	Err    error  // one of the errors above
}

func (e *Error) Error() string { return e.Header + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// failures makes one error value for each reason, so that a flood of bad packets allocates nothing.
func failures(header string, errs ...error) map[error]error {
	m := make(map[error]error, len(errs))
	for _, err := range errs {
		m[err] = &Error{Header: header, Err: err}
	}
	return m
}

// Protocol is IANA's number of the protocol in an IP packet.
type Protocol uint8

// The protocols and IPv6 extension headers that this stack knows.
const (
	ProtocolHopByHop    Protocol = 0
	ProtocolICMP        Protocol = 1
	ProtocolIGMP        Protocol = 2
	ProtocolTCP         Protocol = 6
	ProtocolUDP         Protocol = 17
	ProtocolRouting     Protocol = 43
	ProtocolFragment    Protocol = 44
	ProtocolICMPv6      Protocol = 58
	ProtocolNoNext      Protocol = 59
	ProtocolDestination Protocol = 60
)

func (p Protocol) String() string {
	switch p {
	case ProtocolHopByHop:
		return "hop-by-hop"
	case ProtocolICMP:
		return "icmp"
	case ProtocolIGMP:
		return "igmp"
	case ProtocolTCP:
		return "tcp"
	case ProtocolUDP:
		return "udp"
	case ProtocolRouting:
		return "routing"
	case ProtocolFragment:
		return "fragment"
	case ProtocolICMPv6:
		return "icmpv6"
	case ProtocolNoNext:
		return "nothing"
	case ProtocolDestination:
		return "destination"
	}
	return fmt.Sprintf("protocol %d", uint8(p))
}

var be = binary.BigEndian
