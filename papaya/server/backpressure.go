package server

import (
	"strings"
	"time"

	"interleave/papaya/hall"
	"interleave/papaya/irc"
)

// Backpressure: the next lines of a client that talks faster than others read wait a little.
// Without it a flood would have every client cut off that is merely busy. What is said to
// others goes on.
const (
	// lateShare of the limit of what may be unread is what makes a client late; one that has less
	// than keptUp has kept up.
	lateShare, keptUp = 4, 16
	// pauseFor is how long a batch to a client that is late waits at most, and pausesFor how long
	// all batches to it do until it has kept up again: a client that never reads delays others no
	// longer than that. Guesses: a process that has to share its processor waits some of the first.
	pauseFor  = 20 * time.Millisecond
	pausesFor = 500 * time.Millisecond
	// lookAgain is how soon lines that wait are looked at again.
	lookAgain = time.Millisecond
	// smallBatch is what goes to clients that are late at once, as a share of the limit.
	smallBatch = 32
)

// watch notes whether a client is late.
func (s *server) watch(c *conn, waiting int) {
	limit := s.config.Limits.Unread
	switch {
	case waiting < limit/keptUp:
		c.waited = 0
	case waiting > limit/lateShare && !c.late && c.waited < pausesFor:
		c.late, c.lateAt = true, s.moment
		s.late = append(s.late, c)
	}
}

// admitLines moves the lines that may go into the next batch before those that wait for readers,
// and says how many they are and how large the batch may be.
func (s *server) admitLines() (n, size int) {
	if s.moment < s.log.again {
		return 0, 0
	}
	to, size := s.lateTargets()
	held := map[*conn]bool{}
	var ready, wait []item
	logged := false
	for _, i := range s.log.queue {
		if i.conn != nil && (held[i.conn] || i.entry.Kind == hall.Said && reaches(&i.message, to)) {
			held[i.conn] = true // what it says after that waits too: it stays in order
			i.came = s.moment
			wait = append(wait, i)
			continue
		}
		logged = logged || i.entry.Kind != 0
		ready = append(ready, i)
	}
	if len(wait) > 0 {
		s.log.again = s.moment + lookAgain
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

// lateTargets has the rooms and nicks of the clients that are late. One that has read, or has been
// waited for long enough, is no longer.
func (s *server) lateTargets() (to map[string]bool, size int) {
	limit := s.config.Limits.Unread
	to, size = map[string]bool{}, s.maxBatch()
	late := s.late[:0]
	for _, c := range s.late {
		took := s.moment - c.lateAt
		behind := c.Waiting() > limit/lateShare
		if behind && took < pauseFor && !c.ending {
			late = append(late, c)
			s.hall.Reached(&c.Client, func(name string) { to[name] = true })
			continue
		}
		if behind {
			size = min(size, max(limit/smallBatch, irc.MaxLine))
		}
		c.late = false
		c.waited += took
		if f := s.config.Metrics.Held; f != nil {
			f(took)
		}
	}
	clear(s.late[len(late):])
	s.late = late
	return to, size
}

// reaches says whether a message is for one of these.
func reaches(m *irc.Message, to map[string]bool) bool {
	switch m.Command {
	case "PRIVMSG", "NOTICE", "TAGMSG":
		for name := range strings.SplitSeq(m.Param(0), ",") {
			if to[irc.Lower(name)] {
				return true
			}
		}
	}
	return false
}
