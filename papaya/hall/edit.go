package hall

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"interleave/papaya/irc"
)

// Users may change what they have said, for some time: with a PRIVMSG, NOTICE or batch of several
// lines that has the tag +draft/edit and the msgid of the message. The server of the client checks
// in the text that the message is the client's own, as it does for a removal. The log then has an
// entry that all servers obey without reading, and the text a line with the new text. The line of
// before stays in the text, but nobody is sent it any more: see version.go.
//
// Clients that know edits, by the capability draft/message-edit, are sent the new text with the
// tag. All others are sent it as a message that begins with "* " and replies to the former one.
// Else they would answer a text that does not stand any more.

const (
	editTag = "+draft/edit"
	// storedEdit is in the text what editTag is on the wire, and no client can give it. It has the
	// offset of the message, in decimal digits. A line REDACT has the offsets of later texts in it.
	storedEdit = "draft/edit"
	// EditedTag is of a message in a history that has its newest text: the time of that.
	EditedTag = "papaya/edited"
	// corrects begins a message to those who do not know edits.
	corrects = "* "
	// knowsEdits are what a client needs to be sent edits as such.
	knowsEdits = edits | messageTags
)

// isEdit says whether a line changes a message. The small protocol passes the tag on as any other.
func (h *Hall) isEdit(m *irc.Message) bool {
	_, edit := m.Tags[editTag]
	return edit && h.full()
}

// otherTags returns the tags that clients may send to each other, without that of an edit.
func otherTags(tags map[string]string) string {
	if _, edit := tags[editTag]; edit {
		tags = maps.Clone(tags)
		delete(tags, editTag)
	}
	return ownTags(tags)
}

// asksMessage says whether a PRIVMSG or NOTICE is no message yet: a change of one is checked first.
func (h *Hall) asksMessage(m *irc.Message) bool { return h.isEdit(m) || h.isToNobody(m) }

func (h *Hall) askMessage(c *Client, m *irc.Message) Entry {
	if !h.isEdit(m) {
		return h.toNobody(c, m)
	}
	it := speech{command: m.Command, text: m.Param(1), tags: otherTags(m.Tags)}
	return h.edit(c, m.Param(0), m.Tags[editTag], it)
}

// edit answers a line that changes a message, or returns the entry that does. A NOTICE is answered,
// too: no program sends one with the tag by itself.
func (h *Hall) edit(c *Client, target, id string, it speech) Entry {
	u, name := c.user, irc.RoomOf(target)
	why := func(code, words, text string) Entry {
		h.fail(c, it.command, code, words, text)
		return Entry{}
	}
	if !irc.IsRoom(name) && !irc.IsNick(name) ||
		irc.IsRoom(name) && u.in(h.rooms[irc.Lower(name)]) == nil {
		return why("INVALID_TARGET", middle(target), "You cannot change messages there")
	}
	s, _, ok := h.named(c, name, id)
	words := name + " " + middle(id)
	switch {
	case !ok || !s.spoken():
		return why("UNKNOWN_MSGID", words, "There is no such message, or not any more")
	case !u.wrote(s):
		return why("EDIT_FORBIDDEN", words, "You cannot change the messages of others")
	case len(h.versions.of(s.at)) >= maxVersions:
		return why("EDIT_FORBIDDEN", words, "The message was changed too often")
	case strings.Join(it.texts(), "") == "":
		return why("INVALID_EDIT", words, "The message has no text")
	case it.hasCTCP() || isCTCP(s.text()):
		return why("INVALID_EDIT", words, "What is said to programs cannot be changed")
	}
	status, _ := irc.SplitStatus(s.target)
	source := u.source
	if len(s.source) > len(source) { // histories have it with the source of then
		source = s.source
	}
	if it.length(source, status+name)+len(corrects) > irc.MaxLine {
		return why("INVALID_EDIT", words, "The text is too long")
	}
	window := time.Duration(0)
	if h.config.Edit != nil {
		window = h.config.Edit()
	}
	c.later = true
	head := fmt.Appendf(nil, "%d %d %d %s\n", s.at, s.time, int64(window.Seconds()), status)
	it.command = s.command // it stays what it was
	return Entry{Kind: Edit, Data: append(head, it.data(name)...)}
}

// edited is the first line of the entry: the place and time of the message, for how many seconds
// its author may change it, where 0 is for ever, and the prefix of its target. The new text follows
// as in an entry of the kind Lines.
type edited struct {
	of           uint64
	time, window int64
	status       string
}

func parseEdited(line string) (e edited, ok bool) {
	n, err := fmt.Sscanf(line, "%d %d %d", &e.of, &e.time, &e.window)
	words := strings.Split(line, " ")
	e.status = words[len(words)-1]
	return e, n == 3 && err == nil && len(words) == 4 &&
		(e.status == "" || e.status == "@" || e.status == "+")
}

// parseEdit parses an entry that changes a message.
func parseEdit(data []byte) (e edited, target string, it speech, ok bool) {
	head, rest, _ := strings.Cut(string(data), "\n")
	e, ok = parseEdited(head)
	m, more := parseLines([]byte(rest))
	it = speech{m.Command, m.Param(1), ownTags(m.Tags), more}
	ok = ok && (irc.IsRoom(m.Param(0)) || irc.IsNick(m.Param(0)) && e.status == "") &&
		strings.Join(it.texts(), "") != ""
	return e, m.Param(0), it, ok
}

