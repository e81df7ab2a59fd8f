package hall

import (
	"strings"

	"interleave/papaya/irc"
)

// Author returns the account that had a nick at an offset of the text. Programs have no account,
// and are returned by their nick. Guests are nobody.
func (h *Hall) Author(nick string, at uint64) string {
	if strings.Contains(nick, "/") {
		return nick
	}
	folded := irc.Lower(nick)
	for _, u := range h.accounts {
		if hadNick(u.names, folded, at) { // at most one had it
			return u.account
		}
	}
	return ""
}

// SaidAt returns the text of the message at an offset, and its author. Both are empty if there is
// no message, or if it was removed.
func (h *Hall) SaidAt(at uint64) (who, text string) {
	s, _, ok := h.messageAt(at)
	if !ok || !s.spoken() {
		return "", ""
	}
	return h.Author(s.nick(), at), s.text()
}
