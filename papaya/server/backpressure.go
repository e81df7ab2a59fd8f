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
	// retryAfter is how soon waiting lines are tried again.
	retryAfter = time.Millisecond
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

// admitLines moves the lines that may go into the next batch before the lines that wait for slow
// clients. It returns how many they are and how large the batch may be.
func (s *server) admitLines() (n, size int) {
	if s.now < s.log.retryAt {
		return 0, 0
	}
	to, size := s.slowTargets()
	held := map[*conn]bool{}
	var ready, wait []item
	logged := false
	for _, i := range s.log.queue {
		if i.conn != nil && (held[i.conn] || reaches(&i, to)) {
			held[i.conn] = true // its later lines wait too, to stay in order
			i.came = s.now
			wait = append(wait, i)
			continue
		}
		logged = logged || i.entry.Kind != 0
		ready = append(ready, i)
	}
	if len(wait) > 0 {
		s.log.retryAt = s.now + retryAfter
	}
	if !logged {
		s.log.queue = wait
		for _, i := range ready {
			s.complete(i)
		}
		return 0, size
	}
	s.log.queue = append(ready, wait...)
	return len(ready), size
}

// slowTargets returns the nicks and rooms of the slow clients. A client that has read enough, or
// for which others have waited long enough, is not slow any more.
func (s *server) slowTargets() (to map[string]bool, size int) {
	limit := s.config.Limits.Unread
	to, size = map[string]bool{}, s.maxBatch()
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
	return to, size
}

// reaches says whether an item is a message for one of the names.
func reaches(i *item, to map[string]bool) bool {
	if i.entry.Kind == hall.Lines {
		return to[irc.Lower(hall.LinesTarget(i.entry))]
	}
	if i.entry.Kind != hall.Said {
		return false
	}
	switch m := i.message; m.Command {
	case "PRIVMSG", "NOTICE", "TAGMSG":
		for name := range strings.SplitSeq(m.Param(0), ",") {
			if to[irc.Lower(irc.RoomOf(name))] {
				return true
			}
		}
	}
	return false
}
