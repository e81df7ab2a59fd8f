package wire

import (
	"bytes"
	"testing"
)

// Every parser of a header must not panic, must return a payload within the input, and a header
// that is written as it was parsed.

func FuzzEthernet(f *testing.F) {
	f.Add(raw(f, "ffff ffff ffff 0200 0000 0002 8100 6064 0806 0001"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, payload, err := ParseEthernet(b); err == nil {
			if h.Len()+len(payload) != len(b) {
				t.Fatalf("%d bytes of header, %d of payload, of %d", h.Len(), len(payload), len(b))
			}
			roundTrip(t, b[:h.Len()], h.Put)
		}
	})
}

func FuzzARP(f *testing.F) {
	f.Add(raw(f, "0001 0800 0604 0001 0200 0000 0001 0a00 0001 0000 0000 0000 0a00 0002"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := ParseARP(b); err == nil {
			roundTrip(t, b[:ARPLen], m.Put)
		}
	})
}

func FuzzIPv4(f *testing.F) {
	f.Add(raw(f, "4500 001c 1c46 4000 4006 b206 ac10 0a63 ac10 0a0c 0102 0304 0506 0708"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _, _ = ParseIPv4Quote(b)
		h, payload, err := ParseIPv4(b)
		if err != nil {
			return
		}
		if h.Len()+len(payload) != int(h.Length) {
			t.Fatalf("%d bytes of header, %d of payload, of %d", h.Len(), len(payload), h.Length)
		}
		_, _ = CheckIPv4Options(h.Options)
		out := make([]byte, IPv4MaxLen)
		again, _, err := ParseIPv4Quote(out[:h.Put(out)])
		again.Options, h.Options = nil, nil // compared by length above
		if err != nil || again.Length != h.Length || again.Src != h.Src || again.Dst != h.Dst ||
			again.ID != h.ID || again.Offset != h.Offset {
			t.Fatalf("written and read again: %+v, %v, was %+v", again, err, h)
		}
	})
}

func FuzzIPv6(f *testing.F) {
	f.Add(raw(f,
		"6120 0345 0004 3a40 fe80 0000 0000 0000 0000 0000 0000 0001 ff02 0000 0000 0000 0000 "+
			"0000 0000 0002 8000 0000 ffff"))
	f.Add(raw(f,
		"6000 0000 0010 0040 fe80 0000 0000 0000 0000 0000 0000 0001 ff02 0000 0000 0000 0000 "+
			"0000 0000 0002 2c00 0502 0000 0100 0600 0011 0000 0009"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _, _ = ParseIPv6Quote(b)
		h, payload, err := ParseIPv6(b)
		if err != nil {
			return
		}
		roundTrip(t, b[:IPv6Len], h.Put)
		c, err := ParseChain(h.NextHeader, payload)
		if err != nil {
			return
		}
		want := len(payload) - c.Unfragmentable
		if c.IsFragment {
			want -= FragmentLen
		}
		if len(c.Payload) != want {
			t.Fatalf("%d bytes behind %d of headers, of %d", len(c.Payload), c.Unfragmentable,
				len(payload))
		}
	})
}

func FuzzICMP(f *testing.F) {
	f.Add(raw(f, "8700 0000 0000 0000 fe80 0000 0000 0000 0000 0000 0000 0002 0101 0200 0000 0009"))
	f.Add(raw(f, "8600 0000 4040 0708 0000 7530 0000 03e8 0501 0000 0000 05dc"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < ICMPLen {
			if _, _, err := ParseICMP(b, 0); err == nil {
				t.Fatal("a cut message was taken")
			}
			return
		}
		sealed := bytes.Clone(b)
		SealICMP(sealed, 0)
		m, body, err := ParseICMP(sealed, 0)
		if err != nil {
			t.Fatalf("a sealed message is refused: %v", err)
		}
		roundTrip(t, sealed[:ICMPLen], m.Put)
		_, _ = ParseNeighbor(m, body)
		_, _ = ParseRouterAdvert(m, body)
	})
}

func FuzzUDP(f *testing.F) {
	f.Add([]byte("\x00\x07\x00\x35\x00\x0b\x12\x34abc"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, payload, err := ParseUDP(b); err == nil {
			if UDPLen+len(payload) != int(h.Length) {
				t.Fatalf("%d bytes of payload, length %d", len(payload), h.Length)
			}
			roundTrip(t, b[:UDPLen], h.Put)
		}
	})
}

func FuzzTCP(f *testing.F) {
	f.Add(raw(f,
		"d431 0050 1122 3344 0000 0000 a002 faf0 1234 0000 0204 05b4 0402 080a 0102 0304 0000 "+
			"0000 0103 0307"))
	f.Add(raw(f,
		"d431 0050 1122 3345 5566 7788 b010 01f6 1234 0000 0101 080a 0102 0304 0a0b 0c0d 0101 "+
			"050a 0000 0001 0000 0009"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _, _, _ = ParseTCPQuote(b)
		h, payload, err := ParseTCP(b)
		if err != nil {
			return
		}
		if len(payload) > len(b)-TCPLen {
			t.Fatalf("%d bytes of payload, of %d", len(payload), len(b))
		}
		if h.Len() > TCPMaxLen {
			return // the options fit only without our padding
		}
		out := make([]byte, TCPMaxLen)
		if again, _, err := ParseTCP(out[:h.Put(out)]); err != nil || again != h {
			t.Fatalf("written and read again: %+v, %v, was %+v", again, err, h)
		}
	})
}
