package hall

import (
	"strconv"
	"strings"

	"interleave/papaya/irc"
)

// asksMode says whether a MODE is a question: for a user's own modes or another's, a room's modes,
// or its lists.
func asksMode(h *Hall, m *irc.Message) bool {
	word := strings.TrimLeft(m.Param(1), "+")
	if room := m.Param(0) != "" && m.Param(0)[0] == '#'; !room {
		return len(m.Params) == 1 || h.nicks[irc.Lower(m.Param(0))] == nil
	}
	return len(m.Params) == 1 || len(m.Params) == 2 && (word == "" || asksList(word))
}

// mode answers MODE questions: the modes of a room or of the user, and lists.
func (h *Hall) mode(c *Client, m *irc.Message) Entry {
	target := m.Param(0)
	if target == "" || target[0] != '#' {
		if h.nicks[irc.Lower(target)] == nil {
			h.num(c, irc.ERR_NOSUCHNICK, middle(target)+" :No such nick/channel")
		} else if irc.Lower(target) != irc.Lower(c.user.nick) {
			h.num(c, irc.ERR_USERSDONTMATCH, ":Cannot change mode for other users")
		} else {
			h.num(c, irc.RPL_UMODEIS, c.user.modes())
		}
		return Entry{}
	}
	r := h.rooms[irc.Lower(target)]
	in := c.user.in(r)
	switch {
	case r == nil || r.hidden() && in == nil:
		h.num(c, irc.ERR_NOSUCHCHANNEL, middle(target)+" :No such channel")
	case strings.Trim(m.Param(1), "+") != "" && in == nil:
		h.num(c, irc.ERR_NOTONCHANNEL, r.name+" :You're not on that channel")
	case strings.Trim(m.Param(1), "+") != "":
		h.sendLists(c, r, strings.TrimLeft(m.Param(1), "+"))
	default:
		h.num(c, irc.RPL_CHANNELMODEIS, r.name+" "+r.modeLine(in != nil))
		h.num(c, irc.RPL_CREATIONTIME, r.name+" "+strconv.FormatInt(r.created/1000, 10))
	}
	return Entry{}
}

// modeLetters are the modes of a room that have no parameter. Older versions had usualModes only.
const (
	modeLetters = "C" + "M" + usualModes
	usualModes  = "imnst"
)

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

// modes returns a user's own modes.
func (u *user) modes() string {
	line := "+"
	for _, letter := range []byte(styleLetters) {
		if u.styles[letter] {
			line += string(letter)
		}
	}
	if u.invisible {
		line += "i"
	}
	if u.role.runs() {
		line += "o"
	}
	return line
}

// setUserMode changes a user's own modes. With -o a user gives up its role until the next login;
// nobody gets one by +o.
func (h *Hall) setUserMode(s *session, m *irc.Message) {
	u := s.user
	if h.nicks[irc.Lower(m.Param(0))] != u {
		h.num(s.client, irc.ERR_USERSDONTMATCH, ":Cannot change mode for other users")
		return
	}
	done, sign, unknown := change{}, byte('+'), false
	for _, letter := range []byte(m.Param(1)) {
		switch letter {
		case '+', '-':
			sign = letter
		case 'i':
			if on := sign == '+'; u.invisible != on {
				u.invisible = on
				done.add(sign, letter, "")
			}
		case 'o':
			if sign == '-' && u.role.runs() {
				u.role, u.oper = Member, ""
				done.add(sign, letter, "")
			}
		default:
			if h.few || strings.IndexByte(styleLetters, letter) < 0 {
				unknown = true
			} else if on := sign == '+'; u.styles[letter] != on {
				u.setStyle(letter, on)
				done.add(sign, letter, "")
			}
		}
	}
	if done.letters != "" {
		u.eachClient(h.newOut(u, "MODE "+u.nick+" "+done.letters).to)
	}
	if unknown {
		h.num(s.client, irc.ERR_UMODEUNKNOWNFLAG, ":Unknown MODE flag")
	}
}

func (h *Hall) setMode(s *session, m *irc.Message) {
	if m.Param(0) != "" && m.Param(0)[0] != '#' {
		h.setUserMode(s, m)
		return
	}
	r, in := h.membership(s, m.Param(0))
	if r == nil {
		return
	}
	if !in.op {
		h.num(s.client, irc.ERR_CHANOPRIVSNEEDED, r.name+" :You're not channel operator")
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
		case 'k':
			h.setKey(r, sign, next(), &done)
		case 'l':
			setLimit(r, sign, next, &done)
		case 'o', 'v':
			h.setRight(s, r, sign, letter, next(), &done)
		default:
			switch {
			case h.hasMode(letter):
				h.setPlain(r, sign, letter, &done)
			case h.hasList(letter):
				h.setList(s, r, sign, letter, next(), &done)
			default:
				h.num(s.client, irc.ERR_UNKNOWNMODE, string(rune(letter))+
					" :is unknown mode char to me")
			}
		}
	}
	if done.letters != "" {
		h.tellAll(r, h.newOut(s.user, "MODE "+r.name+" "+done.letters+done.words))
	}
}

// hasMode says whether a room has a mode without a parameter.
func (h *Hall) hasMode(letter byte) bool {
	if h.few {
		return strings.IndexByte(usualModes, letter) >= 0
	}
	return strings.IndexByte(modeLetters, letter) >= 0
}

// setPlain sets a mode without a parameter. Users outside may write in a room only if an operator
// has said so by -n: in older versions they could not, whatever the mode was.
func (h *Hall) setPlain(r *room, sign, letter byte, done *change) {
	on := sign == '+'
	opens := letter == 'n' && !h.few && r.open == on
	if opens {
		r.open = !on
	}
	if opens || r.modes[letter] != on {
		r.modes[letter] = on
		done.add(sign, letter, "")
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

// setRight makes a member operator or gives it voice. An account keeps the right.
func (h *Hall) setRight(s *session, r *room, sign, letter byte, word string, done *change) {
	to := h.nicks[irc.Lower(word)].in(r)
	if word == "" {
		return
	}
	if h.nicks[irc.Lower(word)] == nil {
		h.num(s.client, irc.ERR_NOSUCHNICK, middle(word)+" :No such nick/channel")
		return
	}
	if to == nil {
		h.num(s.client, irc.ERR_USERNOTINCHANNEL, middle(word)+" "+r.name+
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
