package terminal

import (
	"strings"
)

// operatorCommands are those of operators, of a room or of the server.
var operatorCommands = []command{
	{"ban", "[nick or mask] [why]", "keep somebody out of the room; alone: see the bans", ban},
	{"deop", "nick ...", "take the rights of an operator of the room back", right("-o")},
	{"devoice", "nick ...", "take voice back", right("-v")},
	{"mode", "[#room] [modes]", "see or change the modes of the room, or your own", mode},
	{"op", "nick ...", "make somebody operator of the room", right("+o")},
	{"reports", "list|show|close ...", "see the reports of users, as operator of the server",
		func(m *Model, w []string) string { return order(m, "REPORTS", w) }},
	{"uban", "add|del|list|info ...", "ban from the whole server, as its operator",
		func(m *Model, w []string) string { return order(m, "UBAN", w) }},
	{"unban", "nick or mask", "let somebody into the room again", unban},
	{"voice", "nick ...", "let somebody talk in a moderated room", right("+v")},
}

const roomsOnly = "this works in rooms only"

// order sends a command with words.
func order(m *Model, command string, words []string) string {
	if len(words) == 0 {
		return errUsage
	}
	return m.send(command, words...)
}

// mode sends MODE for the room on the screen, or for whatever the first word names.
func mode(m *Model, words []string) string {
	room := m.session.Active()
	switch {
	case len(words) > 0 && !strings.ContainsAny(words[0][:1], "+-"):
		return m.send("MODE", words...)
	case room.Channel:
		return m.send("MODE", append([]string{room.Name}, words...)...)
	case len(words) == 0:
		return errUsage
	}
	return m.send("MODE", append([]string{m.session.Nick}, words...)...)
}

// right gives members of the room a right, or takes it back.
func right(letters string) func(*Model, []string) string {
	return func(m *Model, nicks []string) string {
		room := m.session.Active()
		switch {
		case !room.Channel:
			return roomsOnly
		case len(nicks) == 0:
			return errUsage
		}
		all := letters[:1] + strings.Repeat(letters[1:], len(nicks))
		return m.send("MODE", append([]string{room.Name, all}, nicks...)...)
	}
}

// ban bans somebody from the room, and removes a member of that nick.
func ban(m *Model, words []string) string {
	room := m.session.Active()
	switch {
	case !room.Channel:
		return roomsOnly
	case len(words) == 0:
		return m.send("MODE", room.Name, "b")
	}
	told := m.send("MODE", room.Name, "+b", m.session.BanMasks(room, words[0])[0])
	if _, here := room.Members[m.session.Fold(words[0])]; told != "" || !here {
		return told
	}
	return kick(m, words)
}

// unban takes back every ban that keeps out a nick, or one mask. The server skips those that are
// not in its list.
func unban(m *Model, words []string) string {
	room := m.session.Active()
	switch {
	case !room.Channel:
		return roomsOnly
	case len(words) != 1:
		return errUsage
	}
	masks := m.session.BanMasks(room, words[0])
	all := "-" + strings.Repeat("b", len(masks))
	return m.send("MODE", append([]string{room.Name, all}, masks...)...)
}
