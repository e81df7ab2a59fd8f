package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// parseQuery parses a whole message of IGMP or of MLD, whose checksum does not count.
func parseQuery(b []byte, is6 bool) (GroupQuery, error) {
	b = bytes.Clone(b)
	SealICMP(b, 0)
	m, body, err := ParseICMP(b, 0)
	switch {
	case err != nil:
		return GroupQuery{}, err
	case is6:
		return ParseMLDQuery(m, body)
	}
	return ParseIGMPQuery(m, body)
}

func TestGroupQueries(t *testing.T) {
	all, group := netip.IPv4Unspecified(), addr("239.1.2.3")
	const group6 = "ff0e 0000 0000 0000 0000 0000 0000 0001 "
	zeros6 := strings.Repeat("0000 ", 8)
	for _, c := range []struct {
		name, hex string
		want      GroupQuery
		err       error
	}{
		{"v1", "1100 0000 0000 0000", GroupQuery{1, 10 * time.Second, all, nil, 0}, nil},
		{"v2", "1164 0000 0000 0000", GroupQuery{2, 10 * time.Second, all, nil, 0}, nil},
		{"v2 of a group", "11ff 0000 ef01 0203", GroupQuery{2, 25500 * time.Millisecond, group,
			nil, 0}, nil},
		{"v3", "1100 0000 0000 0000 0a7d 0000", GroupQuery{3, 0, all, nil, 2}, nil},
		{"v3 of a group", "117f 0000 ef01 0203 0f7d 0000", GroupQuery{3, 12700 * time.Millisecond,
			group, nil, 7}, nil},
		{"v3 of sources, floating", "1180 0000 ef01 0203 007d 0002 0a00 0001 0a00 0002 ffff",
			GroupQuery{3, 12800 * time.Millisecond, group, []netip.Addr{addr("10.0.0.1"),
				addr("10.0.0.2")}, 0}, nil},
		{"v3, the longest time", "11ff 0000 0000 0000 0a7d 0000",
			GroupQuery{3, 31744 * igmpTick, all, nil, 2}, nil},
		{"nine bytes", "1164 0000 0000 0000 02", GroupQuery{}, ErrLength},
		{"eleven bytes", "1164 0000 0000 0000 0a7d 00", GroupQuery{}, ErrLength},
		{"too many sources", "1164 0000 ef01 0203 0a7d 0002 0a00 0001", GroupQuery{}, ErrAddress},
		{"sources of all groups", "1164 0000 0000 0000 0a7d 0001 0a00 0001", GroupQuery{},
			ErrAddress},
		{"not a group", "1164 0000 0a00 0001", GroupQuery{}, ErrAddress},
		{"short", "1164 0000 0000", GroupQuery{}, ErrShort},
		{"MLDv1", "8200 0000 03e8 0000 " + group6, GroupQuery{1, time.Second, addr("ff0e::1"),
			nil, 0}, nil},
		{"MLDv1, the longest time", "8200 0000 ffff 0000 " + zeros6,
			GroupQuery{1, 65535 * time.Millisecond, unspecified6, nil, 0}, nil},
		{"MLDv2", "8200 0000 8000 0000 " + zeros6 + "027d 0000",
			GroupQuery{2, 32768 * time.Millisecond, unspecified6, nil, 2}, nil},
		{"MLDv2, the longest time", "8200 0000 ffff 0000 " + group6 + "027d 0001 " + group6,
			GroupQuery{2, 0x1fff << 10 * time.Millisecond, addr("ff0e::1"),
				[]netip.Addr{addr("ff0e::1")}, 2}, nil},
		{"MLD, 26 bytes", "8200 0000 03e8 0000 " + group6 + "027d", GroupQuery{}, ErrLength},
		{"MLD, short", "8200 0000 03e8 0000 ff0e", GroupQuery{}, ErrShort},
		{"MLD, not a group", "8200 0000 03e8 0000 fe80" + group6[4:], GroupQuery{}, ErrAddress},
	} {
		q, err := parseQuery(raw(t, c.hex), strings.HasPrefix(c.name, "MLD"))
		if !errors.Is(err, c.err) || err == nil && !reflect.DeepEqual(q, c.want) {
			t.Errorf("%s: %+v, %v, want %+v, %v", c.name, q, err, c.want, c.err)
		}
	}
}

var unspecified6 = netip.IPv6Unspecified()

