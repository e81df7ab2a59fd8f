package tcp

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestRingAgreesWithASlice compares the ring with a slice.
func TestRingAgreesWithASlice(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var r ring
	var want []byte
	next := byte(0)
	for step := range 20000 {
		switch random.IntN(4) {
		case 0, 1:
			p := make([]byte, random.IntN(3000))
			for i := range p {
				p[i], next = next, next+1
			}
			if len(want) < 60000 {
				r.push(p)
				want = append(want, p...)
			}
		case 2:
			p := make([]byte, random.IntN(4000))
			n := r.pop(p)
			if n != min(len(p), len(want)) || !bytes.Equal(p[:n], want[:n]) {
				t.Fatalf("step %d: popped %d bytes that are not the first of %d", step, n,
					len(want))
			}
			want = want[n:]
		case 3:
			n := random.IntN(len(want) + 1)
			r.drop(n)
			want = want[n:]
		}
		if r.n != len(want) {
			t.Fatalf("step %d: %d bytes, want %d", step, r.n, len(want))
		}
		at := random.IntN(len(want) + 1)
		n := random.IntN(len(want) - at + 1)
		a, b := r.view(at, n)
		if got := append(bytes.Clone(a), b...); !bytes.Equal(got, want[at:at+n]) {
			t.Fatalf("step %d: view(%d, %d) differs", step, at, n)
		}
		if r.n == 0 && r.buffer != nil {
			t.Fatalf("step %d: an empty ring holds %d bytes", step, len(*r.buffer))
		}
	}
}

func TestRingReturnsNoLargeBufferToItsPool(t *testing.T) {
	var r ring
	r.push(make([]byte, maxRing+1))
	if len(*r.buffer) != 2*maxRing {
		t.Errorf("a buffer of %d bytes for %d", len(*r.buffer), maxRing+1)
	}
	r.free()
	if r.n != 0 || r.buffer != nil {
		t.Error("something is left")
	}
}

func TestSequenceNumbersWrap(t *testing.T) {
	a, b := Seq(0xfffffff0), Seq(0x10)
	if !a.Before(b) || !b.After(a) || a.To(b) != 0x20 || a.Plus(0x20) != b || later(a, b) != b ||
		earlier(a, b) != a {
		t.Error("0xfffffff0 stands 32 bytes before 0x10")
	}
	if !b.Within(a, 0x21) || b.Within(a, 0x20) || a.Within(b, 0x20) {
		t.Error("0x10 is the 33rd byte from 0xfffffff0 on")
	}
	if a.Before(a) || a.After(a) {
		t.Error("a number stands before itself")
	}
}
