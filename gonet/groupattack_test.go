package gonet

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// reports returns the packets of IGMP and MLD that the victim has sent since the last call, in
// hexadecimal. The address of the victim's link, which is random, is replaced.
func (o *attacker) reports() (found []string) {
	o.t.Helper()
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	own := local(o.t, o.victim).As16()
	for _, frame := range o.received {
		b := packetOf(frame, o.victim.link.features.L3)
		switch {
		case len(b) == 0:
			continue
		case b[0]>>4 == 4 && wire.Protocol(b[9]) == wire.ProtocolIGMP:
			if _, body, err := wire.ParseIPv4(b); err != nil || wire.Sum(body, 0) != 0xffff {
				o.t.Errorf("a wrong checksum in % x: %v", b, err)
			}
		case b[0]>>4 == 6 && wire.Protocol(b[6]) == wire.ProtocolHopByHop:
			h, body, err := wire.ParseIPv6(b)
			body = body[wire.RouterAlertLen:]
			if err != nil || wire.Sum(body, wire.PseudoSum(h.Src, h.Dst, wire.ProtocolICMPv6,
				len(body))) != 0xffff {
				o.t.Errorf("a wrong checksum in % x: %v", b, err)
			}
			if h.Src.As16() == own { // and so is the checksum of what it sends
				copy(b[8:], netip.MustParseAddr("fe80::2").AsSlice())
				body[2], body[3] = 0, 0
			}
		default:
			continue
		}
		found = append(found, hex.EncodeToString(b))
	}
	o.received = nil
	return found
}

// igmp sends a message from a host of the link, with a good checksum. A TTL of 0 is 1.
func (o *attacker) igmp(src, dst netip.Addr, ttl uint8, options []byte, message ...byte) {
	o.t.Helper()
	b := slices.Clone(message)
	wire.SealICMP(b, 0)
	o.igmpRaw(src, dst, ttl, options, b)
}

func (o *attacker) igmpRaw(src, dst netip.Addr, ttl uint8, options, message []byte) {
	o.t.Helper()
	h := wire.IPv4{TTL: orElse(ttl, 1), Protocol: wire.ProtocolIGMP, Src: src, Dst: dst,
		Options: options}
	h.Length = uint16(h.Len() + len(message))
	b := make([]byte, h.Len())
	h.Put(b)
	o.frame(wire.EtherIPv4, b, message)
}

var alert4 = wire.RouterAlert4[:]

