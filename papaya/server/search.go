package server

import (
	"context"
	"time"

	"interleave/papaya/hall"
	"interleave/papaya/log"
)

// searchTime bounds one search, including the wait for its turn. searchesAtOnce bounds the searches
// that read at the same time. Reading takes about 40 MB in a second (docs/decisions/0010). Both are
// guesses.
const (
	searchTime     = 10 * time.Second
	searchesAtOnce = 2
)

// search reads the text beside the goroutine that owns the hall, and returns the result to it. A
// client has at most one search at a time.
func (s *server) search(c *hall.Client, q *hall.Query) {
	o := s.conns[c.ID]
	if o == nil {
		return
	}
	s.readers.Add(1)
	go func() {
		defer s.readers.Done()
		ctx, cancel := log.WithRunningTime(context.Background(), searchTime)
		defer cancel()
		select {
		case s.searches <- struct{}{}:
			q.Run(ctx, s.config.Text)
			<-s.searches
		case <-ctx.Done():
			q.Run(ctx, s.config.Text) // it reports that nothing was read
		}
		s.events <- event{conn: o,
			do: func() (hall.Entry, bool) { s.hall.Found(c, q); return hall.Entry{}, false }}
	}()
}
