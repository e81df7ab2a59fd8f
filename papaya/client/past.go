package client

import "slices"

// A message that a search has found may be far older than what a room has. The room then shows a
// part of its history apart from the newest messages, until scrolling joins the two.

// Past is the part of a room's history that the user looks at. It is nil while the user looks at
// the newest messages.
func (r *Room) Past() *Room { return r.past }

// Shown returns the messages that the user looks at.
func (r *Room) Shown() []*Message {
	if r.past != nil {
		return r.past.Messages
	}
	return r.Messages
}

// Latest goes back to the newest messages.
func (r *Room) Latest() { r.past, r.seek = nil, nil }

// Seek shows a message among those around it. The answer is an event Shown. It returns false if the
// room does not have the message, and the server has no history.
func (s *Session) Seek(r *Room, m *Message) bool {
	if x := r.find(m.ID); x != nil {
		r.Latest()
		s.tell(Event{Kind: Shown, Room: r, Message: x})
		return true
	}
	if !s.hasHistory() || s.state != ready {
		return false
	}
	r.seek = m
	s.askAround(r)
	return true
}

// askAround requests the messages around the one that the user wants to see, when nothing else is
// requested.
func (s *Session) askAround(r *Room) {
	if r.seek != nil && r.asked == nothing && s.hasHistory() && s.state == ready {
		s.ask(r, around, "AROUND", reference(r.seek, 0))
	}
}

// Newer requests the messages after the part of the history that the user looks at.
func (s *Session) Newer(r *Room) {
	if r.past == nil || r.asked != nothing || s.state != ready {
		return
	}
	if m := r.past.newest(); m != nil {
		s.ask(r, pastAfter, "AFTER", reference(m, -1))
	}
}

// find returns the message of a msgid, or nil.
func (r *Room) find(id string) *Message {
	if id == "" || !r.known[id] {
		return nil
	}
	for _, m := range r.Messages {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// pastPage adds a page to the part of the history that the user looks at.
func (s *Session) pastPage(r *Room, asked asking, lines []line) {
	seek := r.seek
	switch {
	case asked == around && seek == nil, asked != around && r.past == nil:
		return // the user has gone back to the newest messages
	case asked == around:
		r.past, r.seek = newRoom(r.Name, r.Channel), nil
	}
	past := r.past
	top, behind := past.oldest(), (*Message)(nil)
	if asked == pastAfter {
		behind = past.newest()
	}
	s.putPage(past, lines, behind)
	past.Whole = past.Whole || asked == pastBefore && past.oldest() == top
	x := past.find(idOf(seek))
	if asked == pastAfter && len(lines) < s.limit() || s.hasSome(r, lines) {
		r.join()
		if asked == around {
			x = r.find(seek.ID)
		}
	}
	switch {
	case asked != around:
	case x == nil:
		r.Latest()
		s.Note(s.active, Wrong, "this message is not there any more")
	default:
		s.tell(Event{Kind: Shown, Room: r, Message: x})
	}
}

// hasSome says whether a room has a message of a page.
func (s *Session) hasSome(r *Room, lines []line) bool {
	return slices.ContainsFunc(s.messages(lines),
		func(m *Message) bool { return r.known[m.key()] })
}

func idOf(m *Message) string {
	if m == nil {
		return ""
	}
	return m.ID
}
