package hall

import (
	"slices"
	"strconv"
	"strings"

	"interleave/papaya/irc"
)

// asksMode says whether a MODE is a question: for a user's own modes (there are none), a room's
// modes, or its bans.
func asksMode(_ *Hall, m *irc.Message) bool {
	word := strings.TrimLeft(m.Param(1), "+")
	return len(m.Params) == 1 || m.Param(0) == "" || m.Param(0)[0] != '#' || len(m.Params) == 2 &&
		(word == "b" || word == "")
}

// maxChanges is how many modes with a parameter one line may change, as on other servers.
const maxChanges = 12

// A change is the effect of a MODE, as the room is told.
type change struct {
	letters, words string
	sign           byte
	n              int
}

func (ch *change) add(sign, letter byte, word string) {
	if ch.sign != sign {
		ch.letters += string(sign)
		ch.sign = sign
	}
	ch.letters += string(letter)
	if word != "" {
		ch.words += " " + word
	}
}

func (h *Hall) setMode(u *user, m *irc.Message) {
	r, in := h.membership(u, m.Param(0))
	if r == nil {
		return
	}
	if !in.op {
		h.num(u.client, irc.ERR_CHANOPRIVSNEEDED, r.name+" :You're not channel operator")
		return
	}
	done, words, sign := change{}, m.Params[2:], byte('+')
	next := func() string {
		if len(words) == 0 || done.n >= maxChanges {
			return ""
		}
		w := words[0]
		words = words[1:]
		done.n++
		return w
	}
	for _, letter := range []byte(m.Param(1)) {
		switch letter {
		case '+', '-':
			sign = letter
		case 'i', 'm', 'n', 't':
			if on := sign == '+'; r.modes[letter] != on {
				r.modes[letter] = on
				done.add(sign, letter, "")
			}
		case 'k':
			h.setKey(r, sign, next(), &done)
		case 'l':
			setLimit(r, sign, next, &done)
		case 'b':
			h.setBan(u, r, sign, next(), &done)
		case 'o', 'v':
			h.setRight(u, r, sign, letter, next(), &done)
		default:
			h.num(u.client, irc.ERR_UNKNOWNMODE, string(rune(letter))+
				" :is unknown mode char to me")
		}
	}
	if done.letters != "" {
		h.tellAll(r, h.newOut(u, "MODE "+r.name+" "+done.letters+done.words))
	}
}

func (h *Hall) setKey(r *room, sign byte, word string, done *change) {
	switch {
	case sign == '-' && r.key != "":
		done.add('-', 'k', "*")
		r.key = ""
	case sign == '+' && word != "" && len(word) <= maxKey && !strings.ContainsAny(word, " ,:"):
		r.key = word
		done.add('+', 'k', word)
	}
}

func setLimit(r *room, sign byte, next func() string, done *change) {
	if sign == '-' {
		if r.limit > 0 {
			r.limit = 0
			done.add('-', 'l', "")
		}
		return
	}
	word := next()
	if n, err := strconv.Atoi(word); err == nil && n > 0 {
		r.limit = n
		done.add('+', 'l', strconv.Itoa(n))
	}
}

func (h *Hall) setBan(u *user, r *room, sign byte, word string, done *change) {
	if word == "" || strings.ContainsAny(word, " ") {
		return
	}
	mask := irc.FullMask(truncate(word, 100))
	at := slices.IndexFunc(r.bans, func(b ban) bool { return irc.Lower(b.mask) == irc.Lower(mask) })
	switch {
	case sign == '-' && at >= 0:
		r.bans = slices.Delete(r.bans, at, at+1)
	case sign == '+' && at < 0 && len(r.bans) >= maxBans:
		h.num(u.client, irc.ERR_BANLISTFULL, r.name+" "+mask+" :Channel ban list is full")
		return
	case sign == '+' && at < 0:
		r.bans = append(r.bans, ban{mask: mask, by: u.nick, at: h.now})
	default:
		return
	}
	done.add(sign, 'b', mask)
}

// setRight makes a member operator or gives it voice. An account keeps the right.
func (h *Hall) setRight(u *user, r *room, sign, letter byte, word string, done *change) {
	to := h.nicks[irc.Lower(word)].in(r)
	if word == "" {
		return
	}
	if to == nil {
		h.num(u.client, irc.ERR_USERNOTINCHANNEL, middle(word)+" "+r.name+
			" :They aren't on that channel")
		return
	}
	which := &to.op
	if letter == 'v' {
		which = &to.voice
	}
	if *which == (sign == '+') {
		return
	}
	*which = sign == '+'
	done.add(sign, letter, to.user.nick)
	if account := irc.Lower(to.user.account); account != "" {
		switch {
		case to.op:
			r.rights[account] = 'o'
		case to.voice:
			r.rights[account] = 'v'
		default:
			delete(r.rights, account)
		}
	}
}
