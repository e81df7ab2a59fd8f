//go:build linux

package gonet

import (
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"interleave/gonet/link"
)

// kernelBridge makes a host on a tap that is a port of a bridge of Linux. The bridge snoops on
// reports, and queries for groups. Its times are in hundredths of a second.
func kernelBridge(t *testing.T) (s *Stack, port string) {
	t.Helper()
	requireNamespace(t)
	tap, err := link.OpenTap("gn%d")
	skipWithoutTun(t, err)
	run(t, "ip", "link", "set", "lo", "up")
	run(t, "ip", "link", "add", "gnbr", "type", "bridge", "mcast_snooping", "1",
		"mcast_querier", "1", "mcast_query_interval", "50", "mcast_query_response_interval", "20",
		"mcast_startup_query_interval", "20", "mcast_last_member_interval", "20",
		"mcast_igmp_version", "3", "mcast_mld_version", "2")
	// the bridge sends no queries of MLD before it has an address
	if err := os.WriteFile("/proc/sys/net/ipv6/conf/gnbr/accept_dad", []byte("0"), 0); err != nil {
		t.Fatal(err)
	}
	run(t, "ip", "link", "set", tap.Name(), "master", "gnbr", "up")
	run(t, "ip", "addr", "add", "10.9.0.1/24", "dev", "gnbr")
	run(t, "ip", "addr", "add", "2001:db8::1/64", "dev", "gnbr", "nodad")
	run(t, "ip", "link", "set", "gnbr", "up")
	run(t, "ip", "route", "add", "224.0.0.0/4", "dev", "gnbr")
	if s, err = New(Config{Link: tap, Addresses: prefixes("10.9.0.2/24", "2001:db8::2/64"),
		NoDAD: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, tap.Name()
}

// awaitKernel waits until what a command prints has a text, or has it no more.
func awaitKernel(t *testing.T, has bool, text string, command ...string) {
	t.Helper()
	out, end := "", time.Now().Add(testTimeout)
	for ; time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if out = run(t, command[0], command[1:]...); strings.Contains(out, text) == has {
			return
		}
	}
	t.Fatalf("%v: %q is there: %v\n%s", command, text, !has, out)
}

// TestGroupsOfTheKernel has a bridge of Linux as the querier and the snooping switch, and a socket
// of Linux as the other member and sender: in the newest version and in the older one.
func TestGroupsOfTheKernel(t *testing.T) {
	s, port := kernelBridge(t)
	for _, c := range []struct{ group, source, older string }{
		{"239.1.2.3", "10.9.0.1", "mcast_igmp_version 2"},
		{"ff0e::1:3", "2001:db8::1", "mcast_mld_version 1"},
	} {
		groupOfTheKernel(t, s, port, netip.MustParseAddr(c.group), netip.MustParseAddr(c.source),
			c.older)
	}
}

// groupOfTheKernel joins a group and leaves it, with the option older of the bridge, too.
func groupOfTheKernel(t *testing.T, s *Stack, port string, group, source netip.Addr,
	older string) {
	t.Helper()
	to := netip.AddrPortFrom(group, 5000)
	entry := "port " + port + " grp " + group.String()
	mdb := []string{"bridge", "-d", "mdb", "show"}
	p, err := s.ListenMulticastUDP("udp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	awaitKernel(t, true, entry, mdb...)
	bothWaysOfGroup(t, p, to, source)
	// An answer to a query tells the bridge again.
	run(t, "bridge", "mdb", "del", "dev", "gnbr", "port", port, "grp", group.String())
	awaitKernel(t, true, entry, mdb...)
	if err := p.LeaveGroup(group); err != nil {
		t.Fatal(err)
	}
	awaitKernel(t, false, entry, mdb...)
	if err := p.JoinSourceSpecificGroup(group, source); err != nil {
		t.Fatal(err)
	}
	awaitKernel(t, true, entry+" src "+source.String(), mdb...)
	bothWaysOfGroup(t, p, to, source)
	if err := p.LeaveGroup(group); err != nil {
		t.Fatal(err)
	}
	awaitKernel(t, false, entry, mdb...)

	run(t, "ip", append([]string{"link", "set", "gnbr", "type", "bridge"},
		strings.Fields(older)...)...)
	want := int(older[len(older)-1] - '0')
	for version := 0; version != want; time.Sleep(20 * time.Millisecond) {
		snap, err := s.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if version = snap.MLD; group.Is4() {
			version = snap.IGMP
		}
	}
	if err := p.JoinGroup(group); err != nil {
		t.Fatal(err)
	}
	awaitKernel(t, true, entry, mdb...)
	bothWaysOfGroup(t, p, to, source)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	awaitKernel(t, false, entry, mdb...)
}

// bothWaysOfGroup sends a datagram to a group from the kernel to a socket of the stack, and one
// back.
func bothWaysOfGroup(t *testing.T, p *PacketConn, to netip.AddrPort, from netip.Addr) {
	t.Helper()
	device, err := net.InterfaceByName("gnbr")
	if err != nil {
		t.Fatal(err)
	}
	at := net.UDPAddrFromAddrPort(to)
	k, err := net.ListenMulticastUDP("udp", device, at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = k.Close() }()
	awaitKernel(t, true, to.Addr().String(), "ip", "maddr", "show", "dev", "gnbr")
	deadline := time.Now().Add(testTimeout)
	if err := k.SetDeadline(deadline); err != nil {
		t.Fatal(err)
	}
	if err := p.SetDeadline(deadline); err != nil {
		t.Fatal(err)
	}
	sender, err := net.ListenUDP("udp", &net.UDPAddr{IP: from.AsSlice()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sender.Close() }()
	if at.IP.To4() == nil {
		at.Zone = device.Name
	}
	if _, err := sender.WriteTo([]byte("from the kernel"), at); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	if n, src, err := p.ReadFromAddrPort(b); err != nil || string(b[:n]) != "from the kernel" ||
		src.Addr() != from {
		t.Errorf("the stack has received %q from %v, %v", b[:n], src, err)
	}
	// The bridge passes nothing to the kernel's socket before it has seen the kernel's report. Its
	// own datagram comes back to the kernel, too.
	for ; time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, err := p.WriteToAddrPort([]byte("to the kernel"), to); err != nil {
			t.Fatal(err)
		}
		for {
			if err := k.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			n, _, err := k.ReadFromUDPAddrPort(b)
			if err != nil {
				break
			}
			if string(b[:n]) == "to the kernel" {
				return
			}
		}
	}
	t.Fatal("the kernel has received nothing")
}
