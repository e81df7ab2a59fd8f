package terminal

import (
	"slices"
	"strings"

	"interleave/papaya/client"
)

// A message on the screen is picked by keys, for commands that are about one message.

// pickable returns the messages of the room on the screen that can be picked.
func (m *Model) pickable() []*client.Message {
	var out []*client.Message
	for _, x := range m.session.Active().Shown() {
		if x.Spoken() || x.Hit != nil {
			out = append(out, x)
		}
	}
	return out
}

// pick moves the choice to the next older or newer message, and shows it. Beyond the newest there
// is no choice.
func (m *Model) pick(by int) {
	list := m.pickable()
	at := slices.Index(list, m.picked)
	if at < 0 {
		at = len(list)
	}
	switch at += by; {
	case at >= len(list):
		m.newest()
	case at < 0:
		m.session.Older(m.session.Active())
	default:
		m.picked = list[at]
		m.reveal(m.picked)
	}
}

// reveal scrolls until a message is on the screen.
func (m *Model) reveal(x *client.Message) {
	l := m.layout()
	rows := m.drawAll(l)
	first := slices.IndexFunc(rows, func(r row) bool { return r.of == x })
	if first < 0 {
		return
	}
	last := first
	for last+1 < len(rows) && rows[last+1].of == x {
		last++
	}
	switch end := m.end(rows); {
	case last >= end:
		m.scrollTo(rows, l, last+1)
	case first < end-l.height:
		m.scrollTo(rows, l, first+l.height)
	}
}

// open goes to the message that was found, if a search result is chosen. Of another chosen message
// it shows all lines, or folds it again.
func (m *Model) open() {
	x := m.picked
	switch {
	case x == nil:
	case x.Hit == nil:
		m.opened[x] = !m.opened[x]
		delete(m.rows, x)
		m.reveal(x)
	case m.session.Find(x.Hit.Room.Name) == nil:
		m.told = "you are not in " + clean(x.Hit.Room.Name) + " any more"
	case !m.session.Seek(m.session.Find(x.Hit.Room.Name), x.Hit.Message):
		m.told = "the messages around it cannot be loaded now"
	}
}

// remove deletes the chosen message, or the last one of the user's own.
func remove(m *Model, words []string) string {
	room, x := m.session.Active(), m.picked
	if x == nil {
		for _, y := range room.Messages {
			if y.Own && m.session.MayDelete(room, y) {
				x = y
			}
		}
	}
	switch {
	case !m.session.Online():
		return "not connected"
	case x == nil:
		return "there is no message of yours that can be deleted: Ctrl-Up chooses another"
	case !m.session.Delete(room, x, strings.Join(words, " ")):
		return "you cannot delete this message"
	}
	m.picked = nil
	return ""
}

// change gives the chosen message, or the last one of the user's own, another text.
func change(m *Model, words []string) string {
	room, x := m.session.Active(), m.picked
	for _, y := range slices.Backward(room.Messages) {
		if x == nil && m.session.MayEdit(room, y) {
			x = y
		}
	}
	text := strings.Join(words, " ")
	switch {
	case text == "":
		return errUsage
	case !m.session.Online():
		return "not connected"
	case x == nil:
		return "there is no message of yours that can be changed: Ctrl-Up chooses another"
	case !m.session.MayEdit(room, x):
		return "you cannot change this message"
	case m.session.Edit(room, x, text) == client.TooLong:
		return "the text is too long for one message"
	}
	m.picked = nil
	return ""
}

// answerable returns the message that a command is about: the chosen one, or the last one of
// somebody else.
func (m *Model) answerable() *client.Message {
	if m.picked != nil {
		return m.picked
	}
	room := m.session.Active()
	for _, x := range slices.Backward(room.Messages) {
		if !x.Own && m.session.MayAnswer(room, x) {
			return x
		}
	}
	return nil
}

// noAnswer says why a message cannot be answered.
func (m *Model) noAnswer() string {
	if !m.session.Online() {
		return "not connected"
	}
	return "there is no message here that can be answered"
}

// reply answers a message.
func reply(m *Model, words []string) string {
	room, x := m.session.Active(), m.answerable()
	text := strings.Join(words, " ")
	switch {
	case text == "":
		return errUsage
	case x == nil || !m.session.MayAnswer(room, x):
		return m.noAnswer()
	case m.session.Answer(room, x, text) == client.TooLong:
		return "the text is too long to be sent at once"
	}
	m.picked = nil
	return ""
}

// react reacts to a message, or takes that back.
func react(m *Model, words []string) string {
	room, x := m.session.Active(), m.answerable()
	switch {
	case len(words) == 0:
		return errUsage
	case x == nil || !m.session.MayAnswer(room, x):
		return m.noAnswer()
	case !m.session.React(room, x, strings.Join(words, " ")):
		return "a reaction is an emoji or a word"
	}
	m.picked = nil
	return ""
}
