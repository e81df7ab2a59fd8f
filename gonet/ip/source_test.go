package ip

import (
	"net/netip"
	"strings"
	"testing"
)

// The examples of RFC 6724 section 10.1 are among them.
func TestSource(t *testing.T) {
	for _, c := range []struct{ dst, next, ours, want string }{
		{"2001:db8:1::1", "", "2001:db8:3::1/64 fe80::1/64", "2001:db8:3::1"},
		{"ff05::1", "", "2001:db8:3::1/64 fe80::1/64", "2001:db8:3::1"},
		{"2001:db8:1::1", "", "2001:db8:1::1/64- 2001:db8:2::1/64", "2001:db8:1::1"},
		{"fe80::1", "", "fe80::2/64- 2001:db8:1::1/64", "fe80::2"},
		{"2001:db8:1::1", "", "2001:db8:1::2/64 2001:db8:3::2/64", "2001:db8:1::2"},
		{"2001:db8:1::1", "", "2001:db8:3::2/64 2001:db8:1::2/64", "2001:db8:1::2"},
		{"2002:c633:6401::1", "", "2002:c633:6401::d5e3:7953:13eb:22e8/64 2001:db8:1::2/64",
			"2002:c633:6401:0:d5e3:7953:13eb:22e8"},
		{"fd00::9", "", "2001:db8::1/64 fd01::1/64", "fd01::1"},
		{"2001:db8:1::1", "", "2001:db8:1::2/64- 2001:db8:3::2/64", "2001:db8:3::2"},
		{"ff02::1", "", "2001:db8::1/64 fe80::1/64", "fe80::1"},
		{"2001:db8::1", "", "10.0.0.1/24", ""},
		{"2001:db8::1", "fe80::9", "fe80::1/64", "fe80::1"}, // better than none
		{"192.0.2.1", "10.1.0.254", "10.0.0.1/24 10.1.0.1/24", "10.1.0.1"},
		{"192.0.2.1", "10.1.0.254", "fe80::1/64 10.1.0.1/24", "10.1.0.1"},
		{"10.0.0.9", "10.0.0.9", "169.254.1.1/16 10.0.0.1/24", "10.0.0.1"},
	} {
		var ours []Address
		for _, word := range strings.Fields(c.ours) {
			address, deprecated := strings.CutSuffix(word, "-")
			ours = append(ours, Address{netip.MustParsePrefix(address), deprecated})
		}
		dst := netip.MustParseAddr(c.dst)
		next := dst
		if c.next != "" {
			next = netip.MustParseAddr(c.next)
		}
		got, ok := Source(dst, next, ours)
		if ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("to %s from %s: %v, want %s", c.dst, c.ours, got, c.want)
		}
	}
}
