package hall

import (
	"strings"

	"interleave/papaya/irc"
)

// login logs a session of a guest in to an account (SASL or REGISTER after registration). A guest
// becomes the account's user. If that is here already, the session leaves the guest for it.
func (h *Hall) login(s *session, words string) {
	account, letter, _ := strings.Cut(words, "\n")
	u, role := s.user, parseRole(letter)
	if h.old {
		h.loginApart(u, account, role)
		h.tellAccount(u)
		return
	}
	switch a := h.present(account); {
	case account == "" || u.account != "" && !u.is(irc.Lower(account)): // Signed has refused it
	case u.account != "":
		u.role = role
	case a != nil:
		a.role = role
		h.move(s, a)
	default:
		waited := h.become(u, account)
		u.role = role
		h.tellAccount(u)
		h.makeWay(u)
		if waited {
			u.eachClient(h.catchUpInbox)
		}
	}
}

// become makes a guest the user of an account that is not here. The account's messages are the
// guest's from now on, and the guest's rooms are the account's. It says whether the account was
// used before, so that messages may wait for it.
func (h *Hall) become(u *user, account string) (waited bool) {
	folded := irc.Lower(account)
	delete(h.known, irc.Lower(u.nick))
	if a := h.accounts[folded]; a != nil {
		for _, t := range a.names {
			if t.until == 0 && h.held[t.nick] == a {
				delete(h.held, t.nick)
			}
		}
		u.names, u.inbox, waited = a.names, a.inbox, true
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

// move gives the session of a guest to the user of an account that is here. Others see the guest
// leave, and the client sees another nick and other rooms.
func (h *Hall) move(s *session, a *user) {
	guest, c := s.user, s.client
	if c != nil {
		for _, in := range guest.rooms {
			h.newOut(guest, "PART "+in.room.name).to(c)
		}
		h.newOut(guest, "NICK "+a.nick).to(c)
		h.stopCatchUp(c, nil)
	}
	h.vanish(guest, "Logged in as "+a.account, false)
	guest.sessions = nil
	s.user = a
	a.sessions = append(a.sessions, s)
	a.joinMarkers(guest.read)
	if c != nil {
		c.user = a
		h.catchUpInbox(c)
		h.showRooms(c)
	}
	h.updateAway(a)
}

// tellAccount tells the neighbours of a user its account.
func (h *Hall) tellAccount(u *user) {
	o := h.newOut(u, "ACCOUNT "+u.account)
	h.eachNeighbour(u, func(c *Client) {
		if c.caps&accountNotify != 0 {
			o.to(c)
		}
	})
}

// giveRole gives a user the role of an operator's account (OPER).
func (h *Hall) giveRole(u *user, words string) {
	account, role, _ := strings.Cut(words, "\n")
	u.role, u.oper = parseRole(role), irc.Lower(account)
}
