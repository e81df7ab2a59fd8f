package hall

import (
	"slices"
	"strings"

	"interleave/papaya/irc"
)

// services are the nicks under which other networks have accounts. People tell them passwords out
// of habit, so nobody may have such a nick here, and what is said to them is not kept.
var services = []string{"nickserv", "chanserv", "authserv", "userserv", "memoserv", "operserv",
	"hostserv"}

func isService(nick string) bool { return slices.Contains(services, irc.Lower(nick)) }

// mayBeNick says whether somebody may be called so.
func mayBeNick(nick string) bool { return irc.IsNick(nick) && !isService(nick) }

// isToNobody says whether a message is for nobody: a service, or nicks that were never here. Such a
// one does not go into the log: it may be a password for a service that was misspelt.
func (h *Hall) isToNobody(m *irc.Message) bool {
	to, text := m.Param(0), m.Param(1)
	if to == "" || to[0] == '#' || text == "" {
		return false
	}
	for one := range strings.SplitSeq(to, ",") {
		if strings.HasPrefix(one, "#") {
			return false
		}
		folded := irc.Lower(one)
		if h.nicks[folded] != nil || h.known[folded] != nil {
			return false
		}
	}
	return true
}

// toNobody answers such a message.
func (h *Hall) toNobody(c *Client, m *irc.Message) Entry {
	if m.Command == "NOTICE" { // which is never answered with an error
		return Entry{}
	}
	for i, one := range strings.Split(m.Param(0), ",") {
		switch {
		case i == maxTargets:
			return Entry{}
		case isService(one):
			h.say(c, "NOTICE "+c.Nick()+" :There is no "+one+
				" here, and nothing of what you said was kept. Accounts: SASL, or REGISTER")
		case one != "":
			h.num(c, irc.ERR_NOSUCHNICK, shown(one)+" :No such nick/channel")
		}
	}
	return Entry{}
}
