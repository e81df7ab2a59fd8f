package server

import (
	"context"
	"time"

	"interleave/papaya/hall"
	"interleave/papaya/log"
)

// readTime bounds one reading of the text, including the wait for its turn. searchesAtOnce and
// historiesAtOnce bound those that read at the same time: a search may read the whole text, 40 MB
// in a second (docs/decisions/0010), and a history waits for none. All are guesses.
const (
	readTime        = 10 * time.Second
	searchesAtOnce  = 2
	historiesAtOnce = 4
)

// read reads the text beside the goroutine that owns the hall, and returns the result to it. A
// client has at most one search at a time, and one history.
func (s *server) read(c *hall.Client, r hall.Reading) {
	o := c.Sink().(*conn)
	turn := s.histories
	if _, searches := r.(*hall.Search); searches {
		turn = s.searches
	}
	s.readers.Add(1)
	go func() {
		defer s.readers.Done()
		ctx, cancel := log.WithRunningTime(context.Background(), readTime)
		defer cancel()
		select {
		case turn <- struct{}{}:
			r.Run(ctx)
			<-turn
		case <-ctx.Done():
			r.Run(ctx) // it reports that nothing was read
		}
		s.events <- event{conn: o,
			do: func() (hall.Entry, bool) { s.hall.Answer(c, r); return hall.Entry{}, false }}
	}()
}