// TestReportsOfGroups compares what a host sends with frames: of joins, sources, answers and
// leaves, in all versions of both protocols.
func TestReportsOfGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newLoneAttackerOn(t, []link.Option{link.L3()})
		expect := func(what string, want ...string) {
			t.Helper()
			time.Sleep(20 * time.Second) // repetitions too
			got := slices.Compact(o.reports())
			for i := range want {
				want[i] = strings.ReplaceAll(want[i], " ", "")
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s:\n\t%s\nwant:\n\t%s", what, strings.Join(got, "\n\t"),
					strings.Join(want, "\n\t"))
			}
		}
		check := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		four, six := netip.MustParseAddr("239.1.2.3"), netip.MustParseAddr("ff0e::1")
		const (
			routers4   = "0a00 0002 e000 0016 9404 0000"
			join4      = "46c0 0028 0000 4000 0102 f9f7" + routers4
			source4    = "46c0 002c 0000 4000 0102 f9f3" + routers4
			to4        = "46c0 0020 0000 4000 0102 e911 0a00 0002 ef01 0203 9404 0000"
			leave4     = "46c0 0020 0000 4000 0102 fa13 0a00 0002 e000 0002 9404 0000"
			local6     = "fe80 0000 0000 0000 0000 0000 0000 0002 "
			toRouters6 = local6 + "ff02 0000 0000 0000 0000 0000 0000 0016 3a00 0502 0000 0100 "
			group6     = "ff0e 0000 0000 0000 0000 0000 0000 0001 "
		)
		expect("at first")
		p, q := listenAt(t, o.victim, "udp", ":5000"), listenAt(t, o.victim, "udp", ":5001")
		check(p.JoinGroup(four))
		expect("a join", join4+"2200 e8f9 0000 0001 0400 0000 ef01 0203")
		check(p.ExcludeSourceSpecificGroup(four, addrO))
		expect("a source less", source4+
			"2200 dcf5 0000 0001 0600 0001 ef01 0203 0a00 0003")
		o.igmp(addrC, allHosts, 1, alert4, 0x11, 10, 0, 0, 0, 0, 0, 0, 2, 125, 0, 0)
		expect("an answer", source4+
			"2200 e0f5 0000 0001 0200 0001 ef01 0203 0a00 0003")
		check(q.JoinSourceSpecificGroup(four, addrO)) // so all are wanted
		expect("a source more", source4+
			"2200 ddf5 0000 0001 0500 0001 ef01 0203 0a00 0003")
		check(p.LeaveGroup(four))
		check(q.Close())
		expect("a leave", source4+"2200 dff5 0000 0001 0300 0001 ef01 0203 0a00 0003",
			join4+"2200 e9f9 0000 0001 0300 0000 ef01 0203", source4+
				"2200 dcf5 0000 0001 0600 0001 ef01 0203 0a00 0003")
		o.igmp(addrC, allHosts, 1, alert4, 0x11, 100, 0, 0, 0, 0, 0, 0)
		check(p.JoinGroup(four))
		expect("a join, version 2", to4+"1600 f8fa ef01 0203")
		check(p.LeaveGroup(four))
		expect("a leave, version 2", leave4+"1700 f7fa ef01 0203")
		o.igmp(addrC, allHosts, 1, nil, 0x11, 0, 0, 0, 0, 0, 0, 0)
		check(p.JoinGroup(four))
		expect("a join, version 1", to4+"1200 fcfa ef01 0203")
		check(p.LeaveGroup(four))
		expect("a leave, version 1")

		check(p.JoinGroup(six))
		expect("a join of IPv6", "6000 0000 0024 0001"+toRouters6+
			"8f00 0000 0000 0001 0400 0000"+group6)
		check(p.LeaveGroup(six))
		check(p.JoinSourceSpecificGroup(six, addrX))
		expect("the sources of IPv6", "6000 0000 0024 0001"+toRouters6+
			"8f00 0000 0000 0001 0300 0000"+group6, "6000 0000 0034 0001"+toRouters6+
			"8f00 0000 0000 0001 0300 0001"+group6+"2001 0db8 0000 0000 0000 0000 0000 0001",
			"6000 0000 0034 0001"+toRouters6+"8f00 0000 0000 0001 0500 0001"+group6+
				"2001 0db8 0000 0000 0000 0000 0000 0001")
		o.mld(addrF, allNodes, true, wire.ICMPv6MLDQuery, 0, 0, 0, 0, 100, 0, 0,
			unspecified.AsSlice()...)
		expect("an answer, version 1", "6000 0000 0020 0001"+local6+group6+
			"3a00 0502 0000 0100 8300 0000 0000 0000"+group6)
		check(p.LeaveSourceSpecificGroup(six, addrX))
		expect("a leave, version 1", "6000 0000 0020 0001"+local6+
			"ff02 0000 0000 0000 0000 0000 0000 0002 3a00 0502 0000 0100 8400 0000 0000 0000"+
			group6)
	})
}

// TestAStackThatEndsLeavesItsGroups counts the reports of a stack that is closed.
func TestAStackThatEndsLeavesItsGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newLoneAttackerOn(t, []link.Option{link.L3()})
		p := listenAt(t, o.victim, "udp", ":5000")
		for _, g := range []string{"239.1.2.3", "ff0e::1"} {
			if err := p.JoinGroup(netip.MustParseAddr(g)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		o.reports()
		if err := o.victim.Close(); err != nil {
			t.Fatal(err)
		}
		got := o.reports()
		if len(got) != 2 || !strings.HasSuffix(got[0], "03000000ef010203") ||
			!strings.Contains(got[1], "03000000ff0e") {
			t.Errorf("the end is reported by %v", got)
		}
	})
}

// addrF is the link-local address of an attacker.
var addrF = netip.MustParseAddr("fe80::9")

