package wire

import (
	"net/netip"
	"time"
)

// MLDQuery is a router's query for the groups of hosts (RFC 3810 section 5.1; RFC 2710 for version
// 1).
type MLDQuery struct {
	MaxDelay time.Duration // within which the host answers
	Group    netip.Addr    // unspecified: all groups
}

// mldV2Len is the length in bytes of the body of a version 2 query without sources. A version 1
// query ends after the group.
const mldV2Len = 20

var mldFailed = failures("mld", ErrShort)

// ParseMLDQuery parses the body of a query with the header m.
func ParseMLDQuery(m ICMP, body []byte) (q MLDQuery, err error) {
	if len(body) < 16 {
		return q, mldFailed[ErrShort]
	}
	code := m.Rest >> 16
	if len(body) >= mldV2Len && code >= 1<<15 { // a floating-point code (section 5.1.3)
		code = (code&0xfff | 0x1000) << (code>>12&7 + 3)
	}
	return MLDQuery{time.Duration(code) * time.Millisecond, netip.AddrFrom16([16]byte(body))}, nil
}

// MLDReportLen returns the length in bytes of a version 2 report on n groups.
func MLDReportLen(n int) int { return ICMPLen + 20*n }

// The types of report records without sources (section 5.2.12): MLDIsExclude says that the host is
// a member of the group, MLDToInclude that it leaves, MLDToExclude that it joins.
const (
	MLDIsExclude  uint8 = 2
	MLDToInclude  uint8 = 3 // include no source: the group is left
	MLDToExclude  uint8 = 4 // exclude no source: the group is joined
	mldRecordSize       = 20
)

// PutMLDReport writes a report with one record of a type for each group. The checksum is left out.
func PutMLDReport(b []byte, kind uint8, groups []netip.Addr) int {
	m := ICMP{Type: ICMPv6MLD2Report, Rest: uint32(len(groups))}
	n := m.Put(b)
	for _, g := range groups {
		b[n], b[n+1], b[n+2], b[n+3] = kind, 0, 0, 0
		put16(b[n+4:], g)
		n += mldRecordSize
	}
	return n
}

// RouterAlertLen is the length in bytes of the header that PutRouterAlert writes.
const RouterAlertLen = 8

// PutRouterAlert writes the hop-by-hop header with a router alert (RFC 2711), for which routers
// examine a report. next is the type of the following header.
func PutRouterAlert(b []byte, next Protocol) int {
	return copy(b, []byte{byte(next), 0, optionRouterAlert, 2, 0, 0, optionPadN, 0})
}
