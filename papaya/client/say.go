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
	messages, most := s.divide(r, kind, text, 0)
	if len(messages) > most {
		return TooLong
	}
	for _, parts := range messages {
		s.sayOne(r, kind, parts, reply)
		reply = ""
	}
	return Sent
}

// divide divides a text into messages, whose lines are shorter than others by some bytes. It
// returns how many of them may be sent at once, too.
func (s *Session) divide(r *Room, kind Kind, text string, less int) (messages [][]part, most int) {
	source := s.source
	if source == "" {
		// the longest host that a server may give us
		source = s.Nick + "!0123456789@" + strings.Repeat("h", 63)
	}
	size := irc.MaxLine - less - len(":"+source+" PRIVMSG "+r.Name+" :\x01ACTION \x01\r\n")
	if s.several() && kind != Action {
		return compose(text, size, parseLimits(s.offered[multilineCap])), maxAtOnce
	}
	for _, piece := range Pieces(text, size) {
		messages = append(messages, []part{{text: piece}})
	}
	return messages, maxLinesAtOnce
}

// sayOne sends one message and shows it at once.
func (s *Session) sayOne(r *Room, kind Kind, parts []part, reply string) {
	m := &Message{Time: s.settings.Now(), Nick: s.Nick, Kind: kind, Text: joined(parts), Own: true,
		Pending: s.caps["echo-message"], reply: reply}
	if last := r.newest(); last != nil && last.Time.After(m.Time) {
		m.Time = last.Time // the server's clock is ahead of ours
	}
	tags := map[string]string{}
	if reply != "" {
		tags[replyTag] = reply
	}
	m.label = s.write(r, kind, parts, tags)
	r.add(m)
}

// write sends one message with tags, and with a label if the server takes one.
func (s *Session) write(r *Room, kind Kind, parts []part, tags map[string]string) (label string) {
	command, first := "PRIVMSG", len(s.out)
	if kind == Notice {
		command = "NOTICE"
	}
	switch {
	case len(parts) > 1:
		first = s.sendBatch(command, r.Name, parts)
	case kind == Action:
		s.send(command, r.Name, "\x01ACTION "+joined(parts)+"\x01")
	default:
		s.send(command, r.Name, joined(parts))
	}
	if s.caps["labeled-response"] {
		s.labels++
		label = fmt.Sprintf("m%d", s.labels)
		tags["label"] = label
	}
	if len(tags) > 0 {
		s.out[first].Tags = tags
	}
	return label
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
