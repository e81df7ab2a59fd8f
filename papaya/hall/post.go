package hall

import (
	"context"
	"errors"
	"strings"
	"time"

	"interleave/papaya/irc"
)

// Programs that are no clients post to rooms and read them: webhooks and the API. What they post
// has a nick with a slash, which no user may have.

// programHost is the host of programs in nick!user@host. It is the same on all servers, since it is
// in the text.
const programHost = "!program@papaya"

// post says lines in a room in the name of a program.
func (h *Hall) post(room, from string, lines []string) {
	r := h.roomNow(room)
	if r == nil || !strings.Contains(from, "/") || strings.ContainsAny(from, " !@:\x00") {
		return
	}
	program := &user{nick: from, source: from + programHost}
	if !h.few {
		program.setStyle('B', true)
	}
	for _, l := range lines {
		if l != "" {
			it := speech{command: "PRIVMSG", text: l}
			o := h.tell(program, r.name, it)
			h.toRoom(r, program, o, 0)
			h.notifyRoom(r, program, it, o)
		}
	}
}

// A Message is what was said in a room, as programs read it.
type Message struct {
	ID   string    `json:"id"` // the msgid
	Time time.Time `json:"time"`
	From string    `json:"from"`
	Kind string    `json:"kind"` // message, action or notice; or removal: Of was removed
	Text string    `json:"text"` // its lines are separated by LF; of a removal: why
	// Of is the msgid of the message that has got this text, or was removed; empty: the message is
	// none of a page's changes.
	Of string `json:"of,omitempty"`
	// Edited is when the text was changed last; nil: never.
	Edited *time.Time `json:"edited,omitempty"`
}

// A Page says which messages of a room are wanted: the first ones after a message, or the last ones
// before one, or the last ones at all. After and Before are msgids, also of changes.
type Page struct {
	After, Before string
	Limit         int // at most maxHistory are returned
	// Changes says whether later texts and removals of messages are wanted too, each where it was
	// made. Of the later texts of one message there is only the newest.
	Changes bool
}

// Beginning stands for a msgid before all messages.
const Beginning = "0"

// The errors of Messages.
var (
	ErrNoRoom    = errors.New("there is no such room")
	ErrNoMessage = errors.New("not the id of a message")
)

// Messages returns a function that reads messages of a room in their order. It uses nothing of the
// hall, so any goroutine may call it. It returns the error of ctx if that has ended.
func (h *Hall) Messages(room string, p Page) (func(ctx context.Context) ([]Message, error), error) {
	r := h.roomNow(room)
	if r == nil {
		return nil, ErrNoRoom
	}
	from, to := first, last
	for _, end := range []struct {
		id    string
		bound *bound
	}{{p.After, &from}, {p.Before, &to}} {
		if end.id == "" {
			continue
		}
		switch at, ok := h.ids.parse(end.id); {
		case ok:
			*end.bound = bound{at: at}
		case end.id == Beginning:
			*end.bound = first
		default:
			return nil, ErrNoMessage
		}
	}
	folded, tenures, ids, text := irc.Lower(r.name), r.tenures(), h.ids, h.frozen()
	q := h.about(text, folded, h.chunksOf([]string{folded}), func(s said) bool {
		of, change := s.changes()
		return hadNick(tenures, s.target, s.at) && (s.spoken() && !change ||
			p.Changes && change && (s.command == "REDACT" || text.isNewest(s.at, of)))
	})
	q.names, q.edits = withMore(r.everyName(), p.Changes, p.Changes), p.Changes
	read := q.backward
	if p.After != "" {
		read = q.forward
	}
	return func(ctx context.Context) ([]Message, error) {
		defer q.pages.open()()
		out := []Message{}
		for _, s := range q.pages.revise(read(ctx, from, to, min(p.Limit, maxHistory))) {
			m := s.message()
			m.ID = ids.of(s.at)
			if of, change := s.changes(); change {
				m.Of = ids.of(of)
			}
			out = append(out, m)
		}
		return out, ctx.Err()
	}, nil
}

// message returns the message as programs read it, without its ID.
func (s said) message() Message {
	nick, _, _ := irc.SplitMask(s.source)
	m := Message{Time: time.UnixMilli(s.time).UTC(), From: nick, Kind: "message", Text: s.text()}
	if s.edited != 0 {
		when := time.UnixMilli(s.edited).UTC()
		m.Edited = &when
	}
	switch s.command {
	case "NOTICE":
		m.Kind = "notice"
	case "REDACT":
		m.Kind, m.Text = "removal", s.reason()
	}
	if text, ok := strings.CutPrefix(m.Text, "\x01ACTION "); ok {
		m.Kind, m.Text = "action", strings.TrimSuffix(text, "\x01")
	}
	return m
}

// Room returns a room as administrators see it, also by a name that it had before.
func (h *Hall) Room(name string) (Room, bool) {
	r := h.roomNow(name)
	if r == nil {
		return Room{}, false
	}
	return r.shown(), true
}

func (r *room) shown() Room {
	var former []string
	for _, t := range r.former {
		if !r.taken[t.nick] {
			former = append(former, t.nick)
		}
	}
	return Room{r.name, len(r.here), len(r.absent), r.modeLine(false), r.founder, r.topic,
		time.UnixMilli(r.created).UTC(), former}
}
