package hall

import (
	"fmt"
	"strings"

	"interleave/papaya/irc"
)

// maxWho bounds the users that a mask finds, so that the answer fits in a send queue. A guess.
const maxWho = 500

// who answers WHO for a room, a nick or a mask of nicks. The second parameter may name the fields
// that the client wants (WHOX of IRCv3).
func (h *Hall) who(c *Client, m *irc.Message) Entry {
	target, fields := m.Param(0), parseWhox(m.Param(1))
	switch u := h.nicks[irc.Lower(target)]; {
	case target != "" && target[0] == '#':
		if r := h.rooms[irc.Lower(target)]; r != nil && (!r.hidden() || c.user.in(r) != nil) {
			for _, in := range r.here {
				h.whoLine(c, r.name, in.user, in.prefix(c), fields)
			}
			for _, absent := range h.absentAccounts(r) {
				h.whoLine(c, r.name, absent, "", fields)
			}
		}
	case u != nil:
		h.whoLine(c, "*", u, "", fields)
	case strings.ContainsAny(target, "*?"):
		left := maxWho
		for _, nick := range sorted(h.nicks) {
			if u := h.nicks[nick]; left > 0 && irc.Match(target, nick) && sees(c, u) {
				h.whoLine(c, "*", u, "", fields)
				left--
			}
		}
	}
	if target == "" {
		target = "*"
	}
	h.num(c, irc.RPL_ENDOFWHO, middle(target)+" :End of WHO")
	return Entry{}
}

// sees says whether a mask finds a user for a client: an invisible user is found by those who share
// a room with it.
func sees(c *Client, u *user) bool {
	return !u.invisible || u == c.user || u.shares(c.user)
}

// shares says whether two users are in the same room.
func (u *user) shares(other *user) bool {
	for _, m := range u.rooms {
		if other.in(m.room) != nil {
			return true
		}
	}
	return false
}

// whox is what a client asks for with %FIELDS,TOKEN; without fields it gets the usual reply.
type whox struct{ fields, token string }

func parseWhox(word string) whox {
	_, word, there := strings.Cut(word, "%")
	if !there {
		return whox{}
	}
	fields, token, _ := strings.Cut(word, ",")
	if len(token) > 3 || strings.ContainsAny(token, " :") {
		token = ""
	}
	return whox{fields, token}
}

func (h *Hall) whoLine(c *Client, room string, u *user, prefix string, x whox) {
	flags := "H"
	if u.away != "" || !h.here(u) {
		flags = "G"
	}
	if u.role.runs() {
		flags += "*"
	}
	flags += prefix
	if u.styles['B'] {
		flags += "B"
	}
	if x.fields == "" {
		h.num(c, irc.RPL_WHOREPLY, fmt.Sprintf("%s %s %s %s %s %s :0 %s", room, u.name, u.host,
			h.config.Name, u.nick, flags, u.real))
		return
	}
	words, or := "", func(word, none string) string {
		if word == "" {
			return none
		}
		return word
	}
	// The order of the reply is fixed, whatever the order of the question.
	for _, field := range []struct {
		letter string
		word   string
	}{
		{"t", or(x.token, "0")}, {"c", room}, {"u", u.name}, {"i", "255.255.255.255"},
		{"h", u.host}, {"s", h.config.Name}, {"n", u.nick}, {"f", flags}, {"d", "0"}, {"l", "0"},
		{"a", or(u.account, "0")}, {"o", "n/a"}, {"r", ":" + u.real},
	} {
		if strings.Contains(x.fields, field.letter) {
			words += " " + field.word
		}
	}
	h.num(c, irc.RPL_WHOSPCRPL, strings.TrimPrefix(words, " "))
}