func TestGroupReports(t *testing.T) {
	records := []GroupRecord{{IsExclude, addr("239.1.2.3"), nil}, {AllowSources,
		addr("239.1.2.4"), []netip.Addr{addr("10.0.0.1"), addr("10.0.0.2")}}}
	b := make([]byte, GroupReportLen(records))
	if n := PutGroupReport(b, IGMPReportV3, records); n != len(b) {
		t.Errorf("%d bytes of %d", n, len(b))
	}
	SealICMP(b, 0)
	const want = "2200e0ed00000002" + "02000000ef010203" + "05000002ef0102040a0000010a000002"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, c := range []struct {
		kind        uint8
		group, want string
	}{
		{IGMPReportV2, "239.1.2.3", "16000000ef010203"},
		{IGMPLeave, "239.1.2.3", "17000000ef010203"},
		{ICMPv6MLDDone, "ff0e::1", "8400000000000000ff0e0000000000000000000000000001"},
	} {
		group := addr(c.group)
		b := make([]byte, GroupMessageLen(group))
		n := PutGroupMessage(b, c.kind, group)
		if got := hex.EncodeToString(b); got != c.want || n != len(b) {
			t.Errorf("%s, %d bytes, want %s", got, n, c.want)
		}
		m := ICMP{b[0], b[1], 0, be.Uint32(b[4:])}
		if got, err := ParseGroup(m, b[ICMPLen:], group.Is6()); err != nil || got != group {
			t.Errorf("%v, %v, want %v", got, err, group)
		}
		if _, err := ParseGroup(ICMP{Rest: 0x0a000001}, make([]byte, 15), group.Is6()); err == nil {
			t.Error("no group was taken for one")
		}
	}
}

func TestRouterAlerts(t *testing.T) {
	alert := make([]byte, RouterAlertLen)
	PutRouterAlert(alert, ProtocolICMPv6)
	c, err := ParseChain(ProtocolHopByHop, append(slices.Clone(alert), 1, 2))
	if err != nil || c.Protocol != ProtocolICMPv6 || !c.RouterAlert ||
		!bytes.Equal(c.Payload, []byte{1, 2}) {
		t.Errorf("behind the alert: %+v, %v", c, err)
	}
	if c, err = ParseChain(ProtocolDestination, alert); err != nil || c.RouterAlert {
		t.Errorf("an alert in another header: %+v, %v", c, err)
	}
	for options, want := range map[string]bool{"": false, "01 0194 0400 00": true,
		"0704 9404 0000 0000": false, "0703 0094 0400 0000": true, "0094 0400": false} {
		b := raw(t, options)
		if _, err := CheckIPv4Options(b); err != nil {
			t.Fatal(err)
		}
		if got := HasRouterAlert(b); got != want {
			t.Errorf("%s: %v", options, got)
		}
	}
}

// FuzzGroupQuery holds that what is parsed has no more sources than the message has room for, and
// that its times and groups are possible.
func FuzzGroupQuery(f *testing.F) {
	f.Add(raw(f, "1180 0000 ef01 0203 007d 0002 0a00 0001 0a00 0002 ffff"), false)
	f.Add(raw(f, "1100 0000 0000 0000"), false)
	f.Add(raw(f, "8200 0000 ffff 0000 ff0e 0000 0000 0000 0000 0000 0000 0001 027d 0001 2001 0db8 "+
		"0000 0000 0000 0000 0000 0001"), true)
	f.Fuzz(func(t *testing.T, b []byte, is6 bool) {
		if len(b) < ICMPLen {
			return
		}
		q, err := parseQuery(b, is6)
		if err != nil {
			return
		}
		size := 4
		if is6 {
			size = 16
		}
		if len(q.Sources)*size > len(b) || q.MaxResponse < 0 || q.MaxResponse > 3*time.Hour ||
			q.Group.Is6() != is6 || !q.Group.IsMulticast() && !q.Group.IsUnspecified() ||
			q.Version < 1 || q.Version > 3 || q.Robustness < 0 || q.Robustness > 7 {
			t.Fatalf("%+v", q)
		}
		for _, a := range q.Sources {
			if a.Is6() != is6 {
				t.Fatalf("%+v", q)
			}
		}
		m, body, err := ParseICMP(b, ^Sum(b, 0))
		if g, bad := ParseGroup(m, body, is6); err == nil && bad == nil && g.Is6() != is6 {
			t.Fatalf("%v", g)
		}
	})
}
