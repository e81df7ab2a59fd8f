package client

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// message makes a message for a room from a line. It returns false if the line is not for people.
func (s *Session) message(l line) (target string, m *Message, ok bool) {
	target, text := s.target(l), l.Param(1)
	m = &Message{ID: l.Tags["msgid"], Time: l.time, Timed: l.timed, Told: true, Nick: l.nick(),
		reply: l.about(), label: l.Tags["label"]}
	m.Edited, _ = time.Parse(time.RFC3339, l.Tags[editedTag]) // zero without the tag
	_, m.Bot = l.Tags[botTag]
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

// target is the room or nick that a line is for, without the prefix of those in the room whom it is
// for, such as its operators.
func (s *Session) target(l line) string {
	target := l.Param(0)
	for len(target) > 1 && strings.Contains(s.support.prefixes, target[:1]) &&
		s.IsChannel(target[1:]) {
		target = target[1:]
	}
	return target
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
	if s.isEdit(l) {
		s.onEdit(s.roomOf(l), l)
		return
	}
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
		if s.tookToken(l, m.Text) {
			return
		}
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
	lines := make([]line, len(b.lines))
	for i, m := range b.lines {
		lines[i] = s.line(m)
	}
	// Some servers answer a search with a page of history.
	if isSearch(b.kind) || r.asked == nothing && s.searching == r {
		s.found(s.messages(lines))
		return
	}
	asked := r.asked
	r.asked = nothing
	if asked == around || asked == pastBefore || asked == pastAfter {
		s.pastPage(r, asked, lines)
	} else {
		s.presentPage(r, asked, lines)
	}
	s.askAround(r)
}

// presentPage adds a page to the newest messages of a room.
func (s *Session) presentPage(r *Room, asked asking, lines []line) {
	top, behind := r.oldest(), (*Message)(nil)
	if asked == after {
		behind = r.behind
	}
	fresh, last := s.putPage(r, lines, behind)
	// What was said in a room before we came is read, and in a conversation what we have answered.
	var read time.Time
	for _, m := range fresh {
		if !m.Kind.spoken() {
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
	if asked == before && r.oldest() == top {
		r.Whole = true // nor would the next page have anything older
	}
	if asked == after {
		s.turnPage(r, lines, cmp.Or(last, behind))
	}
	if asked == latest || asked == after {
		s.tell(Event{Kind: CaughtUp, Room: r})
	}
}

// putPage merges a page into a room or its past. A line that removes a message that neither has is
// a note, in its place.
func (s *Session) putPage(r *Room, lines []line, behind *Message) (fresh []*Message,
	last *Message) {
	said := s.spoken(lines)
	named := map[string]bool{}
	for _, m := range said {
		if m != nil {
			named[m.ID] = true
		}
	}
	var page []*Message
	var removals, changes []line
	for i, l := range lines {
		if s.isEdit(l) {
			changes = append(changes, l)
		}
		if m := said[i]; m != nil {
			if m.Own && !r.known[m.key()] {
				r.confirmOwn(m)
			}
			page = append(page, m)
		}
		if l.Command == "TAGMSG" {
			s.onTags(l)
		}
		id := l.Param(1)
		if l.Command != "REDACT" || id == "" {
			if said[i] == nil && l.Tags["msgid"] != "" {
				page = append(page, unseen(l))
			}
			continue
		}
		switch {
		case named[id] || r.known[id]:
			removals = append(removals, l)
		case r.gone[id] == nil:
			page = append(page, noteOf(l))
		}
		named[id] = true
	}
	fresh, last = r.merge(page, behind)
	for _, m := range page {
		r.revise(m) // it may be there with the text of before
	}
	for _, l := range changes {
		s.onEdit(r, l)
	}
	for _, l := range removals {
		r.redact(l)
	}
	return fresh, last
}

// unseen is what a room keeps of a line of a page that it does not show. A page may have nothing
// else, and the next one is asked for before or after it.
func unseen(l line) *Message {
	return &Message{ID: l.Tags["msgid"], Time: l.time, Timed: l.timed, Told: true, Kind: Unseen}
}

// spoken returns the message of each line of a page, or nil if it is none.
func (s *Session) spoken(lines []line) []*Message {
	list := make([]*Message, len(lines))
	for i, l := range lines {
		if l.Command != "PRIVMSG" && l.Command != "NOTICE" || s.isEdit(l) {
			continue
		}
		if _, m, ok := s.message(l); ok {
			list[i] = m
		}
	}
	return list
}

// messages returns those of a page.
func (s *Session) messages(lines []line) []*Message {
	return slices.DeleteFunc(s.spoken(lines), func(m *Message) bool { return m == nil })
}

// turnPage asks for the next page of missed messages, if the last one was full.
func (s *Session) turnPage(r *Room, lines []line, behind *Message) {
	r.behind = nil
	if len(lines) == 0 || len(lines) < s.limit() {
		return
	}
	l := lines[len(lines)-1]
	if r.pages++; r.pages < maxPages {
		s.after(r, &Message{ID: l.Tags["msgid"], Time: l.time}, behind)
		return
	}
	r.insert(&Message{Time: l.time, Kind: Wrong,
		Text: "there are more messages than are shown: the rest is on the server"}, behind)
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
		s.after(r, &Message{Time: r.from.Time}, r.behind)
		return
	}
	switch asked {
	case after:
		r.behind = nil
		s.askAround(r)
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
