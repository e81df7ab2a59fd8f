package hall

import (
	"slices"
	"strconv"
	"strings"

	"interleave/papaya/irc"
)

// listLetters are the modes of a room that are lists of masks: bans (b), exceptions from bans and
// quiets (e), masks that need no invitation (I), and masks that may join, but not talk (q).
const listLetters = "beIq"

// maxMask is in bytes. A guess.
const maxMask = 100

// A ban is one mask of a list.
type ban struct {
	mask, by string
	at       int64
}

// listReplies are the numerics of each list: for a mask and for the end. A quiet list has its
// letter in both, as on the servers that have invented it.
var listReplies = map[byte]struct{ mask, end, word, name string }{
	'b': {irc.RPL_BANLIST, irc.RPL_ENDOFBANLIST, "", "ban"},
	'e': {irc.RPL_EXCEPTLIST, irc.RPL_ENDOFEXCEPTLIST, "", "exception"},
	'I': {irc.RPL_INVEXLIST, irc.RPL_ENDOFINVEXLIST, "", "invite exception"},
	'q': {irc.RPL_QUIETLIST, irc.RPL_ENDOFQUIETLIST, " q", "quiet"},
}

// hasList says whether a mode is a list. Older versions had bans only.
func (h *Hall) hasList(letter byte) bool {
	return letter == 'b' || !h.bare && strings.IndexByte(listLetters, letter) >= 0
}

// asksList says whether the second word of a MODE, without its sign, asks for lists.
func asksList(word string) bool {
	return word != "" && strings.Trim(word, listLetters) == ""
}

// sendLists answers a question for lists, each once.
func (h *Hall) sendLists(c *Client, r *room, letters string) {
	for i, letter := range []byte(letters) {
		if strings.IndexByte(letters[:i], letter) >= 0 {
			continue
		}
		reply := listReplies[letter]
		for _, b := range r.lists[letter] {
			h.num(c, reply.mask, r.name+reply.word+" "+b.mask+" "+b.by+" "+
				strconv.FormatInt(b.at/1000, 10))
		}
		h.num(c, reply.end, r.name+reply.word+" :End of channel "+reply.name+" list")
	}
}

// The beginnings of masks of an extended kind; no nick begins with ~.
const (
	accountMask = "~a:" // of accounts: ~a:ann, ~a:* (account-extban of IRCv3)
	muteMask    = "~m:" // in +b: may join, but not talk; in +e: is not silenced
)

// listMask returns the form in which a mask is kept. It returns false if it is no mask.
func listMask(word string) (string, bool) {
	word = truncate(word, maxMask)
	if !strings.HasPrefix(word, "~") {
		return irc.FullMask(word), true
	}
	kind, rest, _ := strings.Cut(word, ":")
	switch kind = strings.ToLower(kind) + ":"; {
	case rest == "":
		return word, false
	case kind == accountMask:
		return kind + rest, true
	case kind == muteMask:
		return kind + irc.FullMask(rest), true
	}
	return word, false
}

// matches says whether a mask is one of the user, or of its account. Those of mutes are not.
func (u *user) matches(mask string) bool {
	if account, is := strings.CutPrefix(mask, accountMask); is {
		return u.account != "" && irc.Match(account, u.account)
	}
	return irc.Match(mask, u.source)
}

// listed says whether a list has a mask of the user.
func (r *room) listed(letter byte, u *user) bool {
	return slices.ContainsFunc(r.lists[letter], func(b ban) bool { return u.matches(b.mask) })
}

// banned says whether a user may not join the room.
func (r *room) banned(u *user) bool { return r.listed('b', u) && !r.listed('e', u) }

// mutes says whether a list has a mask of the user's that is about talking only.
func (r *room) mutes(letter byte, u *user) bool {
	return slices.ContainsFunc(r.lists[letter], func(b ban) bool {
		mask, is := strings.CutPrefix(b.mask, muteMask)
		return is && irc.Match(mask, u.source)
	})
}

// silenced says whether a user without +o and +v may not talk.
func (r *room) silenced(u *user) bool {
	return (r.listed('b', u) || r.listed('q', u) || r.mutes('b', u)) && !r.listed('e', u) &&
		!r.mutes('e', u)
}

// setList adds a mask to a list, or removes it.
func (h *Hall) setList(s *session, r *room, sign, letter byte, word string, done *change) {
	if word == "" || strings.Contains(word, " ") {
		return
	}
	mask, ok := listMask(word)
	if h.bare {
		mask, ok = irc.FullMask(truncate(word, maxMask)), true
	}
	if strings.HasPrefix(mask, muteMask) && (h.few || letter != 'b' && letter != 'e') {
		ok = false
	}
	switch {
	case mask[0] == ':' && !h.bare: // it would be the last word of each line with it
		return
	case !ok:
		h.num(s.client, irc.ERR_INVALIDMODEPARAM, r.name+" "+string(rune(letter))+" "+word+
			" :There is no such kind of mask: ~a:ACCOUNT, and in +b and +e ~m:MASK")
		return
	}
	list, all := r.lists[letter], 0
	for _, l := range r.lists {
		all += len(l)
	}
	at := slices.IndexFunc(list, func(b ban) bool { return irc.Lower(b.mask) == irc.Lower(mask) })
	switch {
	case sign == '-' && at >= 0:
		r.lists[letter] = slices.Delete(list, at, at+1)
	case sign == '+' && at < 0 && all >= maxLists:
		h.num(s.client, irc.ERR_BANLISTFULL, r.name+" "+mask+" :The channel's lists are full")
		return
	case sign == '+' && at < 0:
		r.lists[letter] = append(list, ban{mask: mask, by: s.user.nick, at: h.now})
	default:
		return
	}
	done.add(sign, letter, mask)
}
