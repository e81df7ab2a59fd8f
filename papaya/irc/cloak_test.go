package irc

import (
	"net/netip"
	"strings"
	"testing"
)

// TestCloak compares how many labels at the end the cloaks of two addresses have in common.
func TestCloak(t *testing.T) {
	one, other := []byte("a key of the server"), []byte("another")
	const end = "192.0.2.7"
	for _, c := range []struct {
		a, b string
		want int
	}{
		{end, end, 5},
		{end, "::ffff:192.0.2.7", 5},
		{end, "192.0.2.8", 4},
		{end, "192.0.3.7", 3},
		{end, "192.1.2.7", 2},
		{"2001:db8:1:2::3", "2001:db8:1:2:4::5", 5},
		{"2001:db8:1:2::3", "2001:db8:1:3::3", 4},
		{"2001:db8:1:2::3", "2001:db8:2:2::3", 3},
		{"2001:db8:1:2::3", "2001:db9:1:2::3", 2},
		{"fe80::1", "fe80::1%eth0", 5},
		{"::192.0.2.7", end, 2},
	} {
		a := strings.Split(Cloak(one, netip.MustParseAddr(c.a)), ".")
		b := strings.Split(Cloak(one, netip.MustParseAddr(c.b)), ".")
		same := 0
		for same < len(a) && same < len(b) && a[len(a)-1-same] == b[len(b)-1-same] {
			same++
		}
		if len(a) != 5 || len(b) != 5 || same != c.want {
			t.Errorf("%s is %v, and %s %v: %d are the same, want %d", c.a, a, c.b, b, same, c.want)
		}
	}
	host := Cloak(one, netip.MustParseAddr(end))
	if host == Cloak(other, netip.MustParseAddr(end)) {
		t.Error("two servers show the same cloak")
	}
	_, network, _ := strings.Cut(host, ".")
	if !Match("*!*@*."+network, "ann!ann@"+host) {
		t.Errorf("no mask is for the network of %s", host)
	}
	if got := Cloak(one, netip.Addr{}); got != cloakEnd {
		t.Errorf("no address is %q", got)
	}
}
