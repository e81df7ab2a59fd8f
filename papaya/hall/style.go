package hall

import (
	"strings"

	"interleave/papaya/irc"
)

// Modes that say how one wants to be talked to. Format 4 of a batch brought them, those of rooms
// that usualModes lacks, messages for a part of a room (STATUSMSG), and messages of users outside.
// Batches of the format before are applied without them, since their servers have refused them.

// styleLetters are a user's own modes besides i and o: it is a bot (B), gets messages of accounts
// only (R), no CTCP (T), and WALLOPS (w).
const styleLetters = "BRTw"

func (u *user) setStyle(letter byte, on bool) {
	if u.styles == nil {
		u.styles = map[byte]bool{}
	}
	if on {
		u.styles[letter] = true
	} else {
		delete(u.styles, letter)
	}
}

// botTag marks the lines of bots (bot-mode of IRCv3). No client can give it.
const botTag = "bot"

// marked adds the tag of bots to the tags of a line that the user sends.
func (u *user) marked(tags string) string {
	switch {
	case !u.styles['B']:
		return tags
	case tags == "":
		return botTag
	}
	return tags + ";" + botTag
}

// isCTCP says whether a text is a request to the other's program, and not /me.
func isCTCP(text string) bool {
	return strings.HasPrefix(text, "\x01") && !strings.HasPrefix(text, "\x01ACTION ")
}

// A standing is what a member may hear in a room.
type standing struct{ op, voice bool }

// standing returns that of a member; m may be nil.
func (m *member) standing() standing {
	if m == nil {
		return standing{}
	}
	return standing{m.op, m.voice}
}

// hears says whether a member gets a message with the prefix.
func (s standing) hears(status string) bool {
	return status == "" || s.op || s.voice && status == "+"
}

// refuses says why a user takes no message of another one: a numeric and its text; both are empty
// if the user takes it.
func (u *user) refuses(from *user, ctcp bool) (number, why string) {
	switch {
	case u.styles['T'] && ctcp:
		return irc.ERR_CANNOTSENDTOUSER, "takes no CTCP"
	case u.styles['R'] && from.account == "" && from != u && !u.accepts[irc.Lower(from.nick)]:
		return irc.ERR_NEEDREGGEDNICK, "takes messages of accounts only: log in first"
	}
	return "", ""
}

// maxAccepted bounds the nicks from which a user with +R takes messages. A guess.
const maxAccepted = 100

// accept notes that a user takes messages of a nick without an account, or does not any more.
func (u *user) accept(nick string, on bool) bool {
	folded := irc.Lower(nick)
	switch {
	case !on:
		delete(u.accepts, folded)
	case u.accepts[folded]:
	case len(u.accepts) >= maxAccepted:
		return false
	default:
		if u.accepts == nil {
			u.accepts = map[string]bool{}
		}
		u.accepts[folded] = true
	}
	return true
}

// acceptCommand obeys ACCEPT NICK,-NICK.
func (h *Hall) acceptCommand(s *session, m *irc.Message) {
	for word := range strings.SplitSeq(m.Param(0), ",") {
		nick, off := strings.CutPrefix(word, "-")
		switch {
		case !irc.IsNick(nick):
			h.num(s.client, irc.ERR_NOSUCHNICK, middle(nick)+" :No such nick/channel")
		case !s.user.accept(nick, !off):
			h.num(s.client, irc.ERR_ACCEPTFULL, ":Your list of ACCEPT is full")
			return
		}
	}
}

// accepted lists the nicks that a user takes messages from (ACCEPT *).
func (h *Hall) accepted(c *Client, _ *irc.Message) Entry {
	for _, nick := range sorted(c.user.accepts) {
		h.num(c, irc.RPL_ACCEPTLIST, nick)
	}
	h.num(c, irc.RPL_ENDOFACCEPT, ":End of ACCEPT list")
	return Entry{}
}

// wallops says something to all users with +w (RFC 2812, 4.7). Operators may.
func (h *Hall) wallops(s *session, m *irc.Message) {
	if !s.user.role.runs() {
		h.num(s.client, irc.ERR_NOPRIVILEGES, ":Permission Denied- You're not an operator")
		return
	}
	o := h.newOut(s.user, "WALLOPS :"+m.Param(0))
	for _, u := range h.nicks {
		if u.styles['w'] {
			u.eachClient(o.to)
		}
	}
}
