package hall

import (
	"cmp"
	"slices"

	"interleave/papaya/irc"
)

// A talk is the last message of a room, or of an account's conversation with a nick.
type talk struct {
	name string
	at   uint64 // its offset
	time int64
}

// maxTalks bounds the conversations of an account that are known. One more replaces the one that
// has rested longest. A guess.
const maxTalks = 1000

// talked notes the last message between an account and a nick.
func (u *user) talked(nick string, o *out) {
	if !u.lasting() {
		return
	}
	if u.talks == nil {
		u.talks = map[string]talk{}
	}
	u.talks[irc.Lower(nick)] = talk{nick, o.at, o.time}
	if len(u.talks) > maxTalks {
		oldest := irc.Lower(nick)
		for folded, t := range u.talks {
			if t.at < u.talks[oldest].at {
				oldest = folded
			}
		}
		delete(u.talks, oldest)
	}
}

// talks lists the rooms and conversations of a client whose last message is between two bounds, the
// oldest first.
func (h *Hall) talks(c *Client, from, to bound) (all []talk) {
	add := func(t talk) {
		if s := (said{at: t.at, time: t.time}); from.before(s) && to.after(s) {
			all = append(all, t)
		}
	}
	for _, in := range c.user.rooms {
		keys, want := h.readable(c, in.room.name)
		for _, s := range h.backward(keys, first, last, 1,
			func(s said) bool { return s.spoken() && want(s) }) {
			add(talk{in.room.name, s.at, s.time})
		}
	}
	for _, t := range c.user.talks {
		add(t)
	}
	slices.SortFunc(all, func(a, b talk) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.at, b.at),
			cmp.Compare(a.name, b.name))
	})
	return all
}
