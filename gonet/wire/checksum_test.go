package wire

import (
	"math/rand/v2"
	"net/netip"
	"testing"
)

// sumSlow is the algorithm of RFC 1071 as written, a word at a time.
func sumSlow(b []byte) uint16 {
	var sum uint32
	for i, c := range b {
		if i%2 == 0 {
			sum += uint32(c) << 8
		} else {
			sum += uint32(c)
		}
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}

// same takes the two zeros of ones' complement as equal.
func same(a, b uint16) bool { return a%0xffff == b%0xffff }

func TestSumOfRFC1071(t *testing.T) {
	// The example of section 3.
	if got := Sum([]byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}, 0); got != 0xddf2 {
		t.Errorf("got %04x, want ddf2", got)
	}
}

func TestSumAgreesWithTheText(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 300)
	for n := range b {
		for range 20 {
			for i := range b[:n] {
				b[i] = byte(random.Uint32())
				if random.IntN(3) == 0 {
					b[i] = 0xff // carries
				}
			}
			if got, want := Sum(b[:n], 0), sumSlow(b[:n]); !same(got, want) {
				t.Fatalf("%d bytes % x: got %04x, want %04x", n, b[:n], got, want)
			}
			cut := random.IntN(n + 1)
			if got, want := SumAt(b[cut:n], cut, Sum(b[:cut], 0)), sumSlow(b[:n]); !same(got,
				want) {
				t.Fatalf("%d bytes cut at %d: got %04x, want %04x", n, cut, got, want)
			}
		}
	}
}

func TestReplace(t *testing.T) {
	// The example of RFC 1624 section 4: the case that RFC 1141 had wrong.
	if got := Replace(0xdd2f, 0x5555, 0x3285); got != 0x0000 {
		t.Errorf("got %04x, want 0000", got)
	}
}

func TestPseudoSum(t *testing.T) {
	src, dst := netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("192.168.0.200")
	plain := []byte{10, 1, 2, 3, 192, 168, 0, 200, 0, 6, 0x12, 0x34}
	if got, want := PseudoSum(src, dst, ProtocolTCP, 0x1234), sumSlow(plain); !same(got, want) {
		t.Errorf("IPv4: got %04x, want %04x", got, want)
	}
	src, dst = netip.MustParseAddr("fe80::1"), netip.MustParseAddr("2001:db8::ffff")
	s, d := src.As16(), dst.As16()
	plain = append(append(append([]byte{}, s[:]...), d[:]...), 0, 1, 0x23, 0x45, 0, 0, 0, 58)
	if got, want := PseudoSum(src, dst, ProtocolICMPv6, 0x12345), sumSlow(plain); !same(got, want) {
		t.Errorf("IPv6: got %04x, want %04x", got, want)
	}
}

func BenchmarkSum(b *testing.B) {
	packet := make([]byte, 1460)
	b.SetBytes(int64(len(packet)))
	for b.Loop() {
		Sum(packet, 0)
	}
}
