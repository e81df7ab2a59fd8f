package hall

import (
	"slices"
	"strings"

	"interleave/papaya/irc"
)

// Author returns the account that had a nick at an offset of the text. Programs have no account,
// and are returned by their nick. Guests are nobody.
func (h *Hall) Author(nick string, at uint64) string {
	if strings.Contains(nick, "/") {
		return nick
	}
	return h.accountAt(irc.Lower(nick), at)
}

// accountAt returns the account that had a folded nick at an offset of the text; empty: none of
// today's.
func (h *Hall) accountAt(folded string, at uint64) string {
	if u := h.accounts[folded]; u != nil && hadNick(u.names, folded, at) {
		return u.account
	}
	for _, u := range h.aliases[folded] {
		if hadNick(u.names, folded, at) { // at most one had it
			return u.account
		}
	}
	return ""
}

// noteAliases adds an account to h.aliases.
func (h *Hall) noteAliases(u *user) {
	for _, t := range u.names {
		if !u.is(t.nick) && !slices.Contains(h.aliases[t.nick], u) {
			h.aliases[t.nick] = append(h.aliases[t.nick], u)
		}
	}
}

// dropAliases takes an account from h.aliases, before its name or its nicks change.
func (h *Hall) dropAliases(u *user) {
	for _, t := range u.names {
		list := slices.DeleteFunc(h.aliases[t.nick], func(other *user) bool { return other == u })
		if len(list) == 0 {
			delete(h.aliases, t.nick)
		} else {
			h.aliases[t.nick] = list
		}
	}
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
