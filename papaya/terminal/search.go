package terminal

import (
	"fmt"
	"strings"

	"interleave/papaya/client"
)

// The results of a search are listed in the room on the screen. Each can be chosen, and leads to
// the message among those around it.

// search searches the room on the screen.
func search(m *Model, words []string) string {
	room := m.session.Active()
	if room == m.session.Status {
		return errUsage
	}
	return m.search([]*client.Room{room}, words)
}

// searchAll searches all rooms and conversations.
func searchAll(m *Model, words []string) string {
	return m.search(m.session.Searchable(), words)
}

func (m *Model) search(rooms []*client.Room, words []string) string {
	switch {
	case len(words) == 0:
		return errUsage
	case !m.session.Online():
		return "not connected"
	case !m.session.Search(rooms, strings.Join(words, " ")):
		return "this server does not offer search"
	}
	return ""
}

// found lists what was found, and chooses the newest.
func (m *Model) found(hits []client.Hit) {
	room := m.session.Active()
	m.newest()
	if len(hits) == 0 {
		m.session.Note(room, client.Answer, "nothing was found")
		return
	}
	for _, h := range hits {
		x := h.Message
		text := fmt.Sprintf("%s %s %s: %s", x.Time.In(m.zone).Format("2006-01-02 15:04"),
			h.Room.Name, x.Nick, strings.ReplaceAll(x.Text, "\n", " "))
		m.picked = m.session.NoteHit(room, h, text)
	}
}

// show shows a message in the middle of the screen, and chooses it.
func (m *Model) show(r *client.Room, x *client.Message) {
	if r != m.session.Active() {
		m.look(r)
	}
	m.picked = x
	l := m.layout()
	rows := m.drawAll(l)
	for i, row := range rows {
		if row.of == x {
			m.scrollTo(rows, l, min(len(rows), i+1+l.height/2))
			return
		}
	}
}
