package hall

import (
	"fmt"
	"strings"
	"time"

	"interleave/papaya/irc"
)

// Users may remove messages (draft/message-redaction of IRCv3): their own for some time, and
// operators of a room those of the room. The server of the client checks that in the text, which
// may differ on other servers where old messages were removed. The log then has an entry that all
// servers obey without reading: the message's place in the text becomes blank, and a line REDACT
// says who has removed it. Clients that know redactions are told now, or when they come.

// A Span is a part of the text, in whole lines.
type Span struct {
	At   uint64
	Size int
}

// Removed returns the parts of the text that were removed since the last call.
func (h *Hall) Removed() []Span {
	spans := h.removed
	h.removed = nil
	return spans
}

// Redacted returns the offset of the message that a line of the text has removed. line has no LF.
func Redacted(line []byte) (at uint64, ok bool) {
	s, ok := parseSaid(line, 0)
	if !ok {
		return 0, false
	}
	return s.removes()
}

// removes returns the offset of the message that this one has removed.
func (s said) removes() (at uint64, ok bool) {
	if s.command != "REDACT" {
		return 0, false
	}
	words := strings.Fields(string(s.body))
	if len(words) < 4 {
		return 0, false
	}
	return parsePlace(words[3])
}

// reason returns why the message was removed, of a line REDACT; empty: nobody has said.
func (s said) reason() string {
	words := strings.SplitN(string(s.body), " ", 5) // :SOURCE REDACT TARGET PLACE :WHY
	if len(words) < 5 {
		return ""
	}
	return strings.TrimPrefix(words[4], ":")
}

// redactLine returns a line REDACT of the text as clients see it: with the msgid of the message
// that it has removed.
func (m *msgids) redactLine(line []byte) []byte {
	words := strings.SplitN(string(line), " ", 5) // :SOURCE REDACT TARGET PLACE :WHY
	if len(words) < 4 {
		return line
	}
	words[3] = m.msgid(words[3])
	return cut([]byte(strings.Join(words, " ")))
}

// SpanAt returns the part of the text with the message at an offset.
func (h *Hall) SpanAt(at uint64) (Span, bool) {
	_, size, ok := h.messageAt(at)
	return Span{at, size}, ok
}

// redact answers REDACT, or returns the entry that removes the message.
func (h *Hall) redact(c *Client, m *irc.Message) Entry {
	target, id, u := m.Param(0), m.Param(1), c.user
	if !h.full() { // there, no line of the text is ever overwritten
		h.num(c, irc.ERR_UNKNOWNCOMMAND, m.Command+" :Unknown command")
		return Entry{}
	}
	why := func(code, words, text string) Entry {
		h.fail(c, "REDACT", code, words, text)
		return Entry{}
	}
	room := h.rooms[irc.Lower(target)]
	in := u.in(room)
	if !irc.IsRoom(target) && !irc.IsNick(target) || irc.IsRoom(target) && in == nil {
		return why("INVALID_TARGET", middle(target), "You cannot remove messages there")
	}
	s, size, ok := h.named(c, target, id)
	words := target + " " + middle(id)
	if !ok || !s.spoken() && s.command != "TAGMSG" {
		return why("UNKNOWN_MSGID", words, "There is no such message, or not any more")
	}
	window := time.Duration(0)
	switch operator := in != nil && in.op; {
	case operator:
	case !u.wrote(s):
		return why("REDACT_FORBIDDEN", words, "You cannot remove the messages of others")
	case h.config.Redact != nil:
		window = h.config.Redact()
	}
	c.later = true
	data := fmt.Appendf(nil, "%s\n%s %d %d %d", target, appendPlace(nil, s.at), size, s.time,
		int64(window.Seconds()))
	if s.isPreview() {
		data = append(data, " "+PreviewTag...)
	} else {
		data = formatSpans(data, h.previewsOf(s.at, s.time))
	}
	return Entry{Kind: Redact, Data: append(data, "\n"+truncate(m.Param(2), maxTopic)...)}
}

