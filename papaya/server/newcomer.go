package server

import (
	"slices"

	"interleave/papaya/hall"
)

// A newcomer is a client that is about to be registered by an entry that waits in the outbox. When
// thousands come at once, what is said by those who are in does not wait for them: the lines of
// newcomers go behind all others, and a batch of the log has only some of them.
const (
	// loginsAtOnce is how many clients a batch registers at most. Each costs up to a millisecond:
	// it gets its rooms with their members, and what it has missed there. All others wait
	// meanwhile. A guess.
	loginsAtOnce = 16
	// One batch in aheadEvery begins with aheadLines lines of newcomers, so that these come in,
	// however much the others say. Guesses.
	aheadEvery = 8
	aheadLines = 4
)

// noteNewcomer notes a newcomer when its entry is queued. An order that ends sessions or changes
// rights is not to overtake the logins before it, which may be by an old password or with an old
// role. These keep their places.
func (s *server) noteNewcomer(i *item) {
	switch {
	case i.conn != nil && i.entry.Kind == hall.Enter:
		i.conn.newcomer = true
		s.log.newcomers++
	case i.entry.Kind == hall.Order && !hall.Says(i.entry) && s.log.newcomers > 0:
		for _, q := range s.log.queue {
			if q.conn != nil {
				q.conn.newcomer = false
			}
		}
		s.log.newcomers = 0
	}
}

// admitNewcomer notes that an item goes into a batch.
func (s *server) admitNewcomer(i *item) {
	if i.conn != nil && i.conn.newcomer && i.entry.Kind == hall.Enter {
		i.conn.newcomer = false
		s.log.newcomers--
	}
}

// newcomersLast moves the lines of newcomers behind all others, or a few of them before these. The
// lines of each client stay in order.
func (s *server) newcomersLast() {
	if s.log.newcomers == 0 {
		s.log.late = nil
		return
	}
	late, others := s.log.late, s.log.queue[:0]
	for _, i := range s.log.queue {
		if i.conn != nil && i.conn.newcomer {
			late = append(late, i)
		} else {
			others = append(others, i)
		}
	}
	ahead := 0
	if s.log.number%aheadEvery == 0 {
		ahead = min(len(late), aheadLines)
	}
	s.log.queue = slices.Insert(append(others, late[ahead:]...), 0, late[:ahead]...)
	clear(late)
	s.log.late = late[:0]
}
