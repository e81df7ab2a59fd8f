package hall

import "interleave/papaya/irc"

// oper gives a user the role of the account of an operator or administrator (OPER), but not the
// account. There are no other operators, so whoever takes the role from the account takes it from
// such users, too.
func (h *Hall) oper(c *Client, m *irc.Message) Entry {
	switch {
	case c.Open:
		h.num(c, irc.ERR_NOOPERHOST, ":Passwords need TLS")
	case h.config.Sign == nil:
		h.num(c, irc.ERR_NOOPERHOST, ":This server has no accounts")
	case c.signing:
		h.num(c, irc.ERR_NOOPERHOST, ":A login is under way")
	default:
		c.signing, c.opering = true, true
		h.config.Sign.Plain(c, m.Param(0), m.Param(1))
	}
	return Entry{}
}

// opered takes the outcome of OPER.
func (h *Hall) opered(c *Client, account string, role Role, why string) (Entry, bool) {
	switch {
	case why != "":
		h.num(c, irc.ERR_PASSWDMISMATCH, ":"+why)
	case !role.runs():
		h.num(c, irc.ERR_NOOPERHOST, ":The account is no operator's")
	default:
		h.num(c, irc.RPL_YOUREOPER, ":You are now an IRC operator")
		h.say(c, "MODE "+c.user.nick+" +o")
		return Entry{Client: c.ID, Kind: Oper, Data: []byte(account + "\n" + role.Letter())},
			true
	}
	return Entry{}, false
}