// named returns the message with a msgid that a client can read in a room or a conversation of it.
// The msgid of a later text is that of the message, too.
func (h *Hall) named(c *Client, target, id string) (s said, size int, ok bool) {
	u := c.user
	// a guest's conversation has no history, but the guest knows what it has said
	want := func(s said) bool { return u.wrote(s) && s.target == irc.Lower(target) }
	if u.lasting() || irc.IsRoom(target) {
		want = h.readable(c, target, eventPlayback|messageTags|previews)
	}
	at, ok := h.ids.parse(id)
	if ok {
		s, size, ok = h.messageAt(at)
	}
	if of, edit := s.edits(); ok && edit {
		s, size, ok = h.messageAt(of)
	}
	return s, size, ok && want != nil && want(s)
}

// redacted is the second line of the entry: the place and time of the message, and for how many
// seconds its author may remove it. 0 is for ever. The time of the log is known when the entry is
// in it. Then come the places of its previews, or PreviewTag if the message itself is a preview.
type redacted struct {
	place        string
	size         int
	time, window int64
	previews     []Span
	preview      bool
}

func (h *Hall) parseRedacted(line string) (r redacted, span Span, ok bool) {
	n, err := fmt.Sscanf(line, "%s %d %d %d", &r.place, &r.size, &r.time, &r.window)
	at, known := parsePlace(r.place)
	r.parseSpans(line, h.at)
	return r, Span{at, r.size}, n == 4 && err == nil && known
}

// wrote says whether a message is the user's own. A guest's nick may have had other users before.
func (u *user) wrote(s said) bool {
	if u.lasting() {
		return hadNick(u.names, s.nick(), s.at)
	}
	return s.nick() == irc.Lower(u.nick) && s.at >= u.nickAt
}

// applyRedact removes a message from the text, and tells those who could read it.
func (h *Hall) applyRedact(s *session, data []byte) {
	word := append(strings.SplitN(string(data), "\n", 3), "", "", "")
	target, why, u := word[0], word[2], s.user
	it, span, ok := h.parseRedacted(word[1])
	if !ok || !span.within(h.at) ||
		!irc.IsRoom(target) && !irc.IsNick(target) {
		return // another program has logged it
	}
	r := h.roomOf(u, target)
	switch {
	case r != nil:
		target = r.name
	case irc.IsRoom(target):
		return // the user has left meanwhile
	}
	if it.window > 0 && h.now-it.time > it.window*1000 {
		h.fail(s.client, "REDACT", "REDACT_WINDOW_EXPIRED", fmt.Sprint(target, " ",
			h.ids.msgid(it.place), " ", it.window), "The message is too old")
		return
	}
	h.removed = append(h.removed, span)
	h.removals++
	want, tags := redaction, ""
	if it.preview {
		want, tags = redaction|previews|messageTags, PreviewTag
	} else {
		later := h.removeVersions(span.At)
		tags = formatVersions(later)
		h.removeWith(span.At, append(it.previews, later...))
	}
	if h.config.Push != nil {
		h.config.Push.Removed(span.At)
	}
	rest := ""
	if why != "" {
		rest = " :" + why
	}
	o := h.newOut(u, "REDACT "+target+" "+h.ids.msgid(it.place)+rest)
	if it.preview {
		o.tags = strings.TrimSuffix(PreviewTag+";"+o.tags, ";")
	}
	h.keep(o, h.recordOf(u, irc.Lower(target), tags,
		cut([]byte(":"+u.source+" REDACT "+target+" "+it.place+rest))))
	if r != nil {
		h.toRoom(r, u, o, want)
		h.toOwn(s, o, r, want)
		return
	}
	to := h.holder(irc.Lower(target))
	if to != nil && to != u && to.hadNick(irc.Lower(target), span.At) {
		to.eachClient(func(c *Client) {
			if c.caps&want == want && !c.waitsFor(nil) {
				o.to(c)
				c.sent = h.at
			}
		})
	}
	h.toOwn(s, o, nil, want)
}

// hadNick says whether a user had a nick at an offset of the text, so that messages to it are the
// user's.
func (u *user) hadNick(folded string, at uint64) bool {
	if u.lasting() {
		return u.isOwn(folded, at)
	}
	return folded == irc.Lower(u.nick) && at >= u.nickAt
}
