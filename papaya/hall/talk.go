package hall

import (
	"cmp"
	"context"
	"slices"
	"strconv"

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

// A targets is a CHATHISTORY TARGETS: the client's rooms and conversations whose last message is
// between two times, and the time of that message, the oldest first.
type targets struct {
	label    string
	from, to bound
	limit    int
	rooms    []question
	last     [][]said // of each room: its last message
	talks    []talk   // conversations
}

// targets answers CHATHISTORY TARGETS.
func (h *Hall) targets(c *Client, m *irc.Message) {
	from, ok1 := h.parseBound(m.Param(1), last)
	to, ok2 := h.parseBound(m.Param(2), last)
	limit, err := strconv.Atoi(m.Last())
	if !ok1 || !ok2 || err != nil || !from.byTime || !to.byTime {
		h.fail(c, "CHATHISTORY", "INVALID_PARAMS", "TARGETS", "Invalid parameters")
		return
	}
	if from.time > to.time {
		from, to = to, from
	}
	t := &targets{label: m.Tags["label"], from: from, to: to, limit: min(limit, maxHistory)}
	pages := h.frozen()
	for _, in := range c.user.rooms {
		if q, ok := h.question(c, pages, in.room.name); ok {
			q.names, q.edits = h.indexNames(c.user, irc.Lower(q.target), 0), false
			want := q.want
			q.want = func(s said) bool {
				_, edit := s.edits()
				return s.spoken() && !edit && want(s)
			}
			t.rooms = append(t.rooms, q)
		}
	}
	for _, talk := range c.user.talks {
		t.talks = append(t.talks, talk)
	}
	c.reading = true
	h.read(c, t)
}

// Run reads the last message of each room.
func (t *targets) Run(ctx context.Context) {
	if len(t.rooms) > 0 {
		defer t.rooms[0].pages.open()() // they share the pages
	}
	for i := range t.rooms {
		t.last = append(t.last, t.rooms[i].backward(ctx, first, last, 1))
	}
}

// list lists what is between the bounds, the oldest first.
func (t *targets) list(h *Hall, c *Client) (all []talk) {
	all = t.talks
	for i := range t.rooms {
		if q := &t.rooms[i]; h.readableStill(c, q) {
			for _, s := range h.unremoved(q, t.last[i]) {
				all = append(all, talk{q.target, s.at, s.time})
			}
		}
	}
	all = slices.DeleteFunc(all, func(w talk) bool {
		s := said{at: w.at, time: w.time}
		return !t.from.before(s) || !t.to.after(s)
	})
	slices.SortFunc(all, func(a, b talk) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.at, b.at),
			cmp.Compare(a.name, b.name))
	})
	return all[:max(0, min(len(all), t.limit))]
}

func (t *targets) answer(h *Hall, c *Client) {
	c.reading = false
	h.labelled(c, t.label, func() {
		if slices.ContainsFunc(t.rooms, func(q question) bool { return q.short }) {
			h.fail(c, "CHATHISTORY", "MESSAGE_ERROR", "TARGETS", "Targets could not be retrieved")
			return
		}
		name, tag := "", ""
		if c.caps&inBatch != 0 {
			name = c.batchName()
			tag = "@batch=" + name + " "
			h.say(c, "BATCH +"+name+" draft/chathistory-targets")
		}
		for _, w := range t.list(h, c) {
			c.write([]byte(tag + ":" + h.config.Name + " CHATHISTORY TARGETS " + w.name + " " +
				clock(w.time) + "\r\n"))
		}
		if name != "" {
			h.say(c, "BATCH -"+name)
		}
	})
}
