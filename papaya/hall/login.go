package hall

import (
	"slices"
	"strings"

	"interleave/papaya/irc"
)

// login logs a session in to an account (SASL or REGISTER after registration). A guest becomes the
// account's user. If that is here already, or the session has another account, it leaves its user
// for that of the account.
func (h *Hall) login(s *session, words string) {
	said := append(strings.Split(words, "\n"), "", "")
	u, account, role, stays := s.user, said[0], roleOf(said[1]), strings.Contains(said[2], "+")
	if h.old {
		h.loginApart(u, account, role)
		h.tellAccount(u)
		return
	}
	if b, banned := h.bannedAccount(account); banned {
		h.castSession(s, b)
		return
	}
	switch a := h.present(account); {
	case account == "":
	case u.is(irc.Lower(account)):
		u.role, u.stays = role, stays
	case a == nil && u.account == "":
		waited := h.become(u, account)
		u.role, u.stays = role, stays
		h.tellAccount(u)
		h.makeWay(u)
		if waited {
			u.eachClient(h.catchUpInbox)
		}
	default:
		if a == nil {
			a = h.beside(u, account)
		}
		a.role, a.stays = role, stays
		h.move(s, a)
		h.makeWay(a)
		if b, banned := h.bannedSource(a.nick, a.name, s.host); banned {
			h.castSession(s, b)
			return
		}
	}
	if s.client != nil {
		h.greetOperator(s.client)
	}
}

// beside shows the user of an account that is not here, for a session of another one.
func (h *Hall) beside(u *user, account string) *user {
	h.claim(account, account, nil) // it may always have its name
	a := h.newUser(account, account)
	a.name, a.host, a.real = u.name, u.host, u.real
	h.appear(a, account)
	h.came(a)
	return a
}

// become makes a guest the user of an account that is not here. The account's messages are the
// guest's from now on, and the guest's rooms are the account's. It says whether the account was
// used before, so that messages may wait for it.
func (h *Hall) become(u *user, account string) (waited bool) {
	folded := irc.Lower(account)
	delete(h.known, irc.Lower(u.nick))
	if a := h.accounts[folded]; a != nil {
		h.dropAliases(a)
		for _, t := range a.names {
			if t.until == 0 && h.held[t.nick] == a {
				delete(h.held, t.nick)
			}
		}
		u.names, u.inbox, u.talks, waited = a.names, a.inbox, a.talks, true
		u.styles, u.accepts, u.facts = a.styles, a.accepts, a.facts
		u.joinMarkers(a.read)
	}
	u.account = account
	h.accounts[folded] = u
	h.settle(u)
	for _, in := range u.rooms {
		if mark, was := in.room.absent[u.key()]; was {
			in.mark = max(in.mark, mark)
			delete(in.room.absent, u.key())
		}
	}
	return waited
}

// move gives the session of a user to that of another account, which is here. Others see the user
// leave if this was its last session. The client sees another nick and other rooms.
func (h *Hall) move(s *session, a *user) {
	from, c := s.user, s.client
	if c != nil {
		for _, in := range from.rooms {
			h.newOut(from, "PART "+in.room.name).to(c)
		}
		h.newOut(from, "NICK "+a.nick).to(c)
		h.tellDress(c, from, a)
		c.backlogs = nil
	}
	if from.endsWithOne() {
		h.vanish(from, "Logged in as "+a.account, from.account != "")
	}
	from.sessions = slices.DeleteFunc(from.sessions, func(o *session) bool { return o == s })
	s.user = a
	a.sessions = append(a.sessions, s)
	if c != nil {
		for _, in := range from.rooms {
			in.room.hide(c)
		}
		c.user = a
		h.catchUpInbox(c)
		h.showRooms(c)
	}
	switch {
	case from.account == "":
		a.joinMarkers(from.read)
	case h.here(from):
		if len(from.sessions) == 0 {
			from.left = h.now
		}
		h.updateAway(from)
	default:
		from.away, from.left = "", h.now
	}
	h.updateAway(a)
}

// tellAccount tells the observers of a user its account.
func (h *Hall) tellAccount(u *user) {
	h.eachObserver(u, accountNotify, h.newOut(u, "ACCOUNT "+u.account).to)
}

// giveRole gives a user the role of an operator's account (OPER).
func (h *Hall) giveRole(u *user, words string) {
	account, role, _ := strings.Cut(words, "\n")
	if b, banned := h.bannedAccount(account); banned {
		h.cast(u, b)
		return
	}
	u.role, u.oper = roleOf(role), irc.Lower(account)
	u.eachClient(h.greetOperator)
}
