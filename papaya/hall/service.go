package hall

import (
	"slices"
	"strings"

	"interleave/papaya/irc"
)

// services are the nicks under which other networks have their accounts. People send passwords to
// them out of habit. So no user may have such a nick, and messages to them are not kept. Two of
// them answer here: NickServ (own.go) and ChanServ (founder.go).
var services = []string{"nickserv", "chanserv", "authserv", "userserv", "memoserv", "operserv",
	"hostserv"}

func isService(nick string) bool { return slices.Contains(services, irc.Lower(nick)) }

// mayBeNick says whether a user may have a nick.
func mayBeNick(nick string) bool { return irc.IsNick(nick) && !isService(nick) }

// isToNobody says whether a message is only for services, or for nicks that were never used. Such a
// message is not logged: it may be a password for a misspelt service.
func (h *Hall) isToNobody(m *irc.Message) bool {
	to, text := m.Param(0), m.Param(1)
	if to == "" || to[0] == '#' || text == "" {
		return false
	}
	for one := range strings.SplitSeq(to, ",") {
		if strings.HasPrefix(irc.RoomOf(one), "#") {
			return false
		}
		if h.isKnown(irc.Lower(one)) {
			return false
		}
	}
	return true
}

// toNobody answers such a message with an error, or for NickServ.
func (h *Hall) toNobody(c *Client, m *irc.Message) Entry {
	if h.full() && strings.EqualFold(m.Param(0), nickServ) && m.Command != "NOTICE" {
		return h.serve(c, m.Param(1))
	}
	if m.Command == "NOTICE" { // a NOTICE is never answered with an error
		return Entry{}
	}
	if h.full() && irc.Lower(m.Param(0)) == irc.Lower(chanServNick) {
		return h.chanServ(c, &irc.Message{Command: "CS", Params: strings.Fields(m.Param(1))})
	}
	for i, one := range strings.Split(m.Param(0), ",") {
		switch {
		case i == maxTargets:
			return Entry{}
		case isService(one):
			h.say(c, "NOTICE "+c.Nick()+" :There is no "+one+
				" here, and your message was not kept. For an account use SASL or REGISTER")
		case one != "":
			h.num(c, irc.ERR_NOSUCHNICK, middle(one)+" :No such nick/channel")
		}
	}
	return Entry{}
}
