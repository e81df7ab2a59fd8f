package gonet

import (
	"io"
	"testing"
	"time"

	"interleave/gonet/link"
)

// TestTimeDoesNotGoBack has the dealer send, with the time of a batch that has begun a while ago,
// after a user has sent with that of now. What is sent second must not seem older than what was
// sent first, or the first acknowledgement would have it resent.
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
		go func() { _, _ = io.Copy(io.Discard, far) }() // until the end of the stacks
		c := near.(*Conn)
		// whole segments, an even number: their acknowledgement does not wait
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
			elapse(time.Second)
		}
		if i := c.Info(); i.Resent > 0 {
			t.Errorf("%d segments of %d were sent again on a wire that loses none", i.Resent,
				i.Segments)
		}
	})
}
