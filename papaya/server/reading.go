package server

import (
	"context"

	"interleave/papaya/hall"
)

// searchesAtOnce and historiesAtOnce bound those that read the text at the same time: without the
// index a search may read the whole text, 40 MB in a second (docs/decisions/0010), and a history
// waits for none. Both are guesses.
const (
	searchesAtOnce  = 2
	historiesAtOnce = 4
)

// read reads the text beside the goroutine that owns the hall, and returns the result to it. A
// client has at most one search at a time, and one history.
func (s *server) read(c *hall.Client, r hall.Reading) {
	turn := s.histories
	if _, searches := r.(*hall.Search); searches {
		turn = s.searches
	}
	// The connection may have been ended already, behind this line.
	s.beside(c.Sink().(*conn), func(ctx context.Context) func() (hall.Entry, bool) {
		select {
		case turn <- struct{}{}:
			r.Run(ctx)
			<-turn
		case <-ctx.Done():
			r.Run(ctx) // it reports that nothing was read
		}
		return func() (hall.Entry, bool) {
			s.hall.Answer(c, r)
			return hall.Entry{}, false
		}
	})
}
