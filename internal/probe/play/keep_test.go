package play

import (
	"sync"
	"testing"
)

// seen is a value of Keep that counts the clients of which it was told.
type seen struct {
	mu      sync.Mutex
	clients int
}

func (s *seen) Dialled(*Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients++
}

// TestKeep has many goroutines ask for what is kept. All of them must get the same value.
func TestKeep(t *testing.T) {
	var p Play
	made := 0
	begin := func() *seen { made++; return new(seen) }
	p.dialled(new(Client)) // nothing is kept so far, and nothing is told
	first := Keep(&p, begin)
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			if got := Keep(&p, begin); got != first {
				t.Errorf("got %p, want %p", got, first)
			}
			p.dialled(new(Client))
		})
	}
	wait.Wait()
	if made != 1 || first.clients != 20 {
		t.Errorf("made %d values, and told them of %d clients, want 1 and 20", made, first.clients)
	}
	if Keep(&p, func() *ping { return new(ping) }) == nil || Keep(&p, begin) != first {
		t.Error("a value of another type has taken the first one's place")
	}
	var other Play
	if Keep(&other, begin) == first {
		t.Error("two plays keep the same value")
	}
}
