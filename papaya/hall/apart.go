package hall

import "interleave/papaya/irc"

// Before format 2 of a batch, each connection was a user of its own, also that of an account, and a
// nick belonged to the account that had used it first. After a crash of such a version its batches
// are still in the log. They are applied by its rules, or the text would become another one: a
// connection with an account is then a user apart. It ends with its server's run at the latest, and
// what it has is the account's from then on.

// keepApart keeps the nick of a user apart for its account, unless it is another one's.
func (h *Hall) keepApart(u *user) {
	folded := irc.Lower(u.nick)
	if h.held[folded] != nil {
		return
	}
	a := h.accountUser(u.account, u.nick)
	h.held[folded] = a
	a.names = append(a.names, tenure{nick: folded, from: h.at})
	h.noteAliases(a)
	delete(h.known, folded)
}

// leaveApart tells the account up to where a user apart has received messages, when it is the last
// one of the account. Until then another one remembers it, so that nothing is missed.
func (h *Hall) leaveApart(u *user) {
	h.aparts--
	for _, nick := range sorted(h.nicks) {
		if other := h.nicks[nick]; other != u && other.apart && other.is(irc.Lower(u.account)) {
			other.inbox = min(other.inbox, u.inbox)
			return
		}
	}
	if a := h.accounts[irc.Lower(u.account)]; a != nil {
		a.inbox = u.inbox
	}
}

// loginApart logs a connection in by the rules of the older version.
func (h *Hall) loginApart(u *user, account string, role Role) {
	switch {
	case account == "", u.lasting(): // it came by today's rules, and has its account
		return
	case !u.apart:
		u.apart = true
		h.aparts++
	}
	u.account, u.role = account, role
	h.keepApart(u)
}

// endApart ends the users apart of an account, which comes by today's rules.
func (h *Hall) endApart(folded string) {
	if h.aparts == 0 {
		return
	}
	for _, nick := range sorted(h.nicks) {
		if u := h.nicks[nick]; u != nil && u.apart && u.is(folded) {
			h.depart(u, "The account has connected again")
		}
	}
}
