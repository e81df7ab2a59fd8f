package wire

import (
	"net/netip"
	"time"
)

// The types of IGMP (RFC 3376 section 4, RFC 2236 section 2.1).
const (
	IGMPQuery    uint8 = 0x11
	IGMPReportV1 uint8 = 0x12
	IGMPReportV2 uint8 = 0x16
	IGMPLeave    uint8 = 0x17
	IGMPReportV3 uint8 = 0x22
)

// IGMP has the header of ICMP: ParseICMP and SealICMP serve it. The field Code is the Max Resp Code
// of a query, and Rest the group.

// igmpTick is the unit of the Max Resp Code (RFC 3376 section 4.1.1), and igmpV1Response the time
// within which the hosts of version 1 answer (section 7.2.1).
const (
	igmpTick       = 100 * time.Millisecond
	igmpV1Response = 10 * time.Second
)

var igmpFailed = failures("igmp", ErrLength)

// ParseIGMPQuery parses a query with the header m. Its length tells the version (RFC 3376 section
// 7.1).
func ParseIGMPQuery(m ICMP, body []byte) (q GroupQuery, err error) {
	q.Group = igmpGroup(m)
	code := int(m.Code)
	switch {
	case len(body) == 0 && code == 0:
		q.Version, q.MaxResponse = 1, igmpV1Response
	case len(body) == 0:
		q.Version, q.MaxResponse = 2, time.Duration(code)*igmpTick
	case len(body) < 4:
		return q, igmpFailed[ErrLength]
	default:
		if code >= 1<<7 { // a floating-point code
			code = (code&0xf | 0x10) << (code>>4&7 + 3)
		}
		q.Version, q.MaxResponse = 3, time.Duration(code)*igmpTick
		if err := q.parseSources(body, 4); err != nil {
			return q, err
		}
	}
	return q, q.checkGroup()
}

// igmpGroup returns the group of a message.
func igmpGroup(m ICMP) netip.Addr {
	var b [4]byte
	be.PutUint32(b[:], m.Rest)
	return netip.AddrFrom4(b)
}

// RouterAlert4 is the option by which routers examine a packet that is not addressed to them (RFC
// 2113). All messages of IGMPv2 and IGMPv3 have it.
var RouterAlert4 = [4]byte{optionAlert4, 4, 0, 0}

// HasRouterAlert tells whether the options of an IPv4 packet, which were checked, have a router
// alert.
func HasRouterAlert(options []byte) bool {
	for len(options) > 0 && options[0] != optionEnd {
		if options[0] == optionAlert4 {
			return true
		}
		if options[0] == optionNop {
			options = options[1:]
		} else {
			options = options[options[1]:]
		}
	}
	return false
}
