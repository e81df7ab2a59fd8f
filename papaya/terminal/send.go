package terminal

import (
	"path/filepath"
	"strings"

	"interleave/papaya/client"
)

// send begins to send a file. Its name may have blanks.
func send(m *Model, words []string) string {
	path, room := strings.Join(words, " "), m.session.Active()
	switch {
	case path == "":
		return errUsage
	case room == m.session.Status:
		return "join a room first: /join #room"
	case !m.session.Online():
		return "not connected"
	}
	to, err := m.session.FileHost()
	if err != nil {
		return err.Error()
	}
	m.Uploads = append(m.Uploads, Upload{room, path, to})
	m.session.Note(room, client.Answer, "sending "+filepath.Base(path))
	return ""
}

// uploaded says the link of a file in its room.
func (m *Model) uploaded(u Uploaded) {
	name := filepath.Base(u.Path)
	if u.Err != nil {
		m.session.Note(u.Room, client.Wrong, name+" was not sent: "+u.Err.Error())
		return
	}
	if told := say(m, u.Room, client.Said, []string{u.Link}); told != "" {
		m.session.Note(u.Room, client.Wrong, name+" is at "+u.Link+": "+told)
	}
}