// applyEdit gives a message a new text, and tells those who could read it.
func (h *Hall) applyEdit(s *session, data []byte) {
	e, target, it, ok := parseEdit(data)
	if !ok || e.of >= h.at {
		return // another program has logged it
	}
	c, u := s.client, s.user
	r := h.roomOf(u, target)
	if r == nil && irc.IsRoom(target) {
		return // the user has left meanwhile
	}
	fail := func(code, words, why string) {
		h.fail(c, it.command, code, target+" "+h.ids.of(e.of)+words, why)
	}
	s.acted = h.now
	switch {
	case e.window > 0 && h.now-e.time > e.window*1000:
		fail("EDIT_WINDOW_EXPIRED", fmt.Sprint(" ", e.window), "The message is too old")
	case h.wasRemoved(e.of):
		fail("UNKNOWN_MSGID", "", "There is no such message, or not any more")
	case len(h.versions.of(e.of)) >= maxVersions:
		fail("EDIT_FORBIDDEN", "", "The message was changed too often")
	case r != nil:
		h.editInRoom(s, r, e, it)
	default:
		h.editInTalk(s, target, e, it)
	}
}

// roomOf returns the room of a user that an entry names. It may have got another name meanwhile.
func (h *Hall) roomOf(u *user, target string) *room {
	folded := irc.Lower(target)
	r := h.rooms[folded]
	if u.in(r) == nil {
		r = lastOf(h.formers[folded], folded)
	}
	if r == nil || u.in(r) == nil {
		return nil
	}
	return r
}

// editInRoom tells a new text to those members of a room who heard the message: all, or with a
// status some. Who may not talk there now may not change what was said either.
func (h *Hall) editInRoom(s *session, r *room, e edited, it speech) {
	if h.writable(s.user, s.client, r.name) == nil {
		return
	}
	n := h.tellEdit(s.user, e.status+r.name, e.of, it)
	known, other := h.share(r, n.edit), h.share(r, n.plain)
	hears := map[*user]bool{}
	for _, in := range r.here {
		if e.status != "" && in.standing().hears(e.status) {
			hears[in.user] = true
		}
	}
	for _, c := range r.clients {
		switch {
		case c.user == s.user || len(c.backlogs) > 0 && c.waitsFor(r):
			continue
		case e.status != "" && !hears[c.user]:
			continue
		case c.knowsEdits():
			known.to(c)
		default:
			other.to(c)
		}
		c.sent = h.at
	}
	h.editToOwn(s, n, r)
}

// editInTalk tells a new text to the user to whom the message was said, if that is the one who has
// the nick now.
func (h *Hall) editInTalk(s *session, target string, e edited, it speech) {
	folded := irc.Lower(target)
	to := h.holder(folded)
	if to != nil && !to.hadNick(folded, e.of) {
		to = nil
	}
	if to != nil {
		target = to.nick
	}
	if h.refused(s.user, s.client, to, it) {
		return
	}
	n := h.tellEdit(s.user, target, e.of, it)
	if to != nil && to != s.user {
		to.eachClient(func(c *Client) {
			if !c.waitsFor(nil) {
				n.to(c)
				c.sent = h.at
			}
		})
	}
	h.editToOwn(s, n, nil)
}

// A news is a new text of a message, for those who know edits and for all others.
type news struct{ edit, plain *out }

func (n news) to(c *Client) {
	if c.knowsEdits() {
		n.edit.to(c)
	} else {
		n.plain.to(c)
	}
}

func (c *Client) knowsEdits() bool { return c.caps&knowsEdits == knowsEdits }

// tellEdit writes a new text of a message into the text.
func (h *Hall) tellEdit(u *user, target string, of uint64, it speech) news {
	own := it.tags
	it.tags = joinTags(fmt.Sprint(storedEdit, "=", of), own)
	o := *h.tell(u, target, it)
	h.addVersion(version{of, o.at, int(h.at - o.at)})
	id := h.ids.of(of)
	o.tags = joinTags(editTag+"="+id, u.marked(own))
	plain := correction(o, u.source+" "+it.command+" "+target, it.text, id)
	plain.tags = u.marked(plain.tags)
	return news{&o, plain}
}

// correction is a new text of a message for those who do not know edits. head is from the source to
// the target, and id is the msgid of the message.
func correction(o out, head, text, id string) *out {
	action, isAction := strings.CutPrefix(text, "\x01ACTION ")
	if isAction {
		text = "\x01ACTION " + corrects + action
	} else {
		text = corrects + text
	}
	o.body = append(cut([]byte(":"+head+" :"+text)), '\r', '\n')
	o.tags = replyTag + "=" + id
	o.forms = [looks + 1][]byte{}
	return &o
}

// editToOwn is toOwn for a new text.
func (h *Hall) editToOwn(s *session, n news, r *room) {
	for _, other := range s.user.sessions {
		c := other.client
		switch {
		case c == nil, other == s && c.caps&echoMessage == 0:
		case other == s:
			n.to(c)
		case r != nil && len(c.backlogs) > 0 && c.waitsFor(r):
			c.postpone(r, n.edit)
		default:
			n.to(c)
			c.sent = h.at
		}
	}
}

// joinTags joins two lists of tags, of which the second may be empty.
func joinTags(a, b string) string { return strings.TrimSuffix(a+";"+b, ";") }
