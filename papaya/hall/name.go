package hall

import (
	"slices"
	"strconv"

	"interleave/papaya/irc"
)

// Names belong to accounts. An account may always have the nick that is its name, and nobody else
// may, from the account's first login on. Any other nick is kept for an account as long as the
// account has it, also while the account is away. A guest has a nick only while it is here.

// A tenure is the time in which an account had a nick, by offsets of the text. The messages of that
// time from and to the nick are the account's.
type tenure struct {
	nick        string // folded
	from, until uint64 // until is 0 while it lasts
}

// maxNames bounds the nicks of an account that are remembered, the newest ones. A guess.
const maxNames = 100

// holder returns the user that has a nick, or the account that it is kept for, or nil.
func (h *Hall) holder(folded string) *user {
	if u := h.nicks[folded]; u != nil {
		return u
	}
	if u := h.accounts[folded]; u != nil {
		return u
	}
	return h.held[folded]
}

// strangers returns the users that keep a nick from a user: self, which is nil if it is not here
// yet. Its account is empty for a guest.
func (h *Hall) strangers(nick, account string, self *user) (others []*user) {
	folded, own := irc.Lower(nick), irc.Lower(account)
	tables := []map[string]*user{h.nicks, h.held, h.accounts}
	if h.old {
		tables = tables[:2]
	}
	for n, table := range tables {
		u := table[folded]
		mine := u == nil || u == self || account != "" && u.is(own)
		if h.old && n == 0 {
			mine = u == nil || u == self
		}
		if !mine {
			others = append(others, u)
		}
	}
	return others
}

// mayHave says whether a user may have a nick. An account may have that of its name in any case.
func (h *Hall) mayHave(nick, account string, self *user) bool {
	own := !h.old && account != "" && irc.Lower(nick) == irc.Lower(account)
	return own || len(h.strangers(nick, account, self)) == 0
}

// claim says whether a user may have a nick, and has others give way.
func (h *Hall) claim(nick, account string, self *user) bool {
	if !h.mayHave(nick, account, self) {
		return false
	}
	for _, other := range h.strangers(nick, account, self) {
		h.giveWay(other)
	}
	return true
}

// is says whether a user is an account, by its folded name.
func (u *user) is(folded string) bool { return irc.Lower(u.account) == folded }

// uses says whether a user is an account, or has its role by OPER.
func (u *user) uses(folded string) bool { return u.is(folded) || u.oper == folded }

// giveWay gives a user another nick, because its own belongs to an account: the name of its account
// if that is free, or a nick that nobody has had.
func (h *Hall) giveWay(u *user) {
	folded := irc.Lower(u.account)
	nick := u.account
	if nick == "" || h.nicks[folded] != nil || h.held[folded] != nil && h.held[folded] != u {
		nick = h.spareNick(u.nick)
	}
	if h.here(u) {
		h.changeNick(u, nick)
		return
	}
	u.rename(nick)
	h.settle(u)
}

// rename changes the user's nick in its source, too.
func (u *user) rename(nick string) {
	u.nick, u.source = nick, fullSource(nick, u.name, u.host)
}

// fullSource is nick!user@host.
func fullSource(nick, name, host string) string { return nick + "!" + name + "@" + host }

// spareNick returns a nick like another that nobody has had: ann_1.
func (h *Hall) spareNick(like string) string {
	for n := 1; ; n++ { // it ends, since there are fewer users than numbers
		end := "_" + strconv.Itoa(n)
		nick := like[:min(len(like), irc.MaxNick-len(end))] + end
		if !h.isKnown(irc.Lower(nick)) {
			return nick
		}
	}
}

// makeWay has a stranger give way who has the name of an account that is here.
func (h *Hall) makeWay(u *user) {
	folded := irc.Lower(u.account)
	if sits := h.nicks[folded]; sits != nil && sits != u {
		h.giveWay(sits)
	}
	delete(h.known, folded)
}

// settle notes that an account has its nick from now on, and no other.
func (h *Hall) settle(u *user) {
	folded, has := irc.Lower(u.nick), false
	h.dropAliases(u)
	defer h.noteAliases(u)
	for _, t := range u.names {
		if t.until == 0 && h.held[t.nick] == u {
			delete(h.held, t.nick)
		}
	}
	u.names = slices.DeleteFunc(u.names, func(t tenure) bool {
		return t.until == 0 && t.nick != folded && t.from == h.at
	})
	for i := range u.names {
		switch t := &u.names[i]; {
		case t.until != 0:
		case t.nick == folded:
			has = true
		default:
			t.until = h.at
		}
	}
	if !has {
		u.names = append(u.names, tenure{nick: folded, from: h.at})
		u.names = u.names[max(0, len(u.names)-maxNames):]
	}
	// Messages to the nick are the account's from now on, and not those of a later guest.
	delete(h.known, folded)
	if !h.here(u) {
		h.held[folded] = u
	}
}

// hadNick says whether an account had a nick at an offset of the text.
func hadNick(names []tenure, nick string, at uint64) bool {
	return slices.ContainsFunc(names, func(t tenure) bool {
		return t.nick == nick && t.from <= at && (t.until == 0 || at < t.until)
	})
}

// isOwn says whether a nick was the user's at an offset of the text. Before its first login, an
// account was whoever had its first nick.
func (u *user) isOwn(nick string, at uint64) bool {
	switch {
	case !u.lasting():
		return nick == irc.Lower(u.nick)
	case len(u.names) > 0 && at < u.names[0].from:
		return nick == u.names[0].nick
	}
	return hadNick(u.names, nick, at)
}

// ownNicks returns the folded nicks under which a user has or had messages.
func (u *user) ownNicks() []string {
	if !u.lasting() || len(u.names) == 0 {
		return []string{irc.Lower(u.nick)}
	}
	var nicks []string
	for _, t := range u.names {
		if !slices.Contains(nicks, t.nick) {
			nicks = append(nicks, t.nick)
		}
	}
	return nicks
}

// changeNick gives a user that is here another nick, which nobody else has.
func (h *Hall) changeNick(u *user, nick string) {
	o := h.newOut(u, "NICK "+nick)
	h.eachNeighbour(u, o.to)
	u.eachClient(o.to)
	before, after := irc.Lower(u.nick), irc.Lower(nick)
	if before != after {
		h.remember(u)
		h.went(u.nick)
		delete(h.nicks, before)
	}
	u.rename(nick)
	if before == after {
		return
	}
	h.nicks[after] = u
	u.nickAt = h.at
	if u.lasting() {
		h.settle(u)
		h.came(u)
		return
	}
	if _, was := h.known[before]; was {
		h.known[before] = u.inbox
	}
	for _, m := range u.rooms {
		delete(m.room.absent, after)
	}
	h.takeWaiting(u)
	h.came(u)
	u.eachClient(func(c *Client) {
		h.stopCatchUp(c, nil)
		h.catchUpInbox(c)
	})
}
