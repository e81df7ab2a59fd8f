package hall

// A user has the user name, host and real name of the session with which it came. An account that
// has stayed without one takes those of the next. Clients that know it are told (chghost and
// setname of IRCv3). All others are told nothing: the fallback, a QUIT and a JOIN, would show all
// of a room each time that a phone comes from another network, which always_on is there to hide.
// They see the host in the next line of the user.

// dress gives a user that is here another user name, host and real name.
func (h *Hall) dress(u *user, name, host, real string) {
	if name != u.name || host != u.host {
		h.tellChange(u, chghost, "CHGHOST "+name+" "+host)
		u.name, u.host = name, host
		u.rename(u.nick)
	}
	if real != u.real {
		u.real = real
		h.tellChange(u, setname, "SETNAME :"+real)
	}
}

// tellChange tells the observers of a user, and its own clients, of a change that they know.
func (h *Hall) tellChange(u *user, know caps, line string) {
	o := h.newOut(u, line)
	h.eachObserver(u, know, o.to)
	u.eachClient(func(c *Client) {
		if c.caps&know != 0 {
			o.to(c)
		}
	})
}

// tellDress tells a client whose session goes from one user to another the host of that, under its
// nick, which the client knows.
func (h *Hall) tellDress(c *Client, from, to *user) {
	if c.caps&chghost != 0 && (from.name != to.name || from.host != to.host) {
		before := &user{nick: to.nick, name: from.name, host: from.host, account: to.account}
		before.rename(to.nick)
		h.newOut(before, "CHGHOST "+to.name+" "+to.host).to(c)
	}
}
