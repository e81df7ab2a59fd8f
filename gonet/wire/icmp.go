package wire

// ICMPLen is the length in bytes of the header that all ICMP messages have, in both versions.
const ICMPLen = 8

// The ICMP types that concern a host (RFC 792, RFC 1122 section 3.2.2).
const (
	ICMPEchoReply        uint8 = 0
	ICMPUnreachable      uint8 = 3
	ICMPSourceQuench     uint8 = 4 // ignored (RFC 6633)
	ICMPRedirect         uint8 = 5
	ICMPEcho             uint8 = 8
	ICMPTimeExceeded     uint8 = 11
	ICMPParameterProblem uint8 = 12
)

// The codes of ICMPUnreachable (RFC 792, RFC 1122, RFC 1191), and those of the types behind them.
const (
	UnreachableNet             uint8 = 0
	UnreachableHost            uint8 = 1
	UnreachableProtocol        uint8 = 2
	UnreachablePort            uint8 = 3
	UnreachableFragmentation   uint8 = 4 // fragmentation needed and DF set
	UnreachableSourceRoute     uint8 = 5
	UnreachableAdministrative  uint8 = 13
	ExceededTTL                uint8 = 0
	ExceededReassembly         uint8 = 1
	ParameterProblemPointer    uint8 = 0
	UnreachableHostProhibited  uint8 = 10
	UnreachableNetProhibited   uint8 = 9
	UnreachableHostPrecedence  uint8 = 14
	UnreachablePrecedenceLimit uint8 = 15
)

// The types of ICMPv6 (RFC 4443, RFC 4861, RFC 2710, RFC 3810), of which those below 128 are
// errors, and their codes.
const (
	ICMPv6Unreachable       uint8 = 1
	ICMPv6PacketTooBig      uint8 = 2
	ICMPv6TimeExceeded      uint8 = 3
	ICMPv6ParameterProblem  uint8 = 4
	ICMPv6Echo              uint8 = 128
	ICMPv6EchoReply         uint8 = 129
	ICMPv6MLDQuery          uint8 = 130
	ICMPv6MLDReport         uint8 = 131
	ICMPv6MLDDone           uint8 = 132
	ICMPv6RouterSolicit     uint8 = 133
	ICMPv6RouterAdvert      uint8 = 134
	ICMPv6NeighborSolicit   uint8 = 135
	ICMPv6NeighborAdvert    uint8 = 136
	ICMPv6Redirect          uint8 = 137
	ICMPv6MLD2Report        uint8 = 143
	UnreachableV6NoRoute    uint8 = 0
	UnreachableV6Prohibited uint8 = 1
	UnreachableV6Address    uint8 = 3
	UnreachableV6Port       uint8 = 4
	ProblemV6Header         uint8 = 0 // an erroneous field
	ProblemV6NextHeader     uint8 = 1 // an unknown next header
	ProblemV6Option         uint8 = 2 // an unknown option
)

// ICMP is the header of a message of either version.
type ICMP struct {
	Type, Code uint8
	Checksum   uint16
	Rest       uint32 // its meaning depends on the type
}

// Echo returns the header of an echo request or reply.
func Echo(kind uint8, id, seq uint16) ICMP {
	return ICMP{Type: kind, Rest: uint32(id)<<16 | uint32(seq)}
}

// ID returns the identifier of an echo request or reply.
func (m ICMP) ID() uint16 { return uint16(m.Rest >> 16) }

// Seq returns the sequence number of an echo request or reply.
func (m ICMP) Seq() uint16 { return uint16(m.Rest) }

// MTU returns the next-hop MTU in bytes of an UnreachableFragmentation; 0 from routers before RFC
// 1191.
func (m ICMP) MTU() uint16 { return uint16(m.Rest) }

var icmpFailed = failures("icmp", ErrShort, ErrChecksum)

// ParseICMP parses a message and verifies its checksum. initial is 0 for ICMP, and PseudoSum for
// ICMPv6.
func ParseICMP(b []byte, initial uint16) (m ICMP, body []byte, err error) {
	if len(b) < ICMPLen {
		return m, nil, icmpFailed[ErrShort]
	}
	if Sum(b, initial) != 0xffff {
		return m, nil, icmpFailed[ErrChecksum]
	}
	return ICMP{b[0], b[1], be.Uint16(b[2:]), be.Uint32(b[4:])}, b[ICMPLen:], nil
}

// Put writes the header as it is.
func (m *ICMP) Put(b []byte) int {
	b[0], b[1] = m.Type, m.Code
	be.PutUint16(b[2:], m.Checksum)
	be.PutUint32(b[4:], m.Rest)
	return ICMPLen
}

// SealICMP writes the checksum of a whole message; initial is as in ParseICMP.
func SealICMP(b []byte, initial uint16) {
	b[2], b[3] = 0, 0
	be.PutUint16(b[2:], ^Sum(b, initial))
}
