package client

import (
	"strconv"
	"strings"
	"time"

	"interleave/papaya/irc"
)

// botTag marks what bots send (bot mode of IRCv3).
const botTag = "bot"

// Operators of a room keep people out of it by masks in lists.

// lists are the lists of a room by the numeric of their masks.
var lists = map[string]string{irc.RPL_BANLIST: "banned", irc.RPL_EXCEPTLIST: "exception",
	irc.RPL_INVEXLIST: "invited", irc.RPL_QUIETLIST: "quiet"}

// onMask shows a mask of a list, with who has set it, and when.
func (s *Session) onMask(l line) {
	about := l.Params[min(2, len(l.Params)):]
	if l.Command == irc.RPL_QUIETLIST && len(about) > 0 {
		about = about[1:] // it has the letter of its list before the mask
	}
	if len(about) == 0 {
		return
	}
	text := lists[l.Command] + " in " + l.Param(1) + ": " + about[0]
	if len(about) > 1 {
		by, _, _ := irc.SplitMask(about[1])
		text += ", by " + by
	}
	if len(about) > 2 {
		if seconds, err := strconv.ParseInt(about[2], 10, 64); err == nil {
			text += ", " + time.Unix(seconds, 0).UTC().Format("2006-01-02 15:04 UTC")
		}
	}
	s.Note(s.active, Answer, text)
}

// BanMasks returns the masks by which somebody may be banned, the best one first: a mask as it is,
// the host of a member, so that another nick does not help, and the nick.
func (s *Session) BanMasks(r *Room, who string) []string {
	if strings.ContainsAny(who, "!@*~:.") {
		return []string{who}
	}
	nick := who + "!*@*"
	if host := r.Members[s.Fold(who)].Host; host != "" {
		return []string{"*!*@" + host, nick}
	}
	return []string{nick}
}

// member is a member who has just joined.
func (l line) member() Member {
	nick, _, host := irc.SplitMask(l.Source)
	_, bot := l.Tags[botTag]
	return Member{Nick: nick, Host: host, Bot: bot}
}
