package terminal

import (
	"fmt"
	"slices"
	"strings"

	"interleave/papaya/client"
	"interleave/papaya/irc"
)

// A command is typed with a slash. run returns a line for the user, or nothing. It returns errUsage
// if the words are wrong.
type command struct {
	name, words, what string
	run               func(m *Model, words []string) string
}

const errUsage = "usage"

// init fills commands, because /help refers to it.
var commands []command

func init() {
	commands = []command{
		{"away", "[why]", "say that you are away",
			func(m *Model, w []string) string { return m.send("AWAY", orAway(w)) }},
		{"back", "", "say that you are back",
			func(m *Model, _ []string) string { return m.send("AWAY") }},
		{"close", "", "leave this room or conversation",
			func(m *Model, _ []string) string { return part(m, nil) }},
		{"delete", "[why]", "delete the chosen message, or your last one", remove},
		{"edit", "text", "change the chosen message of yours, or your last one", change},
		{"files", "[del id]", "list the files that you have sent, or delete one", files},
		{"help", "", "list the commands and keys", help},
		{"invite", "nick [#room]", "invite somebody to the room", invite},
		{"join", "#room [key]", "go into a room", join},
		{"kick", "nick [why]", "remove somebody from the room", kick},
		{"list", "[#room]", "list the rooms of the server",
			func(m *Model, w []string) string { return m.send("LIST", w[:min(1, len(w))]...) }},
		{"me", "text", "say what you do", func(m *Model, w []string) string {
			return say(m, m.session.Active(), client.Action, w)
		}},
		{"msg", "nick text", "write to one person",
			func(m *Model, w []string) string { return tell(m, client.Said, w) }},
		{"names", "", "see who is in the room", names},
		{"nick", "name", "change your nick", nick},
		{"notice", "nick text", "send a notice",
			func(m *Model, w []string) string { return tell(m, client.Notice, w) }},
		{"ns", "words", "look after your account: /ns help", ns},
		{"part", "[#room] [why]", "leave a room", part},
		{"query", "nick", "open a conversation with one person", query},
		{"quit", "[why]", "leave",
			func(m *Model, w []string) string { m.leave(strings.Join(w, " ")); return "" }},
		{"raw", "line", "send a line of IRC as it is", raw},
		{"react", "emoji", "react to the chosen message, or the last one of somebody else", react},
		{"rename", "#name [why]", "give the room another name", rename},
		{"reply", "text", "answer the chosen message, or the last one of somebody else", reply},
		{"search", "words", "find what was said in the room", search},
		{"searchall", "words", "find what was said in all rooms", searchAll},
		{"send", "file", "send a file to the room", send},
		{"topic", "[text]", "see or set the topic of the room", topic},
		{"whois", "nick", "see who somebody is", whois},
	}
	commands = append(commands, operatorCommands...)
	slices.SortFunc(commands, func(a, b command) int { return strings.Compare(a.name, b.name) })
}

// obey runs what the user has typed.
func (m *Model) obey(text string) string {
	room := m.session.Active()
	if !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") {
		if room == m.session.Status {
			return "join a room first: /join #room"
		}
		return say(m, room, client.Said, []string{strings.TrimPrefix(text, "/")})
	}
	words := strings.Fields(text[1:])
	if len(words) == 0 {
		return "a command is missing behind the /: /help lists them"
	}
	i := slices.IndexFunc(commands,
		func(c command) bool { return strings.EqualFold(c.name, words[0]) })
	if i < 0 {
		return "there is no command /" + words[0] + ": /help lists them"
	}
	told := commands[i].run(m, words[1:])
	if told == errUsage {
		return strings.TrimSpace("how to use it: /" + commands[i].name + " " + commands[i].words)
	}
	return told
}

func (m *Model) send(command string, words ...string) string {
	if !m.session.Online() {
		return "not connected"
	}
	m.session.Send(command, words...)
	return ""
}

func orAway(words []string) string {
	if len(words) == 0 {
		return "away"
	}
	return strings.Join(words, " ")
}

func say(m *Model, room *client.Room, kind client.Kind, words []string) string {
	text := strings.Join(words, " ")
	if text == "" {
		return errUsage
	}
	switch outcome := m.session.Say(room, kind, text); {
	case outcome == client.Sent:
		return ""
	case outcome == client.TooLong:
		return "the text is too long to be sent at once"
	case !m.session.Online():
		return "not connected: what you wrote is kept until you are"
	}
	return "you are not in " + clean(room.Name) + ": /join " + clean(room.Name)
}

func tell(m *Model, kind client.Kind, words []string) string {
	if len(words) < 2 {
		return errUsage
	}
	return say(m, m.session.Open(words[0]), kind, words[1:])
}

