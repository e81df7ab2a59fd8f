package client

import "slices"

// Changes of messages by their authors (the capability draft/message-edit). A line with the tag
// +draft/edit has the new text of the message that the tag names. A history has the newest text in
// the message's own place, and a line for each change behind it.

const (
	editCap   = "draft/message-edit"
	editTag   = "+draft/edit"
	editedTag = "papaya/edited" // the time of the newest text, in a history
	// shorter is by how many bytes a line is shorter than others: some are sent "* " with it.
	shorter = 2
)

// isEdit says whether a line changes a message. Servers without edits pass the tag on as any other.
func (s *Session) isEdit(l line) bool {
	_, is := l.Tags[editTag]
	return is && s.caps[editCap]
}

// onEdit gives a message of a room its new text.
func (s *Session) onEdit(r *Room, l line) {
	_, m, ok := s.message(l)
	if !ok || r == nil {
		return
	}
	m.ID, m.Edited = l.Tags[editTag], l.time
	r.revise(m)
	if r.past != nil {
		r.past.revise(m)
	}
	if s.search != nil {
		for _, h := range s.search.hits {
			if h.Message.ID == m.ID {
				h.Message.revise(m)
			}
		}
	}
}

// revise gives the message with the ID of news its text, unless it has that or a later one.
func (r *Room) revise(news *Message) {
	if m := r.find(news.ID); m != nil {
		m.revise(news)
	}
}

func (m *Message) revise(news *Message) {
	if !m.Kind.spoken() || news.Edited.IsZero() {
		return
	}
	m.changing = ""
	if !m.Edited.After(news.Edited) {
		m.Text, m.Kind, m.Edited = news.Text, news.Kind, news.Edited
	}
}

// MayEdit says whether the server may change a message for us.
func (s *Session) MayEdit(r *Room, m *Message) bool {
	return m.Own && s.caps[editCap] && s.MayAnswer(r, m)
}

// Edit gives a message of ours a new text, which must fit into one message.
func (s *Session) Edit(r *Room, m *Message, text string) Outcome {
	if !s.MayEdit(r, m) {
		return Unheard
	}
	messages, _ := s.divide(r, m.Kind, text, shorter)
	if len(messages) != 1 {
		return TooLong
	}
	label := s.write(r, m.Kind, messages[0], map[string]string{editTag: m.ID})
	if s.caps["echo-message"] {
		m.changing = label
	} else {
		m.revise(&Message{Kind: m.Kind, Text: joined(messages[0]), Edited: s.settings.Now()})
	}
	return Sent
}

// refusedEdit is called for what the server refuses. It says whether that was a change.
func (s *Session) refusedEdit(label string) bool {
	return label != "" && s.eachChanging(func(_ *Room, m *Message) bool {
		if m.changing != label {
			return false
		}
		m.changing = ""
		return true
	})
}

// doubtEdits tells of changes that may not have reached the server.
func (s *Session) doubtEdits() {
	s.eachChanging(func(r *Room, m *Message) bool {
		m.changing = ""
		s.Note(r, Wrong, "a change of a message is not known to have arrived")
		return false
	})
}

// eachChanging calls found for the messages whose change is not answered yet, until it returns
// true.
func (s *Session) eachChanging(found func(*Room, *Message) bool) bool {
	for _, r := range s.Rooms() {
		for _, m := range slices.Concat(r.Messages, r.pastMessages()) {
			if m.changing != "" && found(r, m) {
				return true
			}
		}
	}
	return false
}

func (r *Room) pastMessages() []*Message {
	if r.past == nil {
		return nil
	}
	return r.past.Messages
}