// mld sends a message with a good checksum and a hop limit of 1, behind a router alert if alert.
func (o *attacker) mld(src, dst netip.Addr, alert bool, kind byte, code, sum1, sum2, max1,
	max2, rest1, rest2 byte, body ...byte) {
	o.t.Helper()
	o.mldWith(src, dst, alert, 1, append([]byte{kind, code, sum1, sum2, max1, max2, rest1, rest2},
		body...))
}

func (o *attacker) mldWith(src, dst netip.Addr, alert bool, hopLimit uint8, message []byte) {
	o.t.Helper()
	h := wire.IPv6{NextHeader: wire.ProtocolICMPv6, HopLimit: hopLimit, Src: src, Dst: dst}
	wire.SealICMP(message, wire.PseudoSum(src, dst, wire.ProtocolICMPv6, len(message)))
	var before []byte
	if alert {
		before = make([]byte, wire.RouterAlertLen)
		wire.PutRouterAlert(before, wire.ProtocolICMPv6)
		h.NextHeader = wire.ProtocolHopByHop
	}
	h.Length = uint16(len(before) + len(message))
	b := make([]byte, wire.IPv6Len)
	h.Put(b)
	o.frame(wire.EtherIPv6, b, before, message)
}

// query6 returns a query of MLDv2 for all groups, with a maximum of a second.
func query6(group netip.Addr) []byte {
	return append(append([]byte{wire.ICMPv6MLDQuery, 0, 0, 0, 0x03, 0xe8, 0, 0},
		group.AsSlice()...), 2, 125, 0, 0)
}

// TestAttackForgedQueries sends queries that no router of the link can have sent: none is answered,
// while good ones are. A forged report keeps no host from answering.
func TestAttackForgedQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newLoneAttacker(t)
		four, six := netip.MustParseAddr("239.1.2.3"), netip.MustParseAddr("ff0e::1")
		other4, other6 := netip.MustParseAddr("239.1.2.4"), netip.MustParseAddr("ff0e::2")
		far, broadcast := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("10.0.0.255")
		p := listenAt(t, o.victim, "udp", ":5000")
		for _, g := range []netip.Addr{four, six, other4, other6} {
			if err := p.JoinGroup(g); err != nil {
				t.Fatal(err)
			}
		}
		v2 := []byte{0x11, 10, 0, 0, 0, 0, 0, 0}
		v3 := append(slices.Clone(v2), 2, 125, 0, 0)
		specific := []byte{0x11, 10, 0, 0, 239, 1, 2, 3}
		time.Sleep(time.Minute)
		o.reports()
		for _, c := range []struct {
			name   string
			send   func()
			answer bool
		}{
			{"v3", func() { o.igmp(addrC, allHosts, 1, alert4, v3...) }, true},
			{"v3 from a switch", func() {
				o.igmp(netip.IPv4Unspecified(), allHosts, 1, alert4, v3...)
			}, true},
			{"v3 to this host", func() { o.igmp(addrC, addrV, 1, alert4, v3...) }, true},
			{"without an alert", func() { o.igmp(addrC, allHosts, 1, nil, v3...) }, false},
			{"v2 without an alert", func() { o.igmp(addrC, allHosts, 1, nil, v2...) }, false},
			{"from afar", func() { o.igmp(addrC, allHosts, 2, alert4, v3...) }, false},
			{"TTL 255", func() { o.igmp(addrC, allHosts, 255, alert4, v3...) }, false},
			{"a wrong checksum", func() { o.igmpRaw(addrC, allHosts, 1, alert4, v3) }, false},
			{"cut", func() { o.igmp(addrC, allHosts, 1, alert4, v3[:10]...) }, false},
			{"to another group", func() { o.igmp(addrC, four, 1, alert4, v3...) }, false},
			{"for one group, to another", func() { o.igmp(addrC, other4, 1, alert4, specific...) },
				false},
			{"to a broadcast", func() { o.igmp(addrC, broadcast, 1, alert4, v3...) }, false},
			{"to a foreign group", func() {
				o.igmp(addrC, netip.MustParseAddr("239.9.9.9"), 1, alert4, v3...)
			}, false},
			{"an unknown type", func() {
				o.igmp(addrC, allHosts, 1, alert4, 0x99, 0, 0, 0, 0, 0, 0, 0)
			}, false},
			{"MLD", func() { o.mldWith(addrF, allNodes, true, 1, query6(unspecified)) }, true},
			{"MLD to this host", func() {
				o.mldWith(addrF, addrY, true, 1, query6(unspecified))
			}, true},
			{"MLD without an alert", func() {
				o.mldWith(addrF, allNodes, false, 1, query6(unspecified))
			}, false},
			{"MLD from afar", func() {
				o.mldWith(addrF, allNodes, true, 2, query6(unspecified))
			}, false},
			{"MLD of a global address", func() {
				o.mldWith(addrX, allNodes, true, 1, query6(unspecified))
			}, false},
			{"MLD cut", func() {
				o.mldWith(addrF, allNodes, true, 1, query6(unspecified)[:26])
			}, false},
			{"MLD to another group", func() {
				o.mldWith(addrF, six, true, 1, query6(unspecified))
			}, false},
			{"MLD for one group, to another", func() {
				o.mldWith(addrF, other6, true, 1, query6(six))
			}, false},
		} {
			c.send()
			time.Sleep(5 * time.Second)
			if got := o.reports(); (len(got) > 0) != c.answer {
				t.Errorf("%s: answered by %v", c.name, got)
			}
		}
		o.igmp(addrC, four, 1, alert4, specific...)
		o.igmp(far, four, 1, nil, 0x16, 0, 0, 0, 239, 1, 2, 3) // a report from afar
		o.igmp(addrC, four, 9, nil, 0x16, 0, 0, 0, 239, 1, 2, 3)
		o.igmp(addrC, other4, 1, nil, 0x16, 0, 0, 0, 239, 1, 2, 3)
		time.Sleep(5 * time.Second)
		if got := o.reports(); len(got) != 1 {
			t.Errorf("forged reports keep the host from %v", got)
		}
		o.igmp(addrC, four, 1, alert4, specific...)
		o.igmp(addrC, four, 1, nil, 0x16, 0, 0, 0, 239, 1, 2, 3) // that of a neighbour
		time.Sleep(5 * time.Second)
		if got := o.reports(); len(got) != 0 {
			t.Errorf("a group is reported twice: %v", got)
		}
	})
}

