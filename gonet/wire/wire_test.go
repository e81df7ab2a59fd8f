package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

// raw parses bytes as tcpdump -x prints them.
func raw(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func TestEthernet(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     Ethernet
		payload  string
		err      error
	}{
		{"plain", "0200 0000 0001 0200 0000 0002 0800 4500", Ethernet{Dst: MAC{2, 5: 1},
			Src: MAC{2, 5: 2}, Type: EtherIPv4}, "4500", nil},
		{"tagged", "ffff ffff ffff 0200 0000 0002 8100 6064 0806 0001",
			Ethernet{Dst: Broadcast, Src: MAC{2, 5: 2}, Type: EtherARP, Tagged: true, Tag: 0x6064},
			"0001", nil},
		{"short", "0200 0000 0001 0200 0000 0002 08", Ethernet{}, "", ErrShort},
		{"tag cut", "ffff ffff ffff 0200 0000 0002 8100 6064", Ethernet{}, "", ErrShort},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := raw(t, c.in)
			got, payload, err := ParseEthernet(in)
			if !errors.Is(err, c.err) {
				t.Fatalf("error: got %v, want %v", err, c.err)
			}
			if err != nil {
				return
			}
			if got != c.want || hex.EncodeToString(payload) != c.payload {
				t.Errorf("got %+v and %x, want %+v and %s", got, payload, c.want, c.payload)
			}
			roundTrip(t, in[:got.Len()], got.Put)
		})
	}
}

// roundTrip compares what put writes with the header that was parsed.
func roundTrip(t testing.TB, header []byte, put func([]byte) int) {
	t.Helper()
	out := bytes.Repeat([]byte{0xaa}, len(header)+8) // Put must not rely on zeroed memory
	if n := put(out); n != len(header) || !bytes.Equal(out[:n], header) {
		t.Errorf("written again: got %x, want %x", out[:n], header)
	}
}

func TestMACs(t *testing.T) {
	if got := MulticastMAC(addr("224.128.1.2")).String(); got != "01:00:5e:00:01:02" {
		t.Errorf("group of IPv4: %s", got)
	}
	got := MulticastMAC(SolicitedNode(addr("2001:db8::1:2aff:fe3c")))
	if got.String() != "33:33:ff:ff:fe:3c" {
		t.Errorf("solicited-node group: %s", got)
	}
	for _, bad := range []string{"", "02:00:00:00:00", "02:00:00:00:00:00:00:01",
		"zz:00:00:00:00:01"} {
		if m, err := ParseMAC(bad); err == nil {
			t.Errorf("ParseMAC(%q) = %v without an error", bad, m)
		}
	}
	if m, err := ParseMAC("02:00:00:00:00:fe"); err != nil || m != (MAC{2, 5: 0xfe}) ||
		m.IsGroup() || !Broadcast.IsGroup() {
		t.Errorf("got %v, %v", m, err)
	}
}

func TestARP(t *testing.T) {
	in := raw(t, "0001 0800 0604 0001 0200 0000 0001 0a00 0001 0000 0000 0000 0a00 0002")
	got, err := ParseARP(append(in, make([]byte, 18)...)) // Ethernet pads
	want := ARP{Op: ARPRequest, SenderMAC: MAC{2, 5: 1}, SenderIP: addr("10.0.0.1"),
		TargetIP: addr("10.0.0.2")}
	if err != nil || got != want {
		t.Fatalf("got %+v, %v, want %+v", got, err, want)
	}
	roundTrip(t, in, got.Put)
	if _, err := ParseARP(in[:27]); !errors.Is(err, ErrShort) {
		t.Errorf("cut: %v", err)
	}
	in[0] = 6 // IEEE 802
	if _, err := ParseARP(in); !errors.Is(err, ErrHardware) {
		t.Errorf("other hardware: %v", err)
	}
}