func join(m *Model, words []string) string {
	if len(words) == 0 {
		return errUsage
	}
	name, key := words[0], ""
	if !m.session.IsChannel(name) {
		name = "#" + name
	}
	if len(words) > 1 {
		key = words[1]
	}
	if !m.session.Online() {
		return "not connected"
	}
	if r := m.session.Find(name); r != nil && r.Joined {
		m.look(r)
		return ""
	}
	m.goTo = m.session.Fold(name)
	m.session.Join(name, key)
	return ""
}

func part(m *Model, words []string) string {
	room := m.session.Active()
	if len(words) > 0 && m.session.IsChannel(words[0]) {
		if room = m.session.Find(words[0]); room == nil {
			return "you are not in " + words[0]
		}
		words = words[1:]
	}
	if room == m.session.Status {
		return errUsage
	}
	m.session.Close(room, strings.Join(words, " "))
	if rooms := m.session.Rooms(); m.session.Active() == m.session.Status && len(rooms) > 0 {
		m.look(rooms[0])
	}
	return ""
}

func query(m *Model, words []string) string {
	if len(words) == 0 || m.session.IsChannel(words[0]) {
		return errUsage
	}
	talk := m.session.Open(words[0])
	if m.session.Online() {
		m.session.CatchUp(talk)
	}
	m.look(talk)
	return ""
}

func topic(m *Model, words []string) string {
	room := m.session.Active()
	switch {
	case !room.Channel:
		return "only rooms have a topic"
	case len(words) > 0:
		return m.send("TOPIC", room.Name, strings.Join(words, " "))
	case room.Topic == "":
		return "there is no topic"
	}
	return clean(room.Topic)
}

func rename(m *Model, words []string) string {
	room := m.session.Active()
	switch {
	case len(words) == 0:
		return errUsage
	case !room.Channel:
		return "only rooms have a name that can be changed"
	case !m.session.Online():
		return "not connected"
	}
	name := words[0]
	if !m.session.IsChannel(name) {
		name = "#" + name
	}
	m.session.Rename(room, name, strings.Join(words[1:], " "))
	return ""
}

func nick(m *Model, words []string) string {
	if len(words) != 1 {
		return errUsage
	}
	return m.send("NICK", words[0])
}

func whois(m *Model, words []string) string {
	if room := m.session.Active(); len(words) == 0 && !room.Channel && room != m.session.Status {
		words = []string{room.Name}
	}
	if len(words) != 1 {
		return errUsage
	}
	return m.send("WHOIS", words[0])
}

func names(m *Model, _ []string) string {
	var out []string
	for _, p := range m.session.Active().People() {
		out = append(out, p.Prefix+p.Nick)
	}
	if len(out) == 0 {
		return "nobody is here"
	}
	m.session.Note(m.session.Active(), client.Answer, "here: "+strings.Join(out, ", "))
	return ""
}

func invite(m *Model, words []string) string {
	switch len(words) {
	case 1:
		words = append(words, m.session.Active().Name)
	case 2:
	default:
		return errUsage
	}
	return m.send("INVITE", words...)
}

func kick(m *Model, words []string) string {
	room := m.session.Active()
	if len(words) == 0 || !room.Channel {
		return errUsage
	}
	line := []string{room.Name, words[0]}
	if len(words) > 1 {
		line = append(line, strings.Join(words[1:], " "))
	}
	return m.send("KICK", line...)
}

// ns keeps the words of passwords apart, as they are quoted.
func ns(m *Model, words []string) string {
	if len(words) == 0 {
		words = []string{"HELP"}
	}
	return m.send("NS", strings.Join(words, " "))
}

// files asks NickServ, whose answers have the names by which files are deleted.
func files(m *Model, words []string) string {
	switch {
	case len(words) == 0:
		return m.send("NS", "FILE LIST")
	case len(words) == 2 && strings.EqualFold(words[0], "del"):
		return m.send("NS", "FILE DEL "+words[1])
	}
	return errUsage
}

func raw(m *Model, words []string) string {
	line, err := irc.Parse(strings.Join(words, " "))
	if err != nil {
		return errUsage
	}
	return m.send(line.Command, line.Params...)
}

func help(m *Model, _ []string) string {
	room := m.session.Active()
	for _, c := range commands {
		m.session.Note(room, client.Answer, fmt.Sprintf("/%-7s %-14s %s", c.name, c.words, c.what))
	}
	for _, line := range keys {
		m.session.Note(room, client.Answer, line)
	}
	return ""
}

// keys are the lines of /help about keys.
var keys = []string{
	"Tab completes nicks, rooms and commands; Up and Down bring back what you wrote",
	"PgUp and PgDn scroll, Esc goes to the newest",
	"Shift-Enter, Alt-Enter or Ctrl-J begin a new line of the message",
	"Ctrl-Up and Ctrl-Down choose a message, for /reply, /react, /edit and /delete; Enter shows " +
		"a long one whole, or goes to one that was found",
	"Ctrl-N and Ctrl-P, or Alt-Down and Alt-Up, go from room to room, Alt-A to the next with " +
		"something new",
	"Ctrl-C leaves",
}
