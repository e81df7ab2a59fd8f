package client

import "strings"

// Redaction (draft/message-redaction of IRCv3). A message that was deleted is replaced by a note in
// its place, so its text is in memory no more. If the room does not have the message, the note
// stands where the REDACT is: histories have only that.

// MayDelete says whether the server is likely to delete a message for us: our own, or as an
// operator of the room any. The server decides.
func (s *Session) MayDelete(r *Room, m *Message) bool {
	if !s.caps["draft/message-redaction"] || s.state != ready || m.ID == "" || !m.Kind.spoken() {
		return false
	}
	me := r.Members[s.Fold(s.Nick)]
	return m.Own || r.Channel && me.Prefix != "" && me.Prefix != "+"
}

// Delete asks the server to delete a message. It returns false if the server would not.
func (s *Session) Delete(r *Room, m *Message, why string) bool {
	if !s.MayDelete(r, m) {
		return false
	}
	s.send("REDACT", append([]string{r.Name, m.ID}, words(why)...)...)
	return true
}

// onRedact: somebody has deleted a message.
func (s *Session) onRedact(l line) {
	target, nick := l.Param(0), l.nick()
	s.withdraw(l.Param(1), nick)
	name := target
	if !s.IsChannel(target) && !s.IsMe(nick) {
		name = nick
	}
	if r := s.Find(name); r != nil && !r.withdrawReaction(l.Param(1)) {
		r.redact(l)
		if r.past != nil && r.past.find(l.Param(1)) != nil {
			r.past.redact(l)
		}
	}
}

// redact deletes the message that a REDACT names.
func (r *Room) redact(l line) {
	id := l.Param(1)
	switch {
	case id == "":
		return
	case !r.known[id]:
		if r.gone[id] == nil {
			r.add(noteOf(l))
		}
		return
	}
	note := noteOf(l)
	for _, m := range r.Messages {
		if m.ID == id && m.Kind.spoken() {
			m.delete(note)
			r.recount()
		}
	}
}

// noteOf makes the note for a REDACT of a message that the room does not have.
func noteOf(l line) *Message {
	return &Message{ID: l.Tags["msgid"], Time: l.time, Timed: l.timed, Told: true, Kind: Deleted,
		Nick: l.nick(), Text: l.Param(2), of: l.Param(1)}
}

// delete makes a message the note that it was deleted.
func (m *Message) delete(note *Message) {
	m.Kind, m.Nick, m.Text, m.reply = Deleted, note.Nick, note.Text, ""
	m.Own, m.Mention, m.Pending, m.Failed = false, false, false, false
}

// Spoken says whether somebody has said the message.
func (m *Message) Spoken() bool { return m.Kind.spoken() }

// spoken says whether somebody has said a message of this kind.
func (k Kind) spoken() bool { return k == Said || k == Action || k == Notice }

// Why returns the reason for which a message was deleted, after a colon, or an empty text.
func (m *Message) Why() string {
	if m.Kind != Deleted || strings.TrimSpace(m.Text) == "" {
		return ""
	}
	return ": " + m.Text
}
