package hall

import (
	"strconv"

	"interleave/papaya/irc"
)

// maxGone is how many of the users that have left WHOWAS finds at least, and twice as many are the
// most. A guess.
const maxGone = 1000

// A departed user is one that has left, for WHOWAS. A server remembers those that have left since
// its start; the state that is saved does not have them.
type departed struct {
	nick, name, host, real string
	at                     int64
}

// remember takes note that a user gives up its nick.
func (h *Hall) remember(u *user) {
	if len(h.departed) == 2*maxGone {
		h.departed = append(h.departed[:0], h.departed[maxGone:]...)
	}
	h.departed = append(h.departed, departed{u.nick, u.name, u.host, u.real, h.now})
}

// whowas answers WHOWAS, the latest user first. The second parameter bounds how many.
func (h *Hall) whowas(c *Client, m *irc.Message) Entry {
	nick, most := m.Param(0), len(h.departed)
	if n, err := strconv.Atoi(m.Param(1)); err == nil && n > 0 {
		most = n
	}
	found := 0
	for i := len(h.departed) - 1; i >= 0 && found < most; i-- {
		if d := h.departed[i]; irc.Lower(d.nick) == irc.Lower(nick) {
			found++
			h.num(c, irc.RPL_WHOWASUSER, d.nick+" "+d.name+" "+d.host+" * :"+d.real)
			h.num(c, irc.RPL_WHOISSERVER, d.nick+" "+h.config.Name+" :"+clock(d.at))
		}
	}
	if found == 0 {
		h.num(c, irc.ERR_WASNOSUCHNICK, middle(nick)+" :There was no such nickname")
	}
	h.num(c, irc.RPL_ENDOFWHOWAS, middle(nick)+" :End of WHOWAS")
	return Entry{}
}