func TestIPv4(t *testing.T) {
	// A packet of the kernel's: ping -s 0 -c 1.
	good := "4500 001c 1c46 4000 4006 b206 ac10 0a63 ac10 0a0c 0102 0304 0506 0708"
	for _, c := range []struct {
		name string
		in   []byte
		err  error
		len  int
	}{
		{"good", raw(t, good), nil, 8},
		{"padded", append(raw(t, good), 0, 0, 0, 0), nil, 8},
		{"cut", raw(t, good)[:27], ErrLength, 0},
		{"header cut", raw(t, good)[:19], ErrShort, 0},
		{"version", append([]byte{0x65}, raw(t, good)[1:]...), ErrVersion, 0},
		{"header length", append([]byte{0x44}, raw(t, good)[1:]...), ErrLength, 0},
		{"header beyond the packet", append([]byte{0x48}, raw(t, good)[1:]...), ErrLength, 0},
		{"flipped bit", append([]byte{0x45, 1}, raw(t, good)[2:]...), ErrChecksum, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, payload, err := ParseIPv4(c.in)
			if !errors.Is(err, c.err) || len(payload) != c.len {
				t.Fatalf("got %d bytes, %v, want %d, %v", len(payload), err, c.len, c.err)
			}
			if err == nil {
				roundTrip(t, c.in[:h.Len()], h.Put)
			}
		})
	}
	h, _, _ := ParseIPv4(raw(t, good))
	want := IPv4{Length: 28, ID: 0x1c46, DontFragment: true, TTL: 64, Protocol: ProtocolTCP,
		Src: addr("172.16.10.99"), Dst: addr("172.16.10.12")}
	h.Options = nil
	if !reflect.DeepEqual(h, want) || h.IsFragment() {
		t.Errorf("got %+v, want %+v", h, want)
	}
}

func TestIPv4Options(t *testing.T) {
	h := IPv4{Length: 100, Src: addr("1.2.3.4"), Dst: addr("5.6.7.8"), Options: []byte{optionNop, 7,
		7, 4, 0, 0, 0, 0}, Offset: 8, MoreFragments: true}
	b := make([]byte, 100)
	if n := h.Put(b); n != 28 {
		t.Fatalf("a header of %d bytes", n)
	}
	got, payload, err := ParseIPv4(b)
	if err != nil || !bytes.Equal(got.Options, h.Options) || len(payload) != 72 ||
		got.Offset != 8 || !got.IsFragment() {
		t.Fatalf("got %+v, %v", got, err)
	}
	for _, c := range []struct {
		in    []byte
		route bool
		err   error
	}{
		{nil, false, nil},
		{[]byte{optionNop, optionEnd, 99, 0}, false, nil},
		{[]byte{optionLSRR, 3, 4, optionNop}, true, nil},
		{[]byte{7, 1, 0, 0}, false, ErrOption},
		{[]byte{optionNop, 7, 9, 0}, false, ErrOption},
		{[]byte{optionNop, optionNop, optionNop, 7}, false, ErrOption},
	} {
		if route, err := CheckIPv4Options(c.in); route != c.route || !errors.Is(err, c.err) {
			t.Errorf("%v: got %v, %v, want %v, %v", c.in, route, err, c.route, c.err)
		}
	}
}

func TestUDP(t *testing.T) {
	for _, c := range []struct {
		name, in, payload string
		err               error
	}{
		{"padded", "\x00\x07\x00\x35\x00\x08\x00\x00pad", "", nil}, // Ethernet pads
		{"payload", "\x00\x07\x00\x35\x00\x0b\x12\x34abc", "abc", nil},
		{"length too big", "\x00\x07\x00\x35\x00\x63\x00\x00", "", ErrShort},
		{"length too small", "\x00\x07\x00\x35\x00\x07\x00\x00", "", ErrLength},
		{"cut", "\x00\x07\x00", "", ErrShort},
	} {
		h, payload, err := ParseUDP([]byte(c.in))
		if string(payload) != c.payload || !errors.Is(err, c.err) {
			t.Errorf("%s: got %q, %v, want %q, %v", c.name, payload, err, c.payload, c.err)
		}
		if err == nil {
			roundTrip(t, []byte(c.in[:UDPLen]), h.Put)
		}
	}
}

