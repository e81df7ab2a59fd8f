package netstack

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

const dnsPort = 53

// nameServer answers queries in a host, over UDP and TCP. Before each answer over UDP it sends two
// that are forged: of another number, and of another question.
func nameServer(t *testing.T, h *host) {
	t.Helper()
	p, err := h.ListenUDP(&net.UDPAddr{Port: dnsPort})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	l, err := h.ListenTCP(&net.TCPAddr{Port: dnsPort})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		b := make([]byte, 2000)
		for {
			n, from, err := p.ReadFrom(b)
			if err != nil {
				return
			}
			for _, a := range answersTo(b[:n], false) {
				_, _ = p.WriteTo(a, from) // a lost answer shows in the test
			}
		}
	}()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				var length [2]byte
				if _, err := io.ReadFull(c, length[:]); err != nil {
					return
				}
				b := make([]byte, binary.BigEndian.Uint16(length[:]))
				if _, err := io.ReadFull(c, b); err != nil {
					return
				}
				all := answersTo(b, true)
				a := all[len(all)-1]
				_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(a))), a...))
			}()
		}
	}()
}

// answersTo makes the answers to a query.
func answersTo(query []byte, tcp bool) [][]byte {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Response, m.Additionals = true, nil
	add := func(name string, body dnsmessage.ResourceBody, kind dnsmessage.Type) {
		m.Answers = append(m.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{
			Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET},
			Body: body})
	}
	address := func(name string) {
		if q.Type == dnsmessage.TypeA {
			add(name, &dnsmessage.AResource{A: [4]byte{10, 9, 0, 2}}, dnsmessage.TypeA)
		} else {
			add(name, &dnsmessage.AAAAResource{AAAA: netip.MustParseAddr("fd09::2").As16()},
				dnsmessage.TypeAAAA)
		}
	}
	alias := func(from, to string) {
		add(from, &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(to)},
			dnsmessage.TypeCNAME)
	}
	switch name := strings.ToLower(q.Name.String()); name {
	case "far.test.":
		address(name)
	case "long.test.": // it fits over TCP only
		m.Truncated = !tcp
		if tcp {
			for range 200 {
				address(name)
			}
		}
	case "alias.test.":
		alias(name, "second.test.")
		alias("second.test.", "far.test.")
		address("far.test.")
	case "loop.test.":
		alias(name, "pool.test.")
		alias("pool.test.", name)
	case "four.test.":
		if q.Type == dnsmessage.TypeA {
			address(name)
		}
	case "broken.test.":
		m.RCode = dnsmessage.RCodeServerFailure
	default:
		m.RCode = dnsmessage.RCodeNameError
	}
	right, _ := m.Pack()
	forged := m
	forged.ID++
	other, _ := forged.Pack()
	forged = m
	forged.Questions = []dnsmessage.Question{{Name: dnsmessage.MustNewName("evil.test."),
		Type: q.Type, Class: q.Class}}
	wrong, _ := forged.Pack()
	return [][]byte{other, wrong, {1, 2, 3}, right}
}

func TestLookup(t *testing.T) {
	hosts := tunnel(t, 1420)
	nameServer(t, hosts[1])
	hosts[1].serve(t)
	both := []string{"fd09::2", "10.9.0.2"}
	for name, want := range map[string][]string{"far.test": both, "FAR.test.": both,
		"alias.test": both, "four.test": {"10.9.0.2"}, "10.9.0.7": {"10.9.0.7"},
		"::ffff:10.9.0.7": {"10.9.0.7"}, "fd09::7": {"fd09::7"}} {
		got, err := hosts[0].LookupHost(name)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
	if got, err := hosts[0].LookupHost("long.test"); err != nil || len(got) != 400 {
		t.Errorf("%d addresses by TCP, %v", len(got), err)
	}
	// localhost is in the hosts file of this machine, which must not be read.
	for name, absent := range map[string]bool{"none.test": true, "localhost": true, "": true,
		".": true, "a..b": true, "a b": true, strings.Repeat("a", 300): true,
		"broken.test": false, "loop.test": false} {
		got, err := hosts[0].LookupHost(name)
		var e *net.DNSError
		if !errors.As(err, &e) || e.IsNotFound != absent {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	hosts[0].SetSearch("corp.test", "test")
	if got, err := hosts[0].LookupHost("four"); err != nil || !slices.Equal(got,
		[]string{"10.9.0.2"}) {
		t.Errorf("by a search domain: %v, %v", got, err)
	}
	response, err := hosts[0].client(t).Get("http://far.test/")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()

	for network, want := range map[string]string{"ip": "[fd09::2 10.9.0.2]", "ip4": "[10.9.0.2]",
		"ip6": "[fd09::2]"} {
		got, err := hosts[0].LookupNetIP(t.Context(), network, "far.test")
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v, want %s", network, got, err, want)
		}
	}
	for _, wrong := range [][2]string{{"tcp", "far.test"}, {"ip6", "four.test"},
		{"ip", "none.test"}} {
		if got, err := hosts[0].LookupNetIP(t.Context(), wrong[0], wrong[1]); err == nil {
			t.Errorf("%v: %v", wrong, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := hosts[0].LookupContextHost(ctx, "far.test"); err == nil {
		t.Error("a lookup whose context has ended")
	}
	for _, wrong := range [][2]string{{"tcp", "far.test"}, {"sctp", "far.test:1"},
		{"tcp44", "far.test:1"}, {"tcp6", "four.test:80"}, {"ip4:icmp", "far.test"},
		{"", "far.test:1"}, {"ping", "none.test"}, {"ping6", "four.test"}, {"ping44", "far.test"}} {
		if c, err := hosts[0].Dial(wrong[0], wrong[1]); err == nil {
			t.Errorf("dialed %v", wrong)
			_ = c.Close()
		}
	}
}
