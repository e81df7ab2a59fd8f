package hall

import (
	"slices"
	"strings"

	"interleave/papaya/irc"
)

// message applies PRIVMSG and NOTICE: it writes the message into the text and sends it. A NOTICE is
// never answered with an error.
func (h *Hall) message(s *session, m *irc.Message) {
	c := s.client
	if m.Command == "NOTICE" {
		c = nil
	}
	if m.Param(0) == "" {
		h.num(c, irc.ERR_NORECIPIENT, ":No recipient given ("+m.Command+")")
		return
	}
	if m.Param(1) == "" {
		h.num(c, irc.ERR_NOTEXTTOSEND, ":No text to send")
		return
	}
	it := speech{command: m.Command, text: m.Params[1], tags: ownTags(m.Tags)}
	if !strings.Contains(m.Params[0], ",") {
		h.messageTo(s, c, m.Params[0], it)
		return
	}
	for i, target := range strings.Split(m.Params[0], ",") {
		if i == maxTargets {
			h.num(c, irc.ERR_TOOMANYTARGETS, middle(target)+" :Too many targets")
			return
		}
		if target != "" {
			h.messageTo(s, c, target, it)
		}
	}
}

// A speech is what a user says at once. A message of several lines has the others in more.
type speech struct {
	command, text string
	tags          string // the client's own
	more          []spoken
}

// hasCTCP says whether a line of the speech is a CTCP.
func (it *speech) hasCTCP() bool {
	return isCTCP(it.text) ||
		slices.ContainsFunc(it.more, func(l spoken) bool { return isCTCP(l.text) })
}

// refused answers a message that the other user does not take.
func (h *Hall) refused(u *user, c *Client, to *user, it speech) bool {
	if to == nil || to.styles == nil {
		return false
	}
	number, why := to.refuses(u, it.hasCTCP())
	if number != "" {
		h.num(c, number, to.nick+" :"+to.nick+" "+why)
	}
	return number != ""
}

// messageTo sends a message to one target. c gets the errors; it is nil if nobody does.
func (h *Hall) messageTo(s *session, c *Client, target string, it speech) {
	u := s.user
	s.acted = h.now
	if status, name := irc.SplitStatus(target); name[0] == '#' && (status == "" || !h.few) {
		r := h.writable(u, c, name)
		switch {
		case r == nil:
		case r.modes['C'] && it.hasCTCP():
			h.num(c, irc.ERR_CANNOTSENDTOCHAN, r.name+" :Cannot send to channel: no CTCP here (+C)")
		case h.fits(u, c, status+r.name, it):
			h.seen(u, r.name, h.now)
			o := h.tell(u, status+r.name, it)
			if status == "" {
				h.notifyRoom(r, u, it, o)
				h.linked(u, r, r.name, it, o)
			}
			h.toPart(r, u, o, status, 0)
			h.toOwn(s, o, r, 0)
		}
		return
	}
	folded := irc.Lower(target)
	to := h.nicks[folded]
	if to == nil && !h.old {
		to = h.holder(folded) // an account that is away, or that has another nick now
	}
	if to == nil && !h.isKnown(folded) {
		h.num(c, irc.ERR_NOSUCHNICK, middle(target)+" :No such nick/channel")
		return
	}
	if to != nil {
		target = to.nick
	}
	if !h.fits(u, c, target, it) || h.refused(u, c, to, it) {
		return
	}
	if u.styles['R'] {
		u.accept(target, true) // the other may answer
	}
	h.seen(u, target, h.now)
	o := h.tell(u, target, it)
	h.linked(u, nil, target, it, o)
	u.talked(target, o)
	if to != nil {
		to.talked(u.nick, o)
		h.notify(to, target, u, it, o)
		to.eachClient(func(c *Client) {
			if !c.waitsFor(nil) {
				o.apart(c)
				c.sent = h.at
			}
		})
		if to.away != "" {
			h.num(c, irc.RPL_AWAY, to.nick+" :"+to.away)
		}
	}
	if to == u { // the other sessions have it already
		h.echo(s, o)
	} else {
		h.toOwn(s, o, nil, 0)
	}
}

// writable returns the room if the user may talk in it. Otherwise it answers with the reason and
// returns nil.
func (h *Hall) writable(u *user, c *Client, target string) *room {
	if !irc.IsRoom(target) {
		h.num(c, irc.ERR_NOSUCHCHANNEL, middle(target)+" :No such channel")
		return nil
	}
	r := h.rooms[irc.Lower(target)]
	m := u.in(r)
	switch {
	case m == nil && (r == nil || h.few || !r.open):
		h.num(c, irc.ERR_CANNOTSENDTOCHAN, target+" :Cannot send to channel")
		return nil
	case (m == nil || !m.op && !m.voice) && (r.modes['m'] || r.silenced(u)):
		h.num(c, irc.ERR_CANNOTSENDTOCHAN, r.name+" :Cannot send to channel")
		return nil
	case (m == nil || !m.op && !m.voice) && r.modes['M'] && u.account == "":
		h.num(c, irc.ERR_CANNOTSENDTOCHAN, r.name+" :Cannot send to channel: log in first (+M)")
		return nil
	}
	return r
}

// length returns the length of the longest line with its source, in bytes.
func (it *speech) length(source, target string) int {
	longest := len(it.text)
	for _, l := range it.more {
		longest = max(longest, len(l.text))
	}
	return len(":") + len(source) + 1 + len(it.command) + 1 + len(target) + 2 + longest + 2
}

// fits says whether each line is short enough with its source.
func (h *Hall) fits(u *user, c *Client, target string, it speech) bool {
	if it.length(u.source, target) <= irc.MaxLine {
		return true
	}
	h.num(c, irc.ERR_INPUTTOOLONG, ":Input line was too long")
	return false
}

