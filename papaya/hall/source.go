package hall

import (
	"errors"
	"io"
	"slices"

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
	_, m.Edit = s.edits()
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
	return withMore(names, has&(redaction|eventPlayback|previews) != 0,
		has&knowsEdits == knowsEdits)
}

// withMore adds the names of what happens under names of the index without being said, and of the
// later texts of what was said.
func withMore(names []string, events, edits bool) []string {
	out := slices.Clone(names)
	for _, name := range names {
		if events {
			out = append(out, search.Events(name))
		}
		if edits {
			out = append(out, search.Edits(name))
		}
	}
	return out
}
