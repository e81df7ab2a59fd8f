package servers_test

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// Clients that vanish in the middle of a message to all do not disturb the others, which get
// everything in order.
func TestPeersVanishDuringBroadcasts(t *testing.T) {
	t.Parallel()
	for _, reactor := range []string{"epoll", "uring"} {
		t.Run(reactor, func(t *testing.T) {
			t.Parallel()
			needReactor(t, reactor)
			p := startServer(t, optimised(t, "broadcast.eve", withEnd(exampleText(t, "broadcast"))),
				reactor)
			h := &house{subject: subjects[1], port: p.port()}
			before := p.descriptors()
			var speakers, listeners sync.WaitGroup
			over := make(chan struct{})
			for i := range speaking {
				c := p.dial(h.port)
				speakers.Go(func() {
					if err := speak(c, i); err != nil {
						t.Errorf("speaker %d: %v", i, err)
					}
					c.Close()
				})
			}
			for i := range visitors {
				listeners.Go(func() {
					if err := h.listen(i, over); err != nil {
						t.Errorf("listener %d: %v", i, err)
					}
				})
			}
			speakers.Wait()
			close(over)
			listeners.Wait()
			t.Logf("%d clients came and went", h.seen.Load())
			if h.seen.Load() < 2*visitors {
				t.Error("hardly anybody left meanwhile")
			}
			last := &visit{house: h}
			p.eventually("all have left", func() bool {
				// so that the server notices the vanished clients
				if err := last.stay(leaveByEnd); err != nil {
					t.Fatal(err)
				}
				return p.descriptors() <= before
			})
			p.mustEndClean()
		})
	}
}

const (
	speaking = 3   // clients that stay
	words    = 500 // of each
)

// speak sends the next word when the one before has come back, and checks that those of the others
// come in order too.
func speak(c peer, me int) error {
	next := make([]int, speaking)
	for n := range words {
		c.SetDeadline(time.Now().Add(patience))
		if _, err := fmt.Fprintf(c, "%d:%05d.", me, n); err != nil {
			return err
		}
		for next[me] == n {
			word := make([]byte, 8)
			for have := 0; have < len(word); {
				k, err := c.Read(word[have:])
				if have += k; err != nil {
					return fmt.Errorf("after word %d: %w", n, err)
				}
			}
			var who, which int
			if _, err := fmt.Sscanf(string(word), "%d:%05d.", &who, &which); err != nil ||
				who >= speaking {
				return fmt.Errorf("heard %q after word %d", word, n)
			}
			// the first words may have been sent before this client came
			if which != next[who] && next[who] > 0 {
				return fmt.Errorf("heard %q, want word %d", word, next[who])
			}
			next[who] = which + 1
		}
	}
	return nil
}

// listen connects, reads a little, and vanishes, again and again.
func (h *house) listen(number int, over <-chan struct{}) error {
	v := &visit{house: h, number: number}
	gone := []func(*visit) error{(*visit).disappear, (*visit).reset, (*visit).end}
	for turn := number; !isOver(over); turn++ {
		if err := v.come(true); err != nil {
			return err
		}
		for heard := 0; heard == 0 && !isOver(over); {
			v.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			heard, _ = v.Read(make([]byte, 8))
		}
		if err := gone[turn%len(gone)](v); err != nil {
			return err
		}
	}
	return nil
}

func isOver(over <-chan struct{}) bool {
	select {
	case <-over:
		return true
	default:
		return false
	}
}
