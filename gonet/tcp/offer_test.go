package tcp

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestOffer has a user take random parts of what arrives, while the link uses its memory again
// after each batch. What is taken must be what arrived, and no buffer of the link must be kept
// without being returned.
func TestOffer(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 0))
		c := newConn(&Config{MSS: 1460}, 0, 1)
		var arrived, taken []byte
		var loans []*countingLoan
		now := Time(1)
		for range 50 {
			var memory [][]byte // of the batch
			for range r.IntN(4) {
				b := make([]byte, 1+r.IntN([]int{100, 5000, 2 * minLoan}[r.IntN(3)]))
				for i := range b {
					b[i] = byte(r.Uint32())
				}
				arrived = append(arrived, b...)
				x := text{data: b, borrowed: r.IntN(4) > 0}
				if r.IntN(2) == 0 {
					l := new(countingLoan)
					loans, x.loan = append(loans, l), l
				}
				c.receive.push(x)
				if x.loan == nil || len(b) < minLoan || x.borrowed {
					memory = append(memory, b)
				}
			}
			for c.Readable() > 0 && r.IntN(4) > 0 {
				p := c.Offer()
				n := r.IntN(len(p.Data) + 1)
				taken = append(taken, p.Data[:n]...)
				now = now.Add(1000)
				c.Took(p, n, now)
			}
			c.Settle()
			for _, b := range memory {
				if !isLent(c, b) {
					clear(b)
				}
			}
			if want := len(arrived) - len(taken); c.Readable() != want {
				t.Fatalf("seed %d: %d bytes wait, want %d", seed, c.Readable(), want)
			}
		}
		for c.Readable() > 0 {
			p := c.Offer()
			taken = append(taken, p.Data...)
			c.Took(p, len(p.Data), now)
		}
		if !bytes.Equal(arrived, taken) {
			t.Fatalf("seed %d: other bytes were taken than have arrived", seed)
		}
		for _, l := range loans {
			if l.kept > 1 || l.kept != l.returned {
				t.Errorf("seed %d: a buffer was kept %d times and returned %d times", seed, l.kept,
					l.returned)
			}
		}
		if c.Offer() != nil || c.receive.in.head != nil || c.receive.in.tail != nil {
			t.Errorf("seed %d: the queue is not empty", seed)
		}
	}
}

// isLent tells whether a piece that waits is in the memory of b, which the link has lent.
func isLent(c *Conn, b []byte) bool {
	for p := c.receive.in.head; p != nil; p = p.next {
		if p.loan != nil && &p.Data[len(p.Data)-1] == &b[len(b)-1] {
			return true
		}
	}
	return false
}

// TestTookAfterCloseRead closes for reading while a piece is at the user.
func TestTookAfterCloseRead(t *testing.T) {
	for _, n := range []int{0, 3, 5} {
		c := newConn(&Config{MSS: 1460}, 0, 1)
		c.receive.push(text{data: []byte("first")})
		c.receive.push(text{data: []byte("second"), borrowed: true})
		p := c.Offer()
		c.CloseRead()
		c.Took(p, n, 2)
		if c.Readable() != 0 || c.Offer() != nil {
			t.Errorf("%d bytes of a closed direction wait", c.Readable())
		}
	}
}
