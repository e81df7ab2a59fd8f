package client

import "slices"

// The order of messages is the server's: that in which they come, and in a page of history that of
// the page. Times do not tell it, since many messages have the same one, and a clock may be set
// back.

// add puts a message behind all others, as it came, except our own that wait for their echo. It
// returns false if the room has it already.
func (r *Room) add(m *Message) bool {
	if !r.take(m) {
		return false
	}
	at := len(r.Messages)
	for m.Told && at > 0 && r.Messages[at-1].Pending && !r.Messages[at-1].Failed {
		at--
	}
	r.Messages = slices.Insert(r.Messages, at, m)
	return true
}

// take notes that the room has a message. It returns false if the room had it already.
func (r *Room) take(m *Message) bool {
	if k := m.key(); k != "" {
		if r.known[k] {
			return false
		}
		r.known[k] = true
	}
	if note := r.gone[m.ID]; note != nil && m.ID != "" {
		m.delete(note)
	}
	if m.of != "" {
		r.gone[m.of] = m
	}
	return true
}

// A row is a message of a page as the room has it.
type row struct {
	*Message
	at int // its place in the room; -1 if it is new
}

// rows returns the messages of a page, each once, and those of them that the room had already.
func (r *Room) rows(page []*Message) (rows []row, paged map[*Message]bool) {
	places := map[string]int{}
	for at, m := range r.Messages {
		if k := m.key(); k != "" {
			places[k] = at
		}
	}
	paged = map[*Message]bool{}
	for _, m := range page {
		at, there := places[m.key()]
		switch {
		case !there && r.take(m):
			rows = append(rows, row{m, -1})
		case there && !paged[r.Messages[at]]:
			paged[r.Messages[at]] = true
			rows = append(rows, row{r.Messages[at], at})
		}
	}
	return rows, paged
}

// merge puts a page of the history in, whose order is the server's: behind a message of the room,
// or without one before all that the room has of the history. Messages that are there already show
// where those beside them belong, and take the order of the page. Lines that are in no history,
// such as who has joined, have only their times. It returns the messages that are new, and the last
// one of the page as the room has it, which is nil if the page is empty.
func (r *Room) merge(page []*Message, behind *Message) (fresh []*Message, last *Message) {
	rows, paged := r.rows(page)
	old := r.Messages
	list := make([]*Message, 0, len(old)+len(rows))
	next := 0 // the place of the next old message
	until := func(end int) {
		for ; next < end; next++ {
			if !paged[old[next]] {
				list = append(list, old[next])
			}
		}
	}
	until(r.begin(rows, paged, behind))
	for _, m := range rows {
		until(m.at)
		for next < len(old) && !old[next].Told && !old[next].Time.After(m.Time) {
			until(next + 1)
		}
		list = append(list, m.Message)
		if last = m.Message; m.at < 0 {
			fresh = append(fresh, last)
		}
	}
	until(len(old))
	r.Messages = list
	return fresh, last
}

// begin returns the place before which nothing belongs to a page.
func (r *Room) begin(rows []row, paged map[*Message]bool, behind *Message) int {
	if behind != nil {
		return r.place(behind) + 1
	}
	for _, m := range rows {
		if m.at < 0 {
			continue
		}
		// What the history has before the first that is there already comes before the page.
		at := m.at
		for at > 0 && (!r.Messages[at-1].Told || paged[r.Messages[at-1]]) {
			at--
		}
		return at
	}
	return 0
}

// place returns the place of a message, or -1 if the room has it no more.
func (r *Room) place(m *Message) int { return slices.Index(r.Messages, m) }

// insert puts a message behind another, or before all if the room has that no more.
func (r *Room) insert(m, behind *Message) {
	r.Messages = slices.Insert(r.Messages, r.place(behind)+1, m)
}

// join makes the part of the history that the user looks at, and the newest messages, one.
func (r *Room) join() {
	r.merge(r.past.Messages, nil)
	r.Whole = r.Whole || r.past.Whole
	r.past = nil
}
