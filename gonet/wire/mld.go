package wire

import (
	"net/netip"
	"time"
)

// MLDQuery is a router's question who hears which groups (RFC 3810 section 5.1, RFC 2710
// for version 1).
type MLDQuery struct {
	MaxDelay time.Duration // in which to answer
	Group    netip.Addr    // unspecified: all
}

// mldV2Len is the length in bytes of the body of a query of version 2 without sources; version 1
// ends after the group.
const mldV2Len = 20

var mldFailed = failures("mld", ErrShort)

// ParseMLDQuery reads the body of a query, with its head m.
func ParseMLDQuery(m ICMP, body []byte) (q MLDQuery, err error) {
	if len(body) < 16 {
		return q, mldFailed[ErrShort]
	}
	code := m.Rest >> 16
	if len(body) >= mldV2Len && code >= 1<<15 { // a floating-point number (section 5.1.3)
		code = (code&0xfff | 0x1000) << (code>>12&7 + 3)
	}
	return MLDQuery{time.Duration(code) * time.Millisecond, netip.AddrFrom16([16]byte(body))}, nil
}

// MLDReportLen is the length in bytes of a report of version 2 on n groups.
func MLDReportLen(n int) int { return ICMPLen + 20*n }

// The kinds of records that say that all who send to a group are heard: that this is so, and that
// it begins or ends (section 5.2.12).
const (
	MLDIsExclude  uint8 = 2
	MLDToInclude  uint8 = 3 // of nobody: the group is left
	MLDToExclude  uint8 = 4 // of nobody: the group is joined
	mldRecordSize       = 20
)

// PutMLDReport writes a report with a record of one kind for each group, without its checksum.
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

// PutRouterAlert writes the hop-by-hop header that has routers look at a report (RFC 2711), before
// a header of the kind given.
func PutRouterAlert(b []byte, next Protocol) int {
	return copy(b, []byte{byte(next), 0, optionRouterAlert, 2, 0, 0, optionPadN, 0})
}
