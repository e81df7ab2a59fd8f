package wire

import (
	"net/netip"
	"time"
)

// GroupQuery is a router's query for the multicast groups of hosts, by IGMP for IPv4 (RFC 3376
// section 4.1, RFC 2236, RFC 1112) or by MLD for IPv6 (RFC 3810 section 5.1, RFC 2710).
type GroupQuery struct {
	Version     int           // of its protocol: 1 to 3 for IGMP, 1 or 2 for MLD
	MaxResponse time.Duration // within which hosts answer
	Group       netip.Addr    // unspecified: all groups
	Sources     []netip.Addr  // if there are any, only these sources of the group are asked for
	Robustness  int           // how often hosts report a change (QRV); 0: the query does not say
}

// RecordType says what a record of a report tells of a group (RFC 3376 section 4.2.12, RFC 3810
// section 5.2.12).
type RecordType uint8

// The types of records. The first two answer a query, the others report a change.
const (
	IsInclude    RecordType = 1 // only from the sources
	IsExclude    RecordType = 2 // from all but the sources
	ToInclude    RecordType = 3 // from now on only from the sources; without any, the group is left
	ToExclude    RecordType = 4 // from now on from all but the sources
	AllowSources RecordType = 5 // from these, too
	BlockSources RecordType = 6 // no longer from these
)

// GroupRecord is what a report tells of one group.
type GroupRecord struct {
	Type    RecordType
	Group   netip.Addr
	Sources []netip.Addr
}

// RecordLen is the length in bytes of a record without its group and sources.
const RecordLen = 4

// Len returns the length of the record in bytes.
func (r *GroupRecord) Len() int { return RecordLen + (1+len(r.Sources))*addrLen(r.Group) }

func addrLen(a netip.Addr) int {
	if a.Is4() {
		return 4
	}
	return 16
}

// GroupReportLen returns the length in bytes of a report with the records.
func GroupReportLen(records []GroupRecord) int {
	n := ICMPLen
	for i := range records {
		n += records[i].Len()
	}
	return n
}

// PutGroupReport writes a report of IGMPv3 or MLDv2, whose type is kind. The records have groups of
// one family. SealICMP writes the checksum of either protocol.
func PutGroupReport(b []byte, kind uint8, records []GroupRecord) int {
	m := ICMP{Type: kind, Rest: uint32(len(records))}
	n := m.Put(b)
	for _, r := range records {
		b[n], b[n+1] = byte(r.Type), 0
		be.PutUint16(b[n+2:], uint16(len(r.Sources)))
		n += RecordLen
		n += putAddr(b[n:], r.Group)
		for _, s := range r.Sources {
			n += putAddr(b[n:], s)
		}
	}
	return n
}

func putAddr(b []byte, a netip.Addr) int {
	if a.Is4() {
		put4(b, a)
	} else {
		put16(b, a)
	}
	return addrLen(a)
}

// GroupMessageLen returns the length in bytes of what PutGroupMessage writes.
func GroupMessageLen(group netip.Addr) int {
	if group.Is4() {
		return ICMPLen
	}
	return ICMPLen + addrLen(group)
}

// PutGroupMessage writes a message about one group, of type kind: the reports and the leave message
// of IGMPv1, IGMPv2 and MLDv1.
func PutGroupMessage(b []byte, kind uint8, group netip.Addr) int {
	m := ICMP{Type: kind}
	n := m.Put(b)
	if group.Is4() { // IGMP has the group in the header
		n -= addrLen(group)
	}
	return n + putAddr(b[n:], group)
}

// ParseGroup returns the group of such a message, which has the header m. ICMPv6 has the group
// behind its header.
func ParseGroup(m ICMP, body []byte, is6 bool) (group netip.Addr, err error) {
	switch {
	case !is6:
		group = igmpGroup(m)
	case len(body) < mldV1Len:
		return group, mldFailed[ErrShort]
	default:
		group = netip.AddrFrom16([16]byte(body))
	}
	if !group.IsMulticast() {
		return group, groupFailed[ErrAddress]
	}
	return group, nil
}

var groupFailed = failures("group message", ErrAddress)

// parseSources parses the end of a query: its robustness, and the addresses of size bytes.
func (q *GroupQuery) parseSources(b []byte, size int) error {
	q.Robustness = int(b[0] & 7) // behind the flag by which routers suppress their own timers
	n := int(be.Uint16(b[2:]))
	if b = b[4:]; n*size > len(b) {
		return groupFailed[ErrAddress]
	}
	for range n {
		a, _ := netip.AddrFromSlice(b[:size])
		q.Sources, b = append(q.Sources, a), b[size:]
	}
	return nil
}

// checkGroup returns an error unless the query is for a group, or for all.
func (q *GroupQuery) checkGroup() error {
	if q.Group.IsMulticast() || q.Group.IsUnspecified() && len(q.Sources) == 0 {
		return nil
	}
	return groupFailed[ErrAddress]
}
