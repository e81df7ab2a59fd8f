package ip

import (
	"net/netip"
	"testing"
)

func TestRoutes(t *testing.T) {
	via := func(network, router string) Route {
		r := Route{Network: netip.MustParsePrefix(network)}
		if router != "" {
			r.Via = netip.MustParseAddr(router)
		}
		return r
	}
	routes := NewRoutes(
		via("0.0.0.0/0", "10.0.0.254"),
		via("10.0.0.7/24", ""), // the bits of a host are not those of its network
		via("10.0.0.128/25", "10.0.0.3"),
		via("::/0", "fe80::1"),
		via("::/0", "fe80::2"),
		via("fe80::/10", ""),
		via("2001:db8::/64", ""),
		via("2001:db8::5/128", "fe80::9"),
	)
	for _, c := range []struct{ to, want string }{
		{"10.0.0.1", "10.0.0.1"},
		{"10.0.0.200", "10.0.0.3"},
		{"10.0.1.1", "10.0.0.254"},
		{"fe80::abcd", "fe80::abcd"},
		{"2001:db8::4", "2001:db8::4"},
		{"2001:db8::5", "fe80::9"},
		{"2001:db8:0:1::4", "fe80::1"}, // the first of two
	} {
		if got, ok := routes.Next(netip.MustParseAddr(c.to)); !ok || got.String() != c.want {
			t.Errorf("to %s: by %v, %v, want %s", c.to, got, ok, c.want)
		}
	}
	if r, ok := NewRoutes(via("10.0.0.0/8", "")).Next(netip.MustParseAddr("11.0.0.1")); ok {
		t.Errorf("a way to where there is none: %v", r)
	}
	if got := Default(netip.MustParseAddr("10.0.0.1")).String() +
		Default(netip.MustParseAddr("::1")).String(); got != "0.0.0.0/0::/0" {
		t.Errorf("the networks of all: %s", got)
	}
}