// tell writes a message into the text. The line that it returns is valid until the next call.
func (h *Hall) tell(u *user, target string, it speech) *out {
	it.tags = u.marked(it.tags)
	tags, folded := it.tags, irc.Lower(irc.RoomOf(target))
	if h.bare {
		tags = ""
	}
	b := appendBody(h.told.body[:0], u.source, it.command, target, it.text)
	at := h.recordOf(u, folded, tags, b)
	h.told = out{body: append(b, '\r', '\n'), account: u.account, time: h.now, tags: it.tags}
	h.keep(&h.told, at)
	for _, l := range it.more {
		tag := moreTag
		if l.same {
			tag = sameTag
		}
		b := appendBody(nil, u.source, it.command, target, l.text)
		h.record(folded, tag, b)
		h.told.more = append(h.told.more, joined{append(b, '\r', '\n'), l.same})
	}
	return &h.told
}

// appendBody appends a line from its source to its last word, without its end.
func appendBody(b []byte, source, command, target, text string) []byte {
	from := len(b)
	b = append(b, ':')
	b = append(b, source...)
	b = append(b, ' ')
	b = append(b, command...)
	b = append(b, ' ')
	b = append(b, target...)
	b = append(b, " :"...)
	b = append(b, text...)
	return b[:from+len(cut(b[from:]))]
}

// echo sends a session what it has said, if it has requested that.
func (h *Hall) echo(s *session, o *out) {
	if c := s.client; c != nil && c.caps&echoMessage != 0 {
		o.to(c)
	}
}

// toOwn sends what a session has said to the other sessions of its user that have all capabilities
// of want, and echoes it. A client that still gets missed messages of the room r gets it with them.
func (h *Hall) toOwn(s *session, o *out, r *room, want caps) {
	for _, other := range s.user.sessions {
		c := other.client
		switch {
		case c == nil || c.caps&want != want:
		case other == s:
			h.echo(s, o)
		case r != nil && len(c.backlogs) > 0 && c.waitsFor(r):
			c.postpone(r, o)
		default:
			o.to(c)
			c.sent = h.at
		}
	}
}

// ownTags returns the tags that clients may send to each other.
func ownTags(tags map[string]string) string {
	if len(tags) == 0 {
		return ""
	}
	own := map[string]string{}
	for k, v := range tags {
		if strings.HasPrefix(k, "+") {
			own[k] = v
		}
	}
	return irc.FormatTags(own)
}

// persistTag is of a TAGMSG that its client wants to last.
const persistTag = "+draft/persist"

// lasts says whether a TAGMSG is kept: its client wants that, or it is a reaction to a message, or
// takes one back (draft/react of IRCv3). Clients do not ask for that, and those who were away miss
// it otherwise.
func (h *Hall) lasts(tags map[string]string) bool {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return tags[name] != "" })
	}
	_, persists := tags[persistTag]
	return persists && !h.few || !h.passing && has("+draft/reply", "+reply") &&
		has("+draft/react", "+react", "+draft/unreact", "+unreact")
}

// tagBits is how many bits number the TAGMSG of a batch, whose bytes are bounded. The others number
// the batches of a run.
const tagBits = 20

// keepTags writes a TAGMSG into the text if it is to last, with an empty text. Any other gets a
// msgid of its own.
func (h *Hall) keepTags(u *user, o *out, target string, lasts bool) {
	if !lasts {
		o.id = h.tagID()
		return
	}
	h.keep(o, h.recordOf(u, irc.Lower(irc.RoomOf(target)), o.tags,
		appendBody(nil, u.source, "TAGMSG", target, "")))
}

// tagmsg applies TAGMSG, which has only tags: a user is typing, or reacts to a message.
func (h *Hall) tagmsg(s *session, m *irc.Message) {
	tags, u := ownTags(m.Tags), s.user
	lasts := h.lasts(m.Tags)
	if _, edit := m.Tags[editTag]; edit && !h.unedited {
		h.fail(s.client, m.Command, "INVALID_EDIT", middle(m.Param(0)),
			"A message is changed by PRIVMSG or NOTICE")
		return
	}
	if tags == "" {
		return
	}
	s.acted = h.now
	for i, target := range strings.Split(m.Params[0], ",") {
		if i == maxTargets || target == "" {
			return
		}
		o := h.newOut(u, "TAGMSG "+target)
		o.tags = u.marked(tags)
		if status, name := irc.SplitStatus(target); name[0] == '#' && (status == "" || !h.few) {
			if r := h.writable(u, s.client, name); r != nil {
				h.keepTags(u, o, status+r.name, lasts)
				h.toPart(r, u, o, status, messageTags)
				h.toOwn(s, o, r, messageTags)
			}
			continue
		}
		to := h.nicks[irc.Lower(target)]
		if to == nil {
			h.num(s.client, irc.ERR_NOSUCHNICK, middle(target)+" :No such nick/channel")
			continue
		}
		if h.refused(u, s.client, to, speech{}) {
			continue
		}
		h.keepTags(u, o, to.nick, lasts)
		to.eachClient(func(c *Client) {
			if c.caps&messageTags != 0 {
				o.apart(c)
			}
		})
		if to != u {
			h.toOwn(s, o, nil, messageTags)
		} else if s.client != nil && s.client.caps&messageTags != 0 {
			h.echo(s, o)
		}
	}
}

// tagID returns a msgid for a TAGMSG that is not kept. It is the same on all servers, and none of a
// message in the text: see ofMessage.
func (h *Hall) tagID() []byte {
	h.tagged++
	number := uint64(0)
	if p := h.servers[h.from.server]; p != nil {
		number = p.number
	}
	return h.ids.seal(nil, uint64(h.from.run), number<<tagBits|h.tagged)
}
