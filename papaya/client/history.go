package client

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"interleave/papaya/irc"
)

// message makes a message for a room from a line. It returns false if the line is not for people.
func (s *Session) message(l line) (target string, m *Message, ok bool) {
	target, text := l.Param(0), l.Param(1)
	for len(target) > 1 && strings.Contains(s.support.prefixes, target[:1]) &&
		s.IsChannel(target[1:]) {
		target = target[1:] // for the operators of a room, for example
	}
	m = &Message{ID: l.Tags["msgid"], Time: l.time, Timed: l.timed, Told: true, Nick: l.nick(),
		label: l.Tags["label"]}
	if l.Command == "NOTICE" {
		m.Kind = Notice
	}
	if rest, ctcp := strings.CutPrefix(text, "\x01"); ctcp {
		action, is := strings.CutPrefix(rest, "ACTION")
		if !is || action != "" && action[0] != ' ' && action[0] != '\x01' {
			// A CTCP request is for programs.
			return target, nil, false
		}
		m.Kind, text = Action, strings.TrimPrefix(strings.TrimSuffix(action, "\x01"), " ")
	}
	m.Text, m.Own = text, s.IsMe(m.Nick)
	m.Mention = !m.Own && s.mentions(text)
	return target, m, true
}

// mentions says whether the text contains our nick as a word.
func (s *Session) mentions(text string) bool {
	inWord := func(c rune) bool {
		return unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("_-[]\\`^{|}", c)
	}
	return slices.ContainsFunc(strings.FieldsFunc(text, func(c rune) bool { return !inWord(c) }),
		s.IsMe)
}

func (s *Session) onSpoken(l line) {
	target, m, ok := s.message(l)
	if !ok {
		return
	}
	server := !strings.Contains(l.Source, "!") && (l.Source == "" || l.Source == s.server ||
		strings.Contains(l.Source, ".") || s.state != ready)
	if server && !s.IsChannel(target) {
		s.note(s.Status, Notice, m.Text, l.time)
		return
	}
	if m.Kind == Notice && strings.EqualFold(m.Nick, "NickServ") && !s.IsChannel(target) {
		s.note(s.active, Notice, m.Text, l.time)
		return
	}
	var r *Room
	switch {
	case s.IsChannel(target):
		r = s.Find(target)
	case m.Own:
		r = s.Open(target)
	default:
		r = s.Open(m.Nick)
	}
	if r == nil {
		return
	}
	waited := m.Own && r.confirmOwn(m)
	if !r.add(m) {
		return
	}
	if r.asked == nothing {
		r.trim()
	}
	if m.Own {
		if !waited {
			r.Look() // we have said it in another client, which tells what it has read
			r.marked = r.read
		}
		return
	}
	r.count(m)
	s.tell(Event{Kind: Spoken, Room: r, Message: m})
}

func (s *Session) onBatch(l line) {
	ref := l.Param(0)
	if ref == "" {
		return
	}
	name := ref[1:]
	if ref[0] == '+' {
		kind := l.Param(1)
		if len(s.batches) < maxBatch {
			s.batches[name] = &batch{kind: kind, target: l.Param(2), source: l.Source,
				tags:    l.Tags,
				history: strings.Contains(kind, "chathistory") || isSearch(kind)}
		}
		return
	}
	b := s.batches[name]
	delete(s.batches, name)
	switch {
	case !b.collects():
	case b.history:
		s.past(b)
	default: // it may be in a batch itself
		if m, ok := b.assemble(); ok {
			s.Receive(m)
		}
	}
}

// past adds a page of history to a room.
func (s *Session) past(b *batch) {
	if strings.Contains(b.kind, "targets") {
		for _, l := range b.lines {
			if name := l.Param(1); name != "" && !s.IsChannel(name) {
				s.CatchUp(s.Open(name))
			}
		}
		return
	}
	r := s.Find(b.target)
	if r == nil && !isSearch(b.kind) {
		return
	}
	var page []*Message
	var redactions []line
	for _, raw := range b.lines {
		l := s.line(raw)
		switch raw.Command {
		case "PRIVMSG", "NOTICE":
			if _, m, ok := s.message(l); ok {
				page = append(page, m)
			}
		case "REDACT":
			redactions = append(redactions, l)
		}
	}
	// Some servers answer a search with a page of history.
	if isSearch(b.kind) || r.asked == nothing && s.searching == r {
		s.found(page)
		return
	}
	asked := r.asked
	r.asked = nothing
	if asked == around || asked == pastBefore || asked == pastAfter {
		if asked == pastBefore {
			slices.Reverse(page)
		}
		s.pastPage(r, asked, page, redactions, len(b.lines))
		s.askAround(r)
		return
	}
	top, add := r.oldest(), r.add
	if asked == before { // from the last on: each is put before others of the same time
		slices.Reverse(page)
		add = r.addOlder
	}
	// What was said in a room before we came is read, and in a conversation what we have answered.
	var read time.Time
	for _, m := range page {
		if m.Own {
			r.confirmOwn(m)
		}
		if !add(m) {
			continue
		}
		if asked == after || asked == latest && !r.read.IsZero() {
			r.count(m)
		}
		if (m.Own || r.Channel) && m.Time.After(read) {
			read = m.Time
		}
	}
	if asked == latest && r.read.IsZero() {
		r.read, r.looked = read, !read.IsZero()
		r.recount()
	}
	for _, l := range redactions { // the messages that they name may be in the same page
		r.redact(l)
	}
	if asked == before && r.oldest() == top {
		r.Whole = true // nor would the next page have anything older
	}
	s.turnPage(r, asked, b.lines)
	if asked == latest || asked == after {
		s.tell(Event{Kind: CaughtUp, Room: r})
	}
	s.askAround(r)
}

// turnPage asks for the next page of missed messages, if the last one was full.
func (s *Session) turnPage(r *Room, asked asking, lines []irc.Message) {
	if asked != after || len(lines) == 0 || len(lines) < s.limit() {
		return
	}
	l := s.line(lines[len(lines)-1])
	last := &Message{ID: l.Tags["msgid"], Time: l.time}
	if r.pages++; r.pages < maxPages {
		s.after(r, last)
		return
	}
	s.note(r, Wrong, "there are more messages than are shown: the rest is on the server", last.Time)
}

// isSearch says whether a batch is the result of a search. Each server has its own type for them.
func isSearch(kind string) bool { return strings.HasSuffix(kind, "search") }

// missed asks again by time if the server does not know the msgid any more.
func (s *Session) missed(r *Room) {
	if r == nil {
		for _, other := range s.rooms {
			if other.asked != nothing {
				r = other
			}
		}
	}
	if r == nil {
		return
	}
	asked := r.asked
	r.asked = nothing
	if asked == after && r.from != nil && r.from.ID != "" {
		s.after(r, &Message{Time: r.from.Time.Add(-time.Millisecond)})
		return
	}
	switch asked {
	case around, pastAfter:
		r.Latest()
		s.Note(s.active, Wrong, "the server does not have these messages any more")
	case pastBefore:
		if r.past != nil {
			r.past.Whole = true
		}
	default:
		r.Whole = true
		s.askAround(r)
	}
}

// failed marks a message that the server has refused: the one with the label, or the first
// unconfirmed one of the room.
func (s *Session) failed(label string, room *Room) {
	for _, r := range s.rooms {
		if room != nil && r != room || room == nil && label == "" {
			continue
		}
		for _, m := range r.Messages {
			if m.Pending && !m.Failed && (label == "" || m.label == label) {
				m.Failed = true
				return
			}
		}
	}
}
