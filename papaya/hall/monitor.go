package hall

import (
	"strconv"
	"strings"

	"interleave/papaya/irc"
)

// maxMonitor bounds the nicks that one client watches. A guess.
const maxMonitor = 100

// monitor obeys MONITOR of IRCv3: the client is told when nicks come and go.
func (h *Hall) monitor(c *Client, m *irc.Message) Entry {
	switch strings.ToUpper(m.Param(0)) {
	case "+":
		h.watch(c, m.Param(1))
	case "-":
		for nick := range strings.SplitSeq(m.Param(1), ",") {
			h.unwatch(c, irc.Lower(nick))
		}
	case "C":
		h.unwatchAll(c)
	case "L":
		h.listed(c, irc.RPL_MONLIST, sorted(c.watched))
		h.num(c, irc.RPL_ENDOFMONLIST, ":End of MONITOR list")
	case "S":
		h.presence(c, sorted(c.watched))
	}
	return Entry{}
}

func (h *Hall) watch(c *Client, targets string) {
	var fresh []string
	for nick := range strings.SplitSeq(targets, ",") {
		folded := irc.Lower(nick)
		switch {
		case nick == "":
		case !irc.IsNick(nick):
			h.num(c, irc.ERR_ERRONEUSNICKNAME, middle(nick)+" :Erroneous nickname")
		case len(c.watched) >= maxMonitor:
			h.presence(c, fresh)
			h.num(c, irc.ERR_MONLISTFULL, strconv.Itoa(maxMonitor)+" "+nick+
				" :Monitor list is full")
			return
		default:
			if c.watched == nil {
				c.watched = map[string]bool{}
			}
			if h.watchers[folded] == nil {
				h.watchers[folded] = map[*Client]bool{}
			}
			c.watched[folded], h.watchers[folded][c] = true, true
			fresh = append(fresh, nick)
		}
	}
	h.presence(c, fresh)
	for _, nick := range fresh {
		h.meetWatched(c, h.nicks[irc.Lower(nick)])
	}
}

func (h *Hall) unwatch(c *Client, folded string) {
	delete(c.watched, folded)
	if delete(h.watchers[folded], c); len(h.watchers[folded]) == 0 {
		delete(h.watchers, folded)
	}
}

func (h *Hall) unwatchAll(c *Client) {
	for nick := range c.watched {
		h.unwatch(c, nick)
	}
}

// eachObserver calls each once with every client of this server that hears of changes of a user and
// has all capabilities of want: those that share a room with it, and those that watch its nick with
// extended-monitor. The user's own clients are left out.
func (h *Hall) eachObserver(u *user, want caps, each func(c *Client)) {
	h.eachNeighbour(u, func(c *Client) {
		if c.caps&want == want {
			each(c)
		}
	})
	want |= extendedMonitor
	for c := range h.watchers[irc.Lower(u.nick)] {
		if c.caps&want == want && c.user != u && c.round != h.round {
			each(c)
		}
	}
}

// presence tells which of the nicks are here, and which are not.
func (h *Hall) presence(c *Client, nicks []string) {
	var here, gone []string
	for _, nick := range nicks {
		if u := h.nicks[irc.Lower(nick)]; u != nil {
			here = append(here, u.source)
		} else {
			gone = append(gone, nick)
		}
	}
	h.listed(c, irc.RPL_MONONLINE, here)
	h.listed(c, irc.RPL_MONOFFLINE, gone)
}

// listed sends words in as many lines as they need.
func (h *Hall) listed(c *Client, number string, words []string) {
	line := ""
	for _, w := range words {
		if line != "" && len(line)+len(w) > 380 {
			h.num(c, number, ":"+line[1:])
			line = ""
		}
		line += "," + w
	}
	if line != "" {
		h.num(c, number, ":"+line[1:])
	}
}

// came tells the clients that watch a nick that it is here.
func (h *Hall) came(u *user) {
	for c := range h.watchers[irc.Lower(u.nick)] {
		h.num(c, irc.RPL_MONONLINE, ":"+u.source)
		h.meetWatched(c, u)
	}
}

// meetWatched tells a client the metadata of a user that it watches with extended-monitor.
func (h *Hall) meetWatched(c *Client, u *user) {
	if u != nil && c.caps&extendedMonitor != 0 {
		h.meet(c, u.subject())
	}
}

// went tells the clients that watch a nick that it is gone.
func (h *Hall) went(nick string) {
	for c := range h.watchers[irc.Lower(nick)] {
		h.num(c, irc.RPL_MONOFFLINE, ":"+nick)
	}
}
