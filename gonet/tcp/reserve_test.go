package tcp

import (
	"bytes"
	"testing"
)

// fillRoom reserves room and fills it with a byte.
func fillRoom(t *testing.T, c *Conn, n int, x byte) (a, b []byte) {
	t.Helper()
	a, b = c.Reserve(n)
	if len(a)+len(b) != n {
		t.Fatalf("room for %d bytes, want %d", len(a)+len(b), n)
	}
	for _, p := range [][]byte{a, b} {
		for i := range p {
			p[i] = x
		}
	}
	return a, b
}

// reserving returns an established connection that has sent n bytes.
func reserving(t *testing.T, n int) *Conn {
	t.Helper()
	c := newConn(&Config{MSS: 1460}, 0, 0)
	c.state, c.send.mss = Established, 1000
	c.send.una, c.send.next = 1, 1
	if took := c.Write(bytes.Repeat([]byte{1}, n)); took != n {
		t.Fatalf("%d bytes were written, want %d", took, n)
	}
	c.send.next = Seq(1 + n)
	return c
}

// TestReserve fills room while acknowledgements empty the send buffer, and also where the room is
// in two parts.
func TestReserve(t *testing.T) {
	c := reserving(t, 3000)
	c.advance(2001, ackInfo{acked: 2000}, 0)
	if _, b := fillRoom(t, c, 3000, 2); len(b) == 0 {
		t.Error("the room is in one part")
	}
	c.advance(3001, ackInfo{acked: 1000}, 0) // nothing is left
	if c.send.out.buffer == nil {
		t.Fatal("the buffer was freed while it was filled")
	}
	if n := c.Commit(2500); n != 2500 || c.send.out.n != 2500 {
		t.Fatalf("%d bytes were taken, %d are there", n, c.send.out.n)
	}
	a, b := c.send.out.view(0, 2500)
	if got := append(bytes.Clone(a), b...); !bytes.Equal(got, bytes.Repeat([]byte{2}, 2500)) {
		t.Error("other bytes")
	}
	c.advance(5501, ackInfo{acked: 2500}, 0)
	if c.send.out.buffer != nil {
		t.Error("an empty send buffer has memory")
	}
	fillRoom(t, c, 10, 3)
	if n := c.Commit(0); n != 0 || c.send.out.buffer != nil {
		t.Errorf("nothing was committed: %d, %v", n, c.send.out.buffer)
	}
}

// TestReserveEnds ends the sending direction while room is filled. The memory must not serve
// another connection before it is committed.
func TestReserveEnds(t *testing.T) {
	for name, end := range map[string]func(c *Conn){
		"close write": (*Conn).CloseWrite,
		"close":       func(c *Conn) { c.Close(0) },
		"abort":       (*Conn).Abort,
		"reset":       func(c *Conn) { c.end(ErrReset) },
		"free":        (*Conn).Free,
	} {
		c := reserving(t, 100)
		a, _ := fillRoom(t, c, 3000, 2)
		end(c)
		for range 100 { // the pool may drop a buffer, and has those of other tests
			if other := newBuffer(minRing); &(*other)[100] == &a[0] {
				t.Fatalf("%s: the memory is used again", name)
			}
		}
		if name == "free" {
			continue // the user must not commit
		}
		if n := c.Commit(3000); n != 0 {
			t.Errorf("%s: %d bytes were taken", name, n)
		}
		if a, b := c.Reserve(1); len(a)+len(b) > 0 {
			t.Errorf("%s: there is room", name)
		}
	}
}

// TestReserveWhole holds that room is for whole segments, unless it is small.
func TestReserveWhole(t *testing.T) {
	for asked, want := range map[int]int{1: 1, 999: 999, 1001: 1000, 2999: 2000, 3000: 3000} {
		c := reserving(t, 0)
		if a, b := c.Reserve(asked); len(a)+len(b) != want {
			t.Errorf("room for %d bytes, want %d of %d", len(a)+len(b), want, asked)
		}
	}
}

// TestReserveNothing holds that there is no room in a full buffer.
func TestReserveNothing(t *testing.T) {
	c := reserving(t, 1000)
	c.cfg = &Config{MSS: 1460, SendBuffer: 1000}
	if a, b := c.Reserve(1); len(a)+len(b) > 0 {
		t.Errorf("room for %d bytes in a full buffer", len(a)+len(b))
	}
	if a, b := c.Reserve(0); len(a)+len(b) > 0 {
		t.Error("room for nothing")
	}
}
