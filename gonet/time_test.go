package gonet

import (
	"io"
	"testing"
	"time"

	"interleave/gonet/link"
)

// TestTimeDoesNotGoBack has the dealer send with the time of a batch that began earlier, after a
// user has sent with the current time. The second segment must not seem older than the first, or
// the first acknowledgement would have it retransmitted.
func TestTimeDoesNotGoBack(t *testing.T) {
	bubble(t, link.Fault{Delay: 2 * time.Millisecond}, func(t *testing.T, x, y *Stack) {
		l, err := y.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		near, err := x.Dial("tcp", "10.0.0.2:80")
		if err != nil {
			t.Fatal(err)
		}
		far, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, far) }() // ends with the stacks
		c := near.(*Conn)
		// an even number of full segments, so that their acknowledgement is not delayed
		body := make([]byte, 4*c.Info().MSS)
		for range 100 {
			begun := x.clock()
			time.Sleep(10 * time.Millisecond)
			if _, err := c.Write(body); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			c.mu.Lock()
			c.machine.Write(body)
			c.mu.Unlock()
			c.update(begun)
			advanceTime(time.Second)
		}
		if i := c.Info(); i.Resent > 0 {
			t.Errorf("%d segments of %d were sent again on a wire that loses none", i.Resent,
				i.Segments)
		}
	})
}
