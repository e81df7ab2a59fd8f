package client

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"interleave/papaya/irc"
)

// Say sends a message to a room and shows it at once. It returns false if it cannot be sent.
func (s *Session) Say(r *Room, kind Kind, text string) bool {
	if s.state != ready || r == s.Status || r.Channel && !r.Joined {
		return false
	}
	source := s.source
	if source == "" {
		// the longest host that a server may give us
		source = s.Nick + "!0123456789@" + strings.Repeat("h", 63)
	}
	overhead := len(":" + source + " PRIVMSG " + r.Name + " :\x01ACTION \x01\r\n")
	for _, part := range Pieces(text, irc.MaxLine-overhead) {
		m := &Message{Time: s.settings.Now(), Nick: s.Nick, Kind: kind, Text: part, Own: true,
			Pending: s.caps["echo-message"]}
		if n := len(r.Messages); n > 0 && r.Messages[n-1].Time.After(m.Time) {
			// The server's clock is ahead of ours. Our message is still the last.
			m.Time = r.Messages[n-1].Time
		}
		command, body := "PRIVMSG", part
		switch kind {
		case Action:
			body = "\x01ACTION " + part + "\x01"
		case Notice:
			command = "NOTICE"
		}
		s.send(command, r.Name, body)
		if s.caps["labeled-response"] {
			s.labels++
			m.label = fmt.Sprintf("m%d", s.labels)
			s.out[len(s.out)-1].Tags = map[string]string{"label": m.label}
		}
		r.add(m)
	}
	return true
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
