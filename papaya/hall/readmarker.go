package hall

import (
	"strings"
	"time"

	"interleave/papaya/irc"
)

// Read markers (draft/read-marker of IRCv3) say up to which time a user has read a room, or its
// conversation with a nick. All sessions of the user share them, and they only move forward, up to
// the present: one from the future would hide all messages until then.

// maxRead bounds the rooms and nicks that a user has a marker for. A guess.
const maxRead = 1000

// parseMarker parses the words of a MARKREAD that sets a marker.
func parseMarker(m *irc.Message) (target string, ms int64, ok bool) {
	target = m.Param(0)
	word, found := strings.CutPrefix(m.Param(1), "timestamp=")
	at, err := time.Parse(time.RFC3339Nano, word)
	ok = found && err == nil && (irc.IsRoom(target) || irc.IsNick(target))
	return target, at.UnixMilli(), ok
}

func asksMarker(_ *Hall, m *irc.Message) bool {
	_, _, ok := parseMarker(m)
	return !ok
}

// marker answers a MARKREAD without a time, or with a wrong one.
func (h *Hall) marker(c *Client, m *irc.Message) Entry {
	switch target := m.Param(0); {
	case target == "":
		h.fail(c, "MARKREAD", "NEED_MORE_PARAMS", "", "Missing parameters")
	case len(m.Params) > 1:
		h.fail(c, "MARKREAD", "INVALID_PARAMS", middle(target), "Invalid parameters")
	default:
		h.tellMarker(c, target)
	}
	return Entry{}
}

// setMarker moves a marker forward, and tells all sessions of the user. A session that wants to
// move it back is told where it is.
func (h *Hall) setMarker(s *session, m *irc.Message) {
	target, ms, ok := parseMarker(m)
	if !ok {
		return
	}
	ms = min(ms, h.now)
	u, folded := s.user, irc.Lower(target)
	switch before, was := u.read[folded]; {
	case was && ms <= before:
		h.tellMarker(s.client, target)
		return
	case !was && len(u.read) >= maxRead:
		h.fail(s.client, "MARKREAD", "INTERNAL_ERROR", target, "There are too many read markers")
		return
	case u.read == nil:
		u.read = map[string]int64{}
	}
	u.read[folded] = ms
	s.acted = h.now
	h.seen(u, folded, ms)
	u.eachClient(func(c *Client) {
		if c == s.client || c.caps&readMarker != 0 {
			h.tellMarker(c, target)
		}
	})
}

// tellMarker tells a client where the marker of a room or nick is.
func (h *Hall) tellMarker(c *Client, target string) {
	if c == nil {
		return
	}
	value := "*"
	if ms, was := c.user.read[irc.Lower(target)]; was {
		value = "timestamp=" + clock(ms)
	}
	h.say(c, "MARKREAD "+middle(target)+" "+value)
}

// joinMarkers gives a user the markers of another one, where those are further.
func (u *user) joinMarkers(other map[string]int64) {
	for target, ms := range other {
		if u.read == nil {
			u.read = map[string]int64{}
		}
		u.read[target] = max(ms, u.read[target])
	}
}
