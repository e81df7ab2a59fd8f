package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestKernelAddress(t *testing.T) {
	for _, c := range []struct{ stack, kernel string }{
		{"10.9.0.2/24", "10.9.0.1/24"},
		{"10.9.0.1/24", "10.9.0.2/24"},
		{"10.9.7.3/16", "10.9.0.1/16"},
		{"10.9.0.0/31", "10.9.0.1/31"},
		{"10.9.0.1/31", "10.9.0.0/31"},
		{"fd00::2/64", "fd00::1/64"},
	} {
		if got := kernelAddress(netip.MustParsePrefix(c.stack)).String(); got != c.kernel {
			t.Errorf("beside %s: %s, want %s", c.stack, got, c.kernel)
		}
	}
}

func TestPlan(t *testing.T) {
	w := hostFlags{addresses: []string{"10.9.0.2/24"}, dns: []string{"9.9.9.9", "10.9.0.1:5353"}}
	p, err := w.plan()
	if err != nil || len(p.kernel) != 1 || p.kernel[0].String() != "10.9.0.1/24" ||
		fmt.Sprint(p.gateways) != "[10.9.0.1]" || p.mac.IsGroup() ||
		p.dns[0].String() != "9.9.9.9:53" || p.dns[1].String() != "10.9.0.1:5353" {
		t.Errorf("%+v, %v", p, err)
	}
	w.kernel = []string{"none"}
	if p, err := w.plan(); err != nil || len(p.kernel) != 0 || len(p.gateways) != 0 {
		t.Errorf("alone: %+v, %v", p, err)
	}
	for _, bad := range []hostFlags{{addresses: []string{"x"}}, {kernel: []string{"10.9.0.1"}},
		{dns: []string{"host"}}, {gateway: []string{"host"}}, {mac: "7"},
		{dhcp: true, routes: []string{"10.0.0.0/8"}},
		{addresses: []string{"10.9.0.2/24"}, routes: []string{"fd00::/8"}},
		{addresses: []string{"10.9.0.0/24"}}, {addresses: []string{"10.9.0.255/24"}},
		{addresses: []string{"127.0.0.1/8"}}, {addresses: []string{"10.9.0.2/32"}},
		{addresses: []string{"10.9.0.1/24"}, kernel: []string{"10.9.0.1/24"}},
		{tun: "tun0", tap: "tap0"}, {tun: "tun0", dhcp: true}, {tun: "tun0", mac: "02::1"}} {
		var u usageError
		if _, err := bad.plan(); !errors.As(err, &u) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestExplain holds that the errors which a new user gets say what to do.
func TestExplain(t *testing.T) {
	for errno, want := range map[error]string{
		syscall.EBUSY:  "another process has it",
		syscall.EPERM:  "unshare -rn gonet",
		syscall.EACCES: "CAP_NET_ADMIN",
		os.ErrNotExist: "modprobe tun",
		syscall.ENODEV: "--device /dev/net/tun",
	} {
		err := explain(fmt.Errorf("tap x: %w", errno), "x")
		if !errors.Is(err, errno) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", errno, err)
		}
	}
}