func TestICMP(t *testing.T) {
	b := make([]byte, ICMPLen+3)
	m := Echo(ICMPEcho, 0x1234, 7)
	copy(b[m.Put(b):], "abc")
	SealICMP(b, 0)
	got, body, err := ParseICMP(b, 0)
	if err != nil || got.ID() != 0x1234 || got.Seq() != 7 || string(body) != "abc" ||
		got.Type != ICMPEcho {
		t.Fatalf("got %+v %q, %v", got, body, err)
	}
	b[9] ^= 1
	if _, _, err := ParseICMP(b, 0); !errors.Is(err, ErrChecksum) {
		t.Errorf("a flipped bit: %v", err)
	}
	if _, _, err := ParseICMP(b[:7], 0); !errors.Is(err, ErrShort) {
		t.Errorf("cut: %v", err)
	}
}

func TestIPv6(t *testing.T) {
	in := raw(t,
		"6120 0345 0004 3a40 fe80 0000 0000 0000 0000 0000 0000 0001 ff02 0000 0000 0000 0000 "+
			"0000 0000 0002 8000 0000 ffff")
	h, payload, err := ParseIPv6(in)
	want := IPv6{TrafficClass: 0x12, FlowLabel: 0x345, Length: 4, NextHeader: ProtocolICMPv6,
		HopLimit: 64, Src: addr("fe80::1"), Dst: addr("ff02::2")}
	if err != nil || h != want || len(payload) != 4 {
		t.Fatalf("got %+v %x, %v, want %+v", h, payload, err, want)
	}
	roundTrip(t, in[:IPv6Len], h.Put)
	if _, _, err := ParseIPv6(in[:43]); !errors.Is(err, ErrLength) {
		t.Errorf("cut: %v", err)
	}
	if _, quoted, err := ParseIPv6Quote(in[:43]); err != nil || len(quoted) != 3 {
		t.Errorf("quoted: %x, %v", quoted, err)
	}
}

func TestChain(t *testing.T) {
	const tcp, unknown = "06", "fd"
	for _, c := range []struct {
		name string
		next Protocol
		in   string
		want Chain
		err  error
	}{
		{"none", ProtocolUDP, "0102", Chain{Protocol: ProtocolUDP, Payload: []byte{1, 2},
			NextAt: 6}, nil},
		{"padding and router alert", ProtocolHopByHop, tcp + "00 0502 0000 0100 aa",
			Chain{Protocol: ProtocolTCP, Payload: []byte{0xaa}, Unfragmentable: 8, NextAt: 40,
				RouterAlert: true}, nil},
		{"fragment", ProtocolFragment, tcp + "00 0011 00000009 bb",
			Chain{Protocol: ProtocolTCP, Payload: []byte{0xbb}, IsFragment: true,
				Fragment: Fragment{NextHeader: ProtocolTCP, Offset: 16, More: true, ID: 9},
				NextAt:   40}, nil},
		{"atomic fragment", ProtocolFragment, tcp + "00 0000 00000009 bb",
			Chain{Protocol: ProtocolTCP, Payload: []byte{0xbb}, Unfragmentable: 8, NextAt: 40},
			nil},
		{"route done", ProtocolRouting, tcp + "00 0400 0000 0000", Chain{Protocol: ProtocolTCP,
			Payload: []byte{}, Unfragmentable: 8, NextAt: 40}, nil},
		{"route left", ProtocolRouting, tcp + "00 0001 0000 0000", Chain{},
			&Problem{Code: ProblemV6Header, Pointer: 42}},
		{"hop-by-hop late", ProtocolDestination, "0000 0104 0000 0000", Chain{},
			&Problem{Code: ProblemV6NextHeader, Pointer: 40}},
		{"option to skip", ProtocolDestination, unknown + "00 1e04 0000 0000",
			Chain{Protocol: 0xfd, Payload: []byte{}, Unfragmentable: 8, NextAt: 40}, nil},
		{"option to drop", ProtocolDestination, tcp + "00 4004 0000 0000", Chain{},
			&Problem{Code: ProblemV6Option, Pointer: 42, Silent: true}},
		{"option to report", ProtocolDestination, tcp + "00 8004 0000 0000", Chain{},
			&Problem{Code: ProblemV6Option, Pointer: 42}},
		{"option to report to one", ProtocolDestination, tcp + "00 c004 0000 0000", Chain{},
			&Problem{Code: ProblemV6Option, Pointer: 42, Unicast: true}},
		{"option beyond", ProtocolDestination, tcp + "00 0105 0000 0000", Chain{},
			&Problem{Code: ProblemV6Header, Pointer: 42}},
		{"cut", ProtocolDestination, tcp + "01 0104 0000 0000", Chain{}, ErrShort},
		{"too many", ProtocolDestination, strings.Repeat("3c00 0104 0000 0000 ", 9), Chain{},
			&Problem{Silent: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseChain(c.next, raw(t, c.in))
			var want, p *Problem
			switch {
			case errors.As(c.err, &want) && errors.As(err, &p) && *p == *want:
			case want == nil && errors.Is(err, c.err) && reflect.DeepEqual(got, c.want):
			default:
				t.Errorf("got %+v, %v\nwant %+v, %v", got, err, c.want, c.err)
			}
		})
	}
}

