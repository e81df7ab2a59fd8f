package tcp

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// countingLoan is a Loan that counts its calls.
type countingLoan struct{ kept, returned int }

func (l *countingLoan) Keep()   { l.kept++ }
func (l *countingLoan) Return() { l.returned++ }

// TestReceiveQueueAgreesWithASlice compares the queue with a slice.
func TestReceiveQueueAgreesWithASlice(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var q receiveQueue
	var want []byte
	var loans countingLoan
	next := byte(0)
	steps := 20_000
	if raced {
		steps = 5000 // one goroutine, byte for byte
	}
	for step := range steps {
		switch random.IntN(4) {
		case 0, 1:
			b := make([]byte, random.IntN(3000)*(1+20*random.IntN(2)))
			for i := range b {
				b[i], next = next, next+1
			}
			if len(want) >= 600_000 {
				break
			}
			want = append(want, b...)
			switch len(b) % 3 {
			case 0:
				if q.push(b, &loans); len(b) < minLoan {
					clear(b) // the link uses it again
				}
			case 1:
				q.push(b, nil)
				clear(b)
			case 2:
				q.pushOwned(b)
			}
		case 2:
			b := make([]byte, random.IntN(100_000))
			n := q.pop(b)
			if n != min(len(b), len(want)) || !bytes.Equal(b[:n], want[:n]) {
				t.Fatalf("step %d: popped %d bytes that are not the first of %d", step, n,
					len(want))
			}
			want = want[n:]
		case 3:
			p := q.take()
			if p == nil {
				break
			}
			if !bytes.HasPrefix(want, p.Data) || len(p.Data) == 0 {
				t.Fatalf("step %d: took %d bytes that are not the first of %d", step, len(p.Data),
					len(want))
			}
			want = want[len(p.Data):]
			p.Free()
		}
		if q.n != len(want) || q.n == 0 && (q.head != nil || q.tail != nil) {
			t.Fatalf("step %d: %d bytes, want %d", step, q.n, len(want))
		}
	}
	q.free()
	if loans.kept == 0 || loans.returned != loans.kept || q.n != 0 {
		t.Errorf("%d loans kept, %d returned, %d bytes left", loans.kept, loans.returned, q.n)
	}
}
