package hall

import (
	"fmt"
	"strconv"
	"strings"

	"interleave/papaya/irc"
)

// A lag is a room in which a client still gets missed messages. Only those before the offset at
// were sent; newer ones do not count as received. The inbox is the room *.
type lag struct {
	room string
	at   uint64
}

// Owes says whether a client was sent messages that it has neither confirmed nor been asked about.
func (h *Hall) Owes(c *Client) bool {
	return c.user != nil && !c.closed && c.asked == 0 && c.sent > c.had
}

// Ask sends a PING to a client that was sent messages, unless one is not answered yet. Its answer
// confirms them.
func (h *Hall) Ask(c *Client) {
	if !h.Owes(c) {
		return
	}
	c.asked, c.askedLag = h.at, c.lags()
	c.asks++
	c.write([]byte("PING :" + strconv.FormatUint(c.asks, 36) + "\r\n"))
}

// lags lists the rooms in which a client still gets missed messages.
func (c *Client) lags() []lag {
	var out []lag
	for _, k := range c.backlogs {
		out = append(out, lag{k.name, k.cursor})
	}
	return out
}

// pong takes the answer to Ask, which has its number. Any other PONG changes nothing.
func (h *Hall) pong(c *Client, m *irc.Message) Entry {
	n, err := strconv.ParseUint(m.Last(), 36, 64)
	if c.user != nil && err == nil && c.asked != 0 && n == c.asks {
		c.had, c.asked, c.marked = c.asked, 0, true
	}
	return Entry{}
}

// Marked returns an entry with the confirmed offset, if that has changed since the last call.
func (h *Hall) Marked(c *Client) (Entry, bool) {
	if !c.marked || c.user == nil || c.closed {
		return Entry{}, false
	}
	c.marked = false
	return Entry{Client: c.ID, Kind: Marks, Data: append(strconv.AppendUint(nil, c.had, 36),
		formatLags(c.askedLag)...)}, true
}

func formatLags(lags []lag) string {
	var b strings.Builder
	for _, l := range lags {
		fmt.Fprintf(&b, " %s@%s", l.room, strconv.FormatUint(l.at, 36))
	}
	return b.String()
}

// parseLags parses " room@offset ...". The last @ counts, since a name may contain one.
func parseLags(text string) map[string]uint64 {
	out := map[string]uint64{}
	for word := range strings.FieldsSeq(text) {
		if i := strings.LastIndexByte(word, '@'); i >= 0 {
			if at, err := strconv.ParseUint(word[i+1:], 36, 64); err == nil {
				out[word[:i]] = at
			}
		}
	}
	return out
}

// mark applies what a user has confirmed.
func (h *Hall) mark(u *user, data []byte) {
	place, rest, _ := strings.Cut(string(data), " ")
	if at, err := strconv.ParseUint(place, 36, 64); err == nil {
		u.had(at, parseLags(rest))
	}
}

// had moves the marks of all rooms to an offset that a session has confirmed, except in rooms where
// that session lags.
func (u *user) had(at uint64, lags map[string]uint64) {
	move := func(mark *uint64, behind uint64, lagging bool) {
		if !lagging {
			behind = at
		}
		*mark = max(*mark, behind)
	}
	behind, lagging := lags["*"]
	move(&u.inbox, behind, lagging)
	for _, in := range u.rooms {
		behind, lagging := in.room.lagIn(lags)
		move(&in.mark, behind, lagging)
	}
}

// Ended returns the entry for a connection that has ended. If it has ended in order, everything
// that was sent counts as received. A client that is not registered is removed at once, without an
// entry.
func (h *Hall) Ended(c *Client, inOrder bool, why string) (Entry, bool) {
	if c.closed {
		return Entry{}, false
	}
	if c.user == nil && !c.entering {
		h.close(c, why)
		return Entry{}, false
	}
	sign := "-"
	if inOrder {
		sign = "+"
	}
	words := sign + formatLags(c.lags())
	delete(h.behind, c)
	return Entry{Client: c.ID, Kind: End, Data: []byte(words + "\n" + why)}, true
}

// end ends a session whose connection has ended.
func (h *Hall) end(s *session, data []byte) {
	words, why, _ := strings.Cut(string(data), "\n")
	if strings.HasPrefix(words, "+") {
		s.user.had(h.at, parseLags(words[1:]))
	}
	h.hangUp(s, truncate(why, maxTopic))
}
