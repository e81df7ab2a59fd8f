package server

import (
	"strings"
	"time"

	"interleave/papaya/hall"
	"interleave/papaya/irc"
)

// Backpressure: the next lines of a client that writes faster than others read wait a little.
// Without it, a flood would disconnect every client that is only busy. Lines for other rooms do not
// wait.
const (
	// A client becomes slow when more than the limit / slowShare is unread. It has kept up when
	// less than the limit / keptUp is unread.
	slowShare, keptUp = 4, 16
	// pauseFor is how long a batch waits for a slow client at most. pausesFor bounds all such waits
	// for one client until it has kept up again, so a client that never reads delays others no
	// longer than that. Both are guesses: a client may need some milliseconds until it gets a core.
	pauseFor  = 20 * time.Millisecond
	pausesFor = 500 * time.Millisecond
	// smallBatch bounds a batch for slow clients, as a share of the limit.
	smallBatch = 32
)

// watch notes whether a client has become slow.
func (s *server) watch(c *conn, waiting int) {
	limit := s.config.Limits.Unread
	switch {
	case waiting < limit/keptUp:
		c.waited = 0
	case waiting > limit/slowShare && !c.slow && c.waited < pausesFor:
		c.slow, c.slowAt = true, s.now
		s.slow = append(s.slow, c)
	}
}

// slowTargets returns which items are for slow clients, and so wait, and how large a batch may be.
// A client that has read enough, or for which others have waited long enough, is not slow any more.
func (s *server) slowTargets() (held func(*item) bool, size int) {
	limit := s.config.Limits.Unread
	to, size := map[string]bool{}, s.maxBatch()
	slow := s.slow[:0]
	for _, c := range s.slow {
		took := s.now - c.slowAt
		behind := c.Waiting() > limit/slowShare
		if behind && took < pauseFor && !c.ending {
			slow = append(slow, c)
			s.hall.Reached(&c.Client, func(name string) { to[name] = true })
			continue
		}
		if behind {
			size = min(size, max(limit/smallBatch, irc.MaxLine))
		}
		c.slow = false
		c.waited += took
		if f := s.config.Metrics.Paused; f != nil {
			f(took)
		}
	}
	clear(s.slow[len(slow):])
	s.slow = slow
	return func(i *item) bool { return reaches(i, to) }, size
}

// reaches says whether an item is a message for one of the names.
func reaches(i *item, to map[string]bool) bool {
	if i.Entry.Kind == hall.Lines || i.Entry.Kind == hall.Edit {
		return to[irc.Lower(hall.LinesTarget(i.Entry))]
	}
	if i.Entry.Kind != hall.Said {
		return false
	}
	switch m := i.What.message; m.Command {
	case "PRIVMSG", "NOTICE", "TAGMSG":
		for name := range strings.SplitSeq(m.Param(0), ",") {
			if to[irc.Lower(irc.RoomOf(name))] {
				return true
			}
		}
	}
	return false
}
