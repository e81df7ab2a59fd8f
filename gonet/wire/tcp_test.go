package wire

import (
	"bytes"
	"errors"
	"testing"
)

func TestTCP(t *testing.T) {
	// The SYN and a later ACK of a Linux client.
	syn := raw(t,
		"d431 0050 1122 3344 0000 0000 a002 faf0 1234 0000 0204 05b4 0402 080a 0102 0304 0000 "+
			"0000 0103 0307")
	ack := raw(t,
		"d431 0050 1122 3345 5566 7788 8010 01f6 1234 0000 0101 080a 0102 0304 0a0b 0c0d aabb")
	h, payload, err := ParseTCP(syn)
	want := TCP{SrcPort: 0xd431, DstPort: 80, Seq: 0x11223344, Flags: SYN, Window: 0xfaf0,
		Checksum: 0x1234, Options: TCPOptions{
			MSS: 1460, WindowScale: 7, HasWindowScale: true, SACKPermitted: true,
			HasTimestamp: true,
			TSVal:        0x01020304,
		}}
	if err != nil || h != want || len(payload) != 0 {
		t.Fatalf("got %+v, %v\nwant %+v", h, err, want)
	}
	roundTrip(t, syn, h.Put)
	h, payload, err = ParseTCP(ack)
	want = TCP{SrcPort: 0xd431, DstPort: 80, Seq: 0x11223345, Ack: 0x55667788, Flags: ACK,
		Window: 502, Checksum: 0x1234,
		Options: TCPOptions{HasTimestamp: true, TSVal: 0x01020304, TSEcr: 0x0a0b0c0d}}
	if err != nil || h != want || !bytes.Equal(payload, []byte{0xaa, 0xbb}) {
		t.Fatalf("got %+v, %v\nwant %+v", h, err, want)
	}
	roundTrip(t, ack[:32], h.Put)
}

func TestTCPSACK(t *testing.T) {
	h := TCP{Flags: ACK, Options: TCPOptions{HasTimestamp: true, TSVal: 1, TSEcr: 2, SACKCount: 3,
		SACK: [4]SACKBlock{{10, 20}, {30, 40}, {0xfffffff0, 5}}}}
	b := make([]byte, TCPMaxLen)
	if n := h.Put(b); n != TCPMaxLen {
		t.Fatalf("%d bytes", n)
	}
	if got, _, err := ParseTCP(b); err != nil || got != h {
		t.Errorf("got %+v, %v\nwant %+v", got, err, h)
	}
	h.Options.SACKCount = 4
	defer func() {
		if recover() == nil {
			t.Error("44 bytes of options were written")
		}
	}()
	h.Put(make([]byte, 80))
}

func TestTCPMalformed(t *testing.T) {
	head := "d431 0050 1122 3344 0000 0000"
	for _, c := range []struct {
		name, rest string
		want       TCPOptions
		err        error
	}{
		{"offset below the header", "4002 faf0 1234 0000", TCPOptions{}, ErrLength},
		{"offset beyond the segment", "6002 faf0 1234 0000", TCPOptions{}, ErrShort},
		{"option runs out", "6002 faf0 1234 0000 0204 05", TCPOptions{}, ErrShort},
		{"length zero ends the list", "7002 faf0 1234 0000 0300 0000 0204 05b4", TCPOptions{}, nil},
		{"length beyond the header", "7002 faf0 1234 0000 0101 0104 0309 0000", TCPOptions{}, nil},
		{"the end hides what follows", "7002 faf0 1234 0000 0000 0000 0204 05b4", TCPOptions{},
			nil},
		{"a length that is not of its kind", "7002 faf0 1234 0000 0203 0501 0101 0101",
			TCPOptions{}, nil},
		{"unknown option", "7002 faf0 1234 0000 fe04 0000 0204 0218", TCPOptions{MSS: 536}, nil},
		{"shift of 15", "6002 faf0 1234 0000 0303 0f00", TCPOptions{WindowScale: 14,
			HasWindowScale: true}, nil},
		{"no option", "5002 faf0 1234 0000", TCPOptions{}, nil},
	} {
		h, _, err := ParseTCP(raw(t, head+c.rest))
		if !errors.Is(err, c.err) || h.Options != c.want {
			t.Errorf("%s: got %+v, %v, want %+v, %v", c.name, h.Options, err, c.want, c.err)
		}
	}
	if _, _, err := ParseTCP(make([]byte, 19)); !errors.Is(err, ErrShort) {
		t.Errorf("19 bytes: %v", err)
	}
	if src, dst, seq, err := ParseTCPQuote(raw(t, head)); src != 0xd431 || dst != 80 ||
		seq != 0x11223344 || err != nil {
		t.Errorf("quoted: %x %d %x, %v", src, dst, seq, err)
	}
	if _, _, _, err := ParseTCPQuote(make([]byte, 7)); !errors.Is(err, ErrShort) {
		t.Errorf("quoted, cut: %v", err)
	}
}

func TestFlags(t *testing.T) {
	for f, want := range map[Flags]string{SYN: "S", SYN | ACK: "S.", FIN | PSH | ACK: "FP.",
		RST: "R", 0: "", CWR | ECE | URG: "UEW"} {
		if got := f.String(); got != want {
			t.Errorf("%08b: got %q, want %q", f, got, want)
		}
	}
}

// TestNoAllocation holds that parsing and writing a segment allocates nothing.
func TestNoAllocation(t *testing.T) {
	packet := make([]byte, 1500)
	h := TCP{Flags: ACK, Options: TCPOptions{HasTimestamp: true}}
	ip := IPv4{Length: 1500, Src: addr("10.0.0.1"), Dst: addr("10.0.0.2"), Protocol: ProtocolTCP}
	if n := testing.AllocsPerRun(100, func() {
		n := ip.Put(packet)
		h.Put(packet[n:])
		_, segment, err := ParseIPv4(packet)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := ParseTCP(segment); err != nil {
			t.Fatal(err)
		}
		PseudoSum(ip.Src, ip.Dst, ip.Protocol, len(segment))
		if _, _, err := ParseIPv4(packet[:10]); err == nil {
			t.Fatal("a cut packet was taken")
		}
	}); n != 0 {
		t.Errorf("%v allocations a packet", n)
	}
}
