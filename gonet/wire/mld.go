package wire

import (
	"net/netip"
	"time"
)

// The lengths in bytes of the body of an MLD query: of version 1, and of version 2 without sources
// (RFC 3810 section 8.1).
const (
	mldV1Len = 16
	mldV2Len = 20
)

var mldFailed = failures("mld", ErrShort, ErrLength)

// ParseMLDQuery parses the body of a query with the header m. Its length tells the version.
func ParseMLDQuery(m ICMP, body []byte) (q GroupQuery, err error) {
	if len(body) < mldV1Len {
		return q, mldFailed[ErrShort]
	}
	q.Version, q.Group = 1, netip.AddrFrom16([16]byte(body))
	code := m.Rest >> 16
	switch {
	case len(body) >= mldV2Len:
		if code >= 1<<15 { // a floating-point code (section 5.1.3)
			code = (code&0xfff | 0x1000) << (code>>12&7 + 3)
		}
		q.Version = 2
		if err := q.parseSources(body[mldV1Len:], 16); err != nil {
			return q, err
		}
	case len(body) != mldV1Len:
		return q, mldFailed[ErrLength]
	}
	q.MaxResponse = time.Duration(code) * time.Millisecond
	return q, q.checkGroup()
}

// RouterAlertLen is the length in bytes of the header that PutRouterAlert writes.
const RouterAlertLen = 8

// PutRouterAlert writes the hop-by-hop header with a router alert (RFC 2711), for which routers
// examine a report. next is the type of the following header.
func PutRouterAlert(b []byte, next Protocol) int {
	return copy(b, []byte{byte(next), 0, optionRouterAlert, 2, 0, 0, optionPadN, 0})
}
