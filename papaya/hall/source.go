package hall

import (
	"errors"
	"io"

	"interleave/papaya/irc"
	"interleave/papaya/search"
)

// A GrowingText is a Text that says where it ends.
type GrowingText interface {
	Text
	End() uint64
}

// Source returns a text as its index reads it: package search.
func Source(t GrowingText) search.Source { return source{t} }

type source struct{ GrowingText }

// Messages implements search.Source.
func (t source) Messages(chunk uint32, do func(search.Message)) (begin uint64, err error) {
	begin = t.Begin()
	read := func(p []byte, at uint64) (int, error) {
		n, failed := t.ReadAt(p, at)
		if failed != nil && !errors.Is(failed, io.EOF) {
			err = failed
		}
		return n, failed
	}
	messagesIn(read, begin, chunk, make([]byte, chunkBuffer), func(raw []byte, at uint64) {
		if s, ok := parseSaid(raw, at); ok {
			do(s.indexed())
		}
	})
	return begin, err
}

// indexed returns the message as the index has it.
func (s said) indexed() search.Message {
	m := search.Message{At: s.at, Time: s.time, Said: s.spoken(), Name: irc.RoomOf(s.target)}
	if !irc.IsRoom(m.Name) {
		m.Name = conversation(s.nick(), s.target)
	}
	if m.Said {
		m.Text = s.text()
	}
	m.Removed, m.Removes = s.removes()
	return m
}

// indexNames returns the names in the index of what a client with capabilities may see of a folded
// room, or of a user's conversation with a folded nick. What was said in a room that has got
// another name stands there with the name of then.
func (h *Hall) indexNames(u *user, target string, has caps) []string {
	names := []string{target}
	if r := h.rooms[target]; r != nil {
		names = r.everyName()
	} else if !irc.IsRoom(target) {
		names = names[:0]
		for _, nick := range u.ownNicks() {
			names = append(names, conversation(nick, target))
		}
	}
	if has&(redaction|eventPlayback|previews) != 0 {
		for _, name := range names {
			names = append(names, search.Events(name))
		}
	}
	return names
}
