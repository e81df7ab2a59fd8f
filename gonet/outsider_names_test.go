//go:build linux

package gonet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// TestOutsiderDig has dig query a server on the stack, over UDP and TCP, with and without EDNS.
func TestOutsiderDig(t *testing.T) {
	requireTools(t, "dig of bind9-dnsutils", "ip of iproute2")
	s := capturedKernel(t)
	n := newNames()
	p, err := s.ListenPacket("udp", ":53")
	if err != nil {
		t.Fatal(err)
	}
	go n.serve(p)
	l, err := s.Listen("tcp", ":53")
	if err != nil {
		t.Fatal(err)
	}
	go n.serveTCP(l)
	for _, at := range []string{"@10.9.0.2", "@2001:db8::2"} {
		for _, c := range []struct{ args, want, never string }{
			{"host.test A", "\t10.0.0.2\n", ""},
			{"host.test AAAA", "\t2001:db8::2\n", ""},
			{"host.test A +tcp", "\t10.0.0.2\n", ""},
			{"host.test AAAA +tcp", "\t2001:db8::2\n", ""},
			{"old.test AAAA", "ANSWER: 0,", "NXDOMAIN"},
			{"nobody.test A", "status: NXDOMAIN", ""},
			{"host.test A", "; EDNS: version: 0, flags:; udp: 1232", ""},
			{"host.test A +noedns", "\t10.0.0.2\n", "EDNS"},
			// truncated: dig asks again over TCP
			{"many.test A", "\t10.1.0.199\n", ""},
			// unless told not to
			{"many.test A +ignore", "flags: qr aa tc rd", "\t10.1.0."},
			// in fragments
			{"many.test A +notcp +ignore +bufsize=4096", "\t10.1.0.199\n", "truncated"},
		} {
			out := run(t, "dig", append([]string{"+time=" + within, "+tries=2", at},
				strings.Fields(c.args)...)...)
			if !strings.Contains(out, c.want) || c.never != "" && strings.Contains(out, c.never) {
				t.Errorf("%s %s: want %q, never %q\n%s", at, c.args, c.want, c.never, out)
			}
		}
	}
	if n.tcp.Load() != 6 {
		t.Errorf("%d questions by TCP", n.tcp.Load())
	}
}

// TestOutsiderDnsmasq has the stack's resolver query dnsmasq.
func TestOutsiderDnsmasq(t *testing.T) {
	requireTools(t, "dnsmasq of dnsmasq-base", "ip of iproute2")
	s := capturedKernel(t)
	args := []string{"--conf-file=/dev/null", "--no-daemon", "--user=root", "--group=root",
		"--pid-file=", "--listen-address=10.9.0.1", "--listen-address=2001:db8::1",
		"--bind-interfaces", "--no-resolv", "--no-hosts", "--local=/test/",
		"--host-record=host.test,10.9.0.1,2001:db8::1"}
	for i := range 150 {
		args = append(args, fmt.Sprintf("--host-record=many.test,10.1.0.%d", i))
	}
	server(t, "started", "dnsmasq", args...)
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	for _, at := range []string{"10.9.0.1", "2001:db8::1"} {
		r := s.Resolver(netip.AddrPortFrom(netip.MustParseAddr(at), 53))
		if got, err := r.LookupNetIP(ctx, "ip4", "host.test."); err != nil ||
			fmt.Sprint(got) != "[10.9.0.1]" {
			t.Errorf("%v, %v", got, err)
		}
		if got, err := r.LookupNetIP(ctx, "ip6", "host.test."); err != nil ||
			fmt.Sprint(got) != "[2001:db8::1]" {
			t.Errorf("%v, %v", got, err)
		}
		// by TCP
		if got, err := r.LookupNetIP(ctx, "ip4", "many.test."); err != nil || len(got) != 150 {
			t.Errorf("%d addresses of 150, %v", len(got), err)
		}
		system := s.SystemResolver(netip.AddrPortFrom(netip.MustParseAddr(at), 53))
		if got, err := system.LookupAddr(ctx, "10.9.0.1"); err != nil ||
			fmt.Sprint(got) != "[host.test.]" {
			t.Errorf("%v, %v", got, err)
		}
		var none *net.DNSError
		if _, err := r.LookupNetIP(ctx, "ip", "nobody.test."); !errors.As(err, &none) ||
			!none.IsNotFound {
			t.Errorf("a name that is not there: %v", err)
		}
	}
}
