package client

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"interleave/papaya/irc"
)

// An Outcome is what became of a text that the user wants to say.
type Outcome int

// The outcomes of Say.
const (
	Sent    Outcome = iota
	Unheard         // there is no connection, or we are not in the room
	TooLong         // the text would become too many messages; nothing was sent
)

// Say sends a text to a room and shows it at once: as one message of several lines, or as several
// messages if it is long or the server knows no such messages.
func (s *Session) Say(r *Room, kind Kind, text string) Outcome { return s.say(r, kind, text, "") }

// say is Say, and the first message answers that with a msgid, unless it is empty.
func (s *Session) say(r *Room, kind Kind, text, reply string) Outcome {
	if s.state != ready || r == s.Status || r.Channel && !r.Joined {
		return Unheard
	}
	source := s.source
	if source == "" {
		// the longest host that a server may give us
		source = s.Nick + "!0123456789@" + strings.Repeat("h", 63)
	}
	overhead := len(":" + source + " PRIVMSG " + r.Name + " :\x01ACTION \x01\r\n")
	var messages [][]part
	most := maxLinesAtOnce
	if s.several() && kind != Action {
		most = maxAtOnce
		messages = compose(text, irc.MaxLine-overhead, parseLimits(s.offered[multilineCap]))
	} else {
		for _, piece := range Pieces(text, irc.MaxLine-overhead) {
			messages = append(messages, []part{{text: piece}})
		}
	}
	if len(messages) > most {
		return TooLong
	}
	for _, parts := range messages {
		s.sayOne(r, kind, parts, reply)
		reply = ""
	}
	return Sent
}

// sayOne sends one message and shows it at once.
func (s *Session) sayOne(r *Room, kind Kind, parts []part, reply string) {
	m := &Message{Time: s.settings.Now(), Nick: s.Nick, Kind: kind, Text: joined(parts), Own: true,
		Pending: s.caps["echo-message"], reply: reply}
	if last := r.newest(); last != nil && last.Time.After(m.Time) {
		m.Time = last.Time // the server's clock is ahead of ours
	}
	command, first := "PRIVMSG", len(s.out)
	if kind == Notice {
		command = "NOTICE"
	}
	switch {
	case len(parts) > 1:
		first = s.sendBatch(command, r.Name, parts)
	case kind == Action:
		s.send(command, r.Name, "\x01ACTION "+m.Text+"\x01")
	default:
		s.send(command, r.Name, m.Text)
	}
	tags := map[string]string{}
	if s.caps["labeled-response"] {
		s.labels++
		m.label = fmt.Sprintf("m%d", s.labels)
		tags["label"] = m.label
	}
	if reply != "" {
		tags[replyTag] = reply
	}
	if len(tags) > 0 {
		s.out[first].Tags = tags
	}
	r.add(m)
}

// Pieces splits a text into parts of at most size bytes: at the ends of lines, at blanks, or
// between characters.
func Pieces(text string, size int) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		for len(line) > size {
			end := max(size, 0)
			for end > 0 && !utf8.RuneStart(line[end]) {
				end--
			}
			if end == 0 {
				return out // size is smaller than one character
			}
			if blank := strings.LastIndexByte(line[:end], ' '); blank > end/2 {
				end = blank
			}
			out = append(out, line[:end])
			line = strings.TrimLeft(line[end:], " ")
		}
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}
