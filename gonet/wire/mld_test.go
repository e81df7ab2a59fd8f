package wire

import (
	"bytes"
	"net/netip"
	"testing"
	"time"
)

func TestMLD(t *testing.T) {
	group := netip.MustParseAddr("ff02::1:ff00:1")
	raw := group.As16()
	b := make([]byte, MLDReportLen(1))
	if n := PutMLDReport(b, MLDToExclude, []netip.Addr{group}); n != 28 || b[0] != 143 ||
		b[7] != 1 || b[8] != 4 || !bytes.Equal(b[12:], raw[:]) {
		t.Errorf("a report: % x", b)
	}
	for _, c := range []struct {
		code  uint32
		extra int // what version 2 adds to the body
		want  time.Duration
	}{
		{1000, 0, time.Second},
		{1000, 4, time.Second},
		{0x8000, 0, 32768 * time.Millisecond},
		{0x8000, 4, 32768 * time.Millisecond},
		{0xffff, 4, 0x1fff << 10 * time.Millisecond},
	} {
		q, err := ParseMLDQuery(ICMP{Type: ICMPv6MLDQuery, Rest: c.code << 16},
			append(raw[:], make([]byte, c.extra)...))
		if err != nil || q.MaxDelay != c.want || q.Group != group {
			t.Errorf("a query of %#x: %+v, %v, want %v", c.code, q, err, c.want)
		}
	}
	if q, err := ParseMLDQuery(ICMP{}, raw[:15]); err == nil {
		t.Errorf("a short query: %+v", q)
	}
	alert := make([]byte, RouterAlertLen)
	PutRouterAlert(alert, ProtocolICMPv6)
	if c, err := ParseChain(ProtocolHopByHop, append(alert, b...)); err != nil ||
		c.Protocol != ProtocolICMPv6 || !bytes.Equal(c.Payload, b) {
		t.Errorf("behind the alert: %+v, %v", c, err)
	}
}
