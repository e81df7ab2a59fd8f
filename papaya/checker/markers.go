package checker

import (
	"fmt"
	"slices"
)

// markers are what is known of the read marker of an account in a conversation.
type markers struct {
	account string
	in      *conversation
	wanted  map[int64]bool // times that it was asked to move to
	sets    []*operation   // acknowledged, each further than the one before
	times   []int64        // of these
}

func (c *checker) marker(account string, in *conversation) *markers {
	key := account + "/" + in.name
	if c.markers[key] == nil {
		c.markers[key] = &markers{account: account, in: in, wanted: map[int64]bool{}}
	}
	return c.markers[key]
}

// asked notes a time that the marker may move to from now on.
func (m *markers) asked(time int64) { m.wanted[time] = true }

// set takes the acknowledgement of a Mark. It tells where the marker is, which may be further.
func (m *markers) set(c *checker, o *operation, time int64) {
	if time < o.Time {
		c.breach(Forward, "operation %d: the read marker of %s in %s was set to %d, and is at %d",
			o.Op, m.account, m.in.name, o.Time, time)
	}
	m.read(c, o, time)
	if n := len(m.times); n == 0 || time > m.times[n-1] {
		m.sets, m.times = append(m.sets, o), append(m.times, time)
	}
}

// read takes an answer that tells where the marker is.
func (m *markers) read(c *checker, o *operation, time int64) {
	m.notBehind(c, time, o.knows)
}

// notBehind checks a time at which the marker was seen by those who know some operations.
func (m *markers) notBehind(c *checker, time int64, knows func(*operation) bool) {
	if time != 0 && !m.wanted[time] {
		c.breach(Forward, "the read marker of %s in %s is at %d, where nobody has set it",
			m.account, m.in.name, time)
	}
	for i, set := range slices.Backward(m.sets) {
		if !knows(set) {
			continue
		}
		if time < m.times[i] {
			c.breach(Forward, "the read marker of %s in %s is at %d, and was at %d in line %d",
				m.account, m.in.name, time, m.times[i], set.done)
		}
		return
	}
}

// told takes a marker that a session was told.
func (c *checker) told(e *Event) error {
	k, err := c.connection(e.Session)
	if err != nil {
		return err
	}
	in, err := c.conversation(e.In)
	if err != nil {
		return err
	}
	if e.Time < 0 {
		return fmt.Errorf("a time before 1970")
	}
	c.marker(k.account, in).notBehind(c, e.Time,
		func(o *operation) bool { return known(k.server, k.dialled, k.floor, o) })
	if e.Time < k.markers[in] {
		c.breach(Forward, "session %s was told that the read marker of %s is at %d, and before "+
			"that at %d", k.session, in.name, e.Time, k.markers[in])
	}
	k.markers[in] = max(k.markers[in], e.Time)
	return nil
}
