package slirp

import (
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet"
)

// TestRouter has a guest configure itself by the gateway's advertisements, and reach the outside by
// it for days.
func TestRouter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, true, resolver)
		serveEcho(t, w.server, ":80")
		w.guest = newStack(t, w.wire, func(c *gonet.Config) {
			c.NoAutoconf, c.NoDAD = false, false
		})
		time.Sleep(10 * time.Second)
		var own []netip.Addr
		for _, p := range w.guest.Addresses() {
			if prefix6.Contains(p.Addr()) {
				own = append(own, p.Addr())
			}
		}
		if len(own) != 1 || !slices.Equal(w.guest.Resolvers(), []netip.Addr{dns6}) {
			t.Fatalf("addresses %v, DNS servers %v", own, w.guest.Resolvers())
		}
		for range 2 {
			expectEcho(t, dial(t, w.guest, "tcp", "["+serverAddr6+"]:80"), "autoconfigured")
			time.Sleep(prefixValid/2 + time.Hour)
		}
		// The gateway stays a router when the guest asks whether it is still there.
		for range 10 {
			expectEcho(t, dial(t, w.guest, "udp", "["+serverAddr6+"]:80"), "x")
			time.Sleep(time.Minute)
		}
		w.end()
	})
}

// TestNoIPv6 has a gateway without IPv6, which is silent.
func TestNoIPv6(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, false)
		w.guest = newStack(t, w.wire, func(c *gonet.Config) { c.NoAutoconf = false },
			"10.0.2.100/24")
		time.Sleep(time.Minute)
		for _, p := range w.guest.Addresses() {
			if prefix6.Contains(p.Addr()) {
				t.Errorf("the guest has %v", p)
			}
		}
		w.end()
	})
}
