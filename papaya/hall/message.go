package hall

import (
	"strconv"
	"strings"

	"interleave/papaya/irc"
)

// message applies PRIVMSG and NOTICE: it writes the message into the text and sends it. A NOTICE is
// never answered with an error.
func (h *Hall) message(u *user, m *irc.Message) {
	c := u.client
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
	tags := ownTags(m.Tags)
	if !strings.Contains(m.Params[0], ",") {
		h.messageTo(u, c, m.Command, m.Params[0], m.Params[1], tags)
		return
	}
	for i, target := range strings.Split(m.Params[0], ",") {
		if i == maxTargets {
			h.num(c, irc.ERR_TOOMANYTARGETS, middle(target)+" :Too many targets")
			return
		}
		if target != "" {
			h.messageTo(u, c, m.Command, target, m.Params[1], tags)
		}
	}
}

func (h *Hall) messageTo(u *user, c *Client, command, target, text, tags string) {
	if target[0] == '#' {
		if r := h.writable(u, c, target); r != nil && h.fits(u, c, command, r.name, text) {
			o := h.tell(u, command, r.name, text, tags)
			h.toRoom(r, u, o, 0)
			h.echo(u, o)
		}
		return
	}
	folded := irc.Lower(target)
	to, k := h.nicks[folded], h.known[folded]
	if to == nil && k == nil {
		h.num(c, irc.ERR_NOSUCHNICK, middle(target)+" :No such nick/channel")
		return
	}
	if to != nil {
		target = to.nick
	}
	if !h.fits(u, c, command, target, text) {
		return
	}
	o := h.tell(u, command, target, text, tags)
	if to != nil {
		if oc := to.client; oc != nil && !oc.waitsFor(nil) {
			o.apart(oc)
			oc.sent = h.at
		}
		if to.away != "" {
			h.num(c, irc.RPL_AWAY, to.nick+" :"+to.away)
		}
	}
	h.echo(u, o)
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
	case m == nil:
		h.num(c, irc.ERR_CANNOTSENDTOCHAN, target+" :Cannot send to channel")
		return nil
	case r.modes['m'] && !m.op && !m.voice, !m.op && !m.voice && r.banned(u):
		h.num(c, irc.ERR_CANNOTSENDTOCHAN, r.name+" :Cannot send to channel")
		return nil
	}
	return r
}

// fits says whether the line is short enough with its source.
func (h *Hall) fits(u *user, c *Client, command, target, text string) bool {
	if len(":")+len(u.source)+1+len(command)+1+len(target)+2+len(text)+2 <= irc.MaxLine {
		return true
	}
	h.num(c, irc.ERR_INPUTTOOLONG, ":Input line was too long")
	return false
}

// tell writes a message into the text. The line that it returns is valid until the next call.
func (h *Hall) tell(u *user, command, target, text, tags string) *out {
	b := append(h.told.body[:0], ':')
	b = append(b, u.source...)
	b = append(b, ' ')
	b = append(b, command...)
	b = append(b, ' ')
	b = append(b, target...)
	b = append(b, " :"...)
	b = cut(append(b, text...))
	at := h.record(irc.Lower(target), b)
	h.told = out{body: append(b, '\r', '\n'), account: u.account, time: h.now, kept: true, at: at,
		tags: tags}
	return &h.told
}

func (h *Hall) echo(u *user, o *out) {
	if c := u.client; c != nil && c.caps&echoMessage != 0 {
		o.to(c)
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

// tagmsg applies TAGMSG, which has only tags: a user is typing, or reacts to a message. It is not
// written into the text.
func (h *Hall) tagmsg(u *user, m *irc.Message) {
	tags := ownTags(m.Tags)
	if tags == "" {
		return
	}
	for i, target := range strings.Split(m.Params[0], ",") {
		if i == maxTargets || target == "" {
			return
		}
		o := h.newOut(u, "TAGMSG "+target)
		o.tags = tags
		o.id = h.tagID()
		if target[0] == '#' {
			if r := h.writable(u, u.client, target); r != nil {
				h.toRoom(r, u, o, messageTags)
				h.echoTags(u, o)
			}
			continue
		}
		to := h.nicks[irc.Lower(target)]
		if to == nil {
			h.num(u.client, irc.ERR_NOSUCHNICK, middle(target)+" :No such nick/channel")
			continue
		}
		if to.client != nil && to.client.caps&messageTags != 0 {
			o.apart(to.client)
		}
		h.echoTags(u, o)
	}
}

// tagID returns a msgid for a TAGMSG. It is the same on all servers, and none of a message in the
// text, whose msgid has no dot.
func (h *Hall) tagID() string {
	h.tagged++
	number := uint64(0)
	if p := h.servers[h.from.server]; p != nil {
		number = p.number
	}
	return strconv.FormatInt(h.from.run, 36) + "." + strconv.FormatUint(number, 36) + "." +
		strconv.FormatUint(h.tagged, 36)
}

func (h *Hall) echoTags(u *user, o *out) {
	if u.client != nil && u.client.caps&messageTags != 0 {
		h.echo(u, o)
	}
}

// Refuse answers a line that the log has refused. It returns false if the line is no message; such
// a line may still be applied.
func (h *Hall) Refuse(c *Client, m *irc.Message, why string) bool {
	switch m.Command {
	case "PRIVMSG", "NOTICE", "TOPIC", "TAGMSG":
	default:
		return false
	}
	if m.Command != "NOTICE" {
		for target := range strings.SplitSeq(m.Param(0), ",") {
			h.num(c, irc.ERR_CANNOTSENDTOCHAN, middle(target)+" :Cannot send to channel: "+why)
		}
	}
	return true
}