// TestAttackQueryFlood sends 20,000 queries in 10 s, that leave no time for an answer or hours: the
// host answers in bounded numbers, and still receives what is sent to its groups. Under the race
// detector they are an eighth, in the same time.
func TestAttackQueryFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newLoneAttacker(t)
		queries := fewer(10_000, 8) // of each family
		// for 500 frames
		o.pace = 10 * time.Second / time.Duration(2*queries/500)
		p := listenAt(t, o.victim, "udp", ":5000")
		for i := range 50 {
			for _, g := range []string{fmt.Sprintf("239.1.0.%d", i), fmt.Sprintf("ff0e::%d", i+1)} {
				if err := p.JoinGroup(netip.MustParseAddr(g)); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(time.Minute)
		o.reports()
		growth := newGrowth(t)
		for i := range queries {
			code := []byte{0, 0x80, 0xff}[i%3]
			o.igmp(addrC, allHosts, 1, alert4, 0x11, code, 0, 0, 0, 0, 0, 0, 2, 125, 0, 0)
			query := query6(unspecified)
			query[4], query[5] = code, code
			o.mldWith(addrF, allNodes, true, 1, query)
		}
		growth.within(4<<20, 10)
		if n := len(o.reports()); n < 2 || n > 2*10*10+10 {
			t.Errorf("%d reports in 10 s", n)
		}
		o.udp(at(addrC, 7), netip.MustParseAddrPort("239.1.0.7:5000"), []byte("hello"))
		b := make([]byte, 10)
		if n, _, err := p.ReadFromAddrPort(b); err != nil || string(b[:n]) != "hello" {
			t.Errorf("%q, %v", b[:n], err)
		}
	})
}