func TestNeighbor(t *testing.T) {
	for _, kind := range []uint8{ICMPv6NeighborSolicit, ICMPv6NeighborAdvert} {
		want := Neighbor{Target: addr("fe80::2"), MAC: MAC{2, 5: 9}, HasMAC: true}
		if kind == ICMPv6NeighborAdvert {
			want.Solicited, want.Override = true, true
		}
		b := make([]byte, 64)
		b = b[:want.Put(b, kind)]
		initial := PseudoSum(addr("fe80::1"), addr("fe80::2"), ProtocolICMPv6, len(b))
		SealICMP(b, initial)
		m, body, err := ParseICMP(b, initial)
		if err != nil || m.Type != kind {
			t.Fatalf("got %+v, %v", m, err)
		}
		if got, err := ParseNeighbor(m, body); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		body[17] = 0 // an option of length 0
		if _, err := ParseNeighbor(m, body); !errors.Is(err, ErrLength) {
			t.Errorf("an option without length: %v", err)
		}
		copy(body, "\xff\x02")
		if _, err := ParseNeighbor(m, body); !errors.Is(err, ErrAddress) {
			t.Errorf("a group as target: %v", err)
		}
	}
}

func TestRouterAdvert(t *testing.T) {
	// An advertisement of radvd with one prefix, an MTU and a DNS server.
	body := raw(t, `0000 7530 0000 03e8
		0304 40c0 0001 5180 0000 3840 0000 0000 2001 0db8 0001 0000 0000 0000 0000 0000
		0304 40c0 0000 0e10 0000 1c20 0000 0000 2001 0db8 0002 0000 0000 0000 0000 0000
		0501 0000 0000 05dc 0101 0200 0000 0001
		1903 0000 0000 0258 2001 0db8 0001 0000 0000 0000 0000 0053`)
	got, err := ParseRouterAdvert(ICMP{Type: ICMPv6RouterAdvert, Rest: 64<<24 | 1<<22 | 1800}, body)
	want := RouterAdvert{
		HopLimit: 64, Other: true, Lifetime: 30 * time.Minute, Reachable: 30 * time.Second,
		Retransmit: time.Second,
		MTU:        1500, MAC: MAC{2, 5: 1}, HasMAC: true,
		DNS:         []netip.Addr{addr("2001:db8:1::53")},
		DNSLifetime: 10 * time.Minute,
		// The second prefix is preferred for longer than it is valid.
		Prefixes: []Prefix{{netip.MustParsePrefix("2001:db8:1::/64"), true, true, 24 * time.Hour,
			4 * time.Hour}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	want.Managed = true
	whole := want.Append([]byte("before"))[6:]
	SealICMP(whole, 0)
	m, body, err := ParseICMP(whole, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseRouterAdvert(m, body); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("appended and parsed: %+v, %v\nwant %+v", got, err, want)
	}
	mac := MAC{2, 5: 7}
	b := make([]byte, 16)
	if n := PutRouterSolicit(b, &mac); n != 16 ||
		!bytes.Equal(b, raw(t, "8500 0000 0000 0000 0101 0200 0000 0007")) {
		t.Errorf("solicitation: %x", b[:n])
	}
}
