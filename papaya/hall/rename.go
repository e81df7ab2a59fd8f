package hall

import "interleave/papaya/irc"

// renameAccount gives everything that an account has to its new name: its user with all sessions,
// and its rights and places in rooms. If its nick was its name, it becomes the new one, and whoever
// has that gives way. An order that comes twice changes nothing.
func (h *Hall) renameAccount(old, name string) {
	from, to := irc.Lower(old), irc.Lower(name)
	if from == "" || !mayBeNick(name) || from != to && h.accounts[to] != nil {
		return
	}
	if from != to {
		h.moveRights(from, to)
		h.renameBan(from, name)
	}
	for _, u := range h.nicks {
		if u.oper == from {
			u.oper = to
		}
	}
	for _, c := range h.clients { // those that have logged in, and not registered yet
		if c.user == nil && irc.Lower(c.account) == from {
			c.account = name
		}
	}
	u := h.accounts[from]
	if u == nil {
		return
	}
	delete(h.accounts, from)
	h.accounts[to] = u
	h.dropAliases(u)
	u.account = name
	h.noteAliases(u)
	h.tellAccount(u)
	u.eachClient(func(c *Client) {
		h.num(c, irc.RPL_LOGGEDIN, u.source+" "+name+" :You are now logged in as "+name)
	})
	h.claim(name, name, u) // it may always have its name
	delete(h.known, to)
	switch {
	case irc.Lower(u.nick) != from || u.nick == name:
	case h.here(u):
		h.changeNick(u, name)
	default:
		u.rename(name)
		h.settle(u)
	}
}

// moveRights gives the rights and places of an account in all rooms to another name, which has
// none.
func (h *Hall) moveRights(from, to string) {
	if n := h.founded[from]; n > 0 {
		delete(h.founded, from)
		h.founded[to] = n
	}
	for _, r := range h.rooms {
		if right, has := r.rights[from]; has {
			delete(r.rights, from)
			r.rights[to] = right
		}
		if r.founder == from {
			r.founder = to
		}
		if r.offered == from {
			r.offered = to
		}
		for _, list := range r.lists { // a ban of the account goes with it
			for i := range list {
				if irc.Lower(list[i].mask) == accountMask+from {
					list[i].mask = accountMask + to
				}
			}
		}
		if mark, away := r.absent[accountKey(from)]; away {
			delete(r.absent, accountKey(from))
			r.absent[accountKey(to)] = mark
		}
		if r.invited[accountKey(from)] {
			delete(r.invited, accountKey(from))
			r.invited[accountKey(to)] = true
		}
	}
}
