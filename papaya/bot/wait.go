package bot

import (
	"context"
	"sync"
	"time"

	"interleave/papaya/hall"
)

// Limits of requests that wait for messages. A request looks again each newsPause at most, however
// much is said in other rooms. All are guesses.
const (
	maxWait    = 15 // seconds, within requestTime
	maxWaiting = 8  // requests of one token at a time
	newsPause  = 50 * time.Millisecond
)

// waiting counts the requests that wait, by token. The zero value is ready.
type waiting struct {
	mu    sync.Mutex
	count map[string]int
}

// begin counts a request of a token. It returns false if too many wait.
func (w *waiting) begin(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count[id] >= maxWaiting {
		return false
	}
	if w.count == nil {
		w.count = map[string]int{}
	}
	w.count[id]++
	return true
}

func (w *waiting) end(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count[id]--; w.count[id] == 0 {
		delete(w.count, id)
	}
}

// await returns a page as soon as it has a message, or empty after a time.
func (s *Server) await(ctx context.Context, t Token, room string, p hall.Page,
	limit time.Duration) ([]hall.Message, error) {
	if !s.waiting.begin(t.ID) {
		return nil, limited{time.Second}
	}
	defer s.waiting.end(t.ID)
	over := time.NewTimer(limit)
	defer over.Stop()
	for {
		news := s.chat.News()
		list, err := s.chat.Messages(ctx, room, p)
		if err != nil || len(list) > 0 {
			return list, err
		}
		select {
		case <-news:
		case <-over.C:
			return list, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		select { // more may be said at once
		case <-time.After(newsPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
