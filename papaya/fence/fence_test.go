package fence

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"interleave/papaya/proxy"
)

// TestAddresses goes through the special-purpose addresses of IANA, and the forms in which IPv6 has
// one of IPv4 in it.
func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		address string
		want    bool
	}{
		{"1.1.1.1", true}, {"8.8.8.8", true}, {"100.63.255.255", true}, {"100.128.0.0", true},
		{"172.15.255.255", true}, {"172.32.0.0", true}, {"223.255.255.255", true},
		{"192.1.0.1", true}, {"168.63.129.17", true}, {"198.17.0.1", true}, {"198.20.0.1", true},

		{"0.0.0.0", false}, {"0.1.2.3", false}, {"10.0.0.0", false}, {"10.255.255.255", false},
		{"100.64.0.0", false}, {"100.100.100.200", false}, {"100.127.255.255", false},
		{"127.0.0.1", false}, {"127.255.255.255", false}, {"168.63.129.16", false},
		{"169.254.0.1", false}, {"169.254.169.254", false}, {"172.16.0.0", false},
		{"172.31.255.255", false}, {"192.0.0.192", false}, {"192.0.2.1", false},
		{"192.88.99.1", false}, {"192.168.0.1", false}, {"198.18.0.1", false},
		{"198.19.255.255", false}, {"198.51.100.1", false}, {"203.0.113.1", false},
		{"224.0.0.1", false}, {"239.255.255.255", false}, {"240.0.0.1", false},
		{"255.255.255.255", false},

		{"2606:4700:4700::1111", true}, {"2a00:1450:4001:82b::200e", true}, {"2001:200::1", true},

		{"::", false}, {"::1", false}, {"fe80::1", false}, {"fe80::1%lo", false},
		{"fe80::a9fe:a9fe", false}, {"fec0::1", false}, {"fc00::1", false}, {"fd00::1", false},
		{"fd00:ec2::254", false}, {"fd20:ce::254", false}, {"ff02::1", false},
		{"2001:db8::1", false}, {"3fff::1", false}, {"100::1", false}, {"5f00::1", false},
		{"2001:2::1", false}, {"2001:10::1", false}, {"2001:20::1", false}, {"4000::1", false},

		{"::ffff:127.0.0.1", false}, {"::ffff:10.0.0.1", false}, {"::ffff:169.254.169.254", false},
		{"::ffff:1.1.1.1", true}, // Go itself dials such an address as one of IPv4
		{"::127.0.0.1", false}, {"::1.1.1.1", false}, {"::ffff:0:127.0.0.1", false},
		{"64:ff9b::127.0.0.1", false}, {"64:ff9b::10.0.0.1", false},
		{"64:ff9b::169.254.169.254", false}, {"64:ff9b::1.1.1.1", true},
		{"64:ff9b:1::1.1.1.1", false}, {"64:ff9b:1::10.0.0.1", false},
		{"2002:7f00:1::", false}, {"2002:a00:1::1", false}, {"2002:101:101::1", false},
		{"2001:0:4136:e378:8000:63bf:80ff:fffe", false}, // Teredo with 127.0.0.1
	} {
		if got := (Fence{}).Admits(netip.MustParseAddr(c.address)); got != c.want {
			t.Errorf("%s: %v, want %v", c.address, got, c.want)
		}
	}
	if (Fence{}).Admits(netip.Addr{}) {
		t.Error("no address is let through")
	}
}

// TestOwnAddresses: the addresses of this machine, and its neighbours, are closed.
func TestOwnAddresses(t *testing.T) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		n, ok := one.(*net.IPNet)
		if !ok {
			continue
		}
		a, _ := netip.AddrFromSlice(n.IP)
		if (Fence{}).Admits(a) || !isNear(a.Unmap()) || !isOwn(a) {
			t.Errorf("%s is let through", a)
		}
	}
}

func TestOpenNetworks(t *testing.T) {
	open, err := proxy.ParseNetworks([]string{"127.0.0.1", "10.1.0.0/16", "fd00::/8"})
	if err != nil {
		t.Fatal(err)
	}
	f := Fence{Open: open, Setting: "x.networks", Ports: []uint16{6667}}
	for address, want := range map[string]bool{
		"127.0.0.1:80": true, "127.0.0.2:80": false, "10.1.2.3:443": true, "10.2.0.1:443": false,
		"[::ffff:10.1.2.3]:80": true, "[fd00::1]:80": true, "[fd00::1%eth0]:80": true,
		"[::1]:80": false, "127.0.0.1:6667": false, "10.1.2.3:6667": true, "1.1.1.1:6667": true,
	} {
		err := f.Control("tcp", address, nil)
		_, fenced := errors.AsType[*Error](err)
		if fenced == want || want && err != nil {
			t.Errorf("%s: %v, want %v", address, err, want)
		}
		if fenced && !strings.Contains(err.Error(), "x.networks") {
			t.Errorf("%v does not name the setting", err)
		}
	}
	if err := f.Control("unix", "/run/x", nil); err == nil {
		t.Error("what is no address is let through")
	}
}

// TestNamesAreJudgedByTheirAddresses: a name of this machine is refused when it is dialled, and
// nothing arrives.
func TestNamesAreJudgedByTheirAddresses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	d := net.Dialer{Control: Fence{}.Control}
	for _, host := range []string{"localhost", "127.0.0.1", "::ffff:127.0.0.1", "0.0.0.0"} {
		c, err := d.DialContext(context.Background(), "tcp", net.JoinHostPort(host, port))
		if _, ok := errors.AsType[*Error](err); !ok {
			t.Errorf("%s: %v", host, err)
		}
		if err == nil {
			c.Close()
		}
	}
}
