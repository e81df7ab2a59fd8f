package hall

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"interleave/papaya/irc"
)

// A room that an account has made has a founder, who is always its operator. Such a room stays when
// its last member has left, with its topic, modes, lists and messages, until the founder drops it.
// The commands are those of the service ChanServ on other networks: CS, CHANSERV, and messages to
// ChanServ.

// maxFounded bounds the rooms of one founder. A guess.
const maxFounded = 100

// chanServNick is the source of the answers.
const chanServNick = "ChanServ"

func newRoom(name string, now int64, since uint64) *room {
	return &room{name: name, created: now, since: since, named: since, modes: map[byte]bool{},
		lists: map[byte][]ban{}, rights: map[string]byte{}, invited: map[string]bool{},
		absent: map[string]uint64{}, taken: map[string]bool{}}
}

// setFounder gives a room a founder, or none if account is empty. It returns false if the account
// has too many rooms.
func (h *Hall) setFounder(r *room, account string) bool {
	if account != "" && h.founded[account] >= maxFounded && !h.bare {
		return false
	}
	if r.founder != "" {
		if h.founded[r.founder]--; h.founded[r.founder] == 0 {
			delete(h.founded, r.founder)
		}
	}
	if r.founder, r.offered = account, ""; account != "" {
		h.founded[account]++
	}
	return true
}

// founded says whether the user is the founder of a room.
func (u *user) founded(r *room) bool { return u.account != "" && u.is(r.founder) }

// The words of CS that change whose a room is. The name of the room follows.
const (
	csRegister = "REGISTER" // by an operator of a room without a founder
	csTransfer = "TRANSFER" // to an account, which must accept it
	csAccept   = "ACCEPT"
	csDrop     = "DROP"
)

var csHelp = []string{
	"A room that you have made while logged in is yours: it stays when nobody is in it.",
	"CS REGISTER #room - makes a room yours that has no founder, and whose operator you are",
	"CS INFO #room - whose it is",
	"CS LIST - your rooms",
	"CS TRANSFER #room ACCOUNT - offers it to another account; to your own: takes the offer back",
	"CS ACCEPT #room - takes a room that was offered to you",
	"CS DROP #room - gives it up: it ends when the last member leaves",
}

// chanServ answers CS. A change of a room is an entry for the log, with no other words of the line:
// people have sent passwords to the services of other networks.
func (h *Hall) chanServ(c *Client, m *irc.Message) Entry {
	if !h.full() {
		h.num(c, irc.ERR_UNKNOWNCOMMAND, m.Command+" :Unknown command")
		return Entry{}
	}
	verb, rest := strings.ToUpper(m.Param(0)), m.Params[min(1, len(m.Params)):]
	if verb == csTransfer && len(rest) > 0 && strings.EqualFold(rest[0], csAccept) {
		verb, rest = csAccept, rest[1:] // as Ergo has it
	}
	if verb == "UNREGISTER" {
		verb = csDrop
	}
	words := irc.Message{Params: rest}
	name, other := words.Param(0), words.Param(1)
	switch {
	case verb == "LIST":
		h.listFounded(c)
	case verb == "INFO" && name != "":
		h.roomInfo(c, name)
	case verb == csTransfer && irc.IsRoom(name) && irc.IsNick(other),
		(verb == csRegister || verb == csAccept) && irc.IsRoom(name):
		if verb != csTransfer {
			other = ""
		}
		return h.founderEntry(c, verb, name, other)
	case verb == csDrop && irc.IsRoom(name):
		if r := h.rooms[irc.Lower(name)]; r != nil && c.user.mayGive(r) && other != r.dropCode() {
			h.notice(c, "To drop "+r.name+", which cannot be taken back, say: CS DROP "+r.name+
				" "+r.dropCode())
			return Entry{}
		}
		return h.founderEntry(c, verb, name, "")
	default:
		for _, l := range csHelp {
			h.notice(c, l)
		}
	}
	return Entry{}
}

// founderEntry returns the entry of a change. The answer comes when it is in the log.
func (h *Hall) founderEntry(c *Client, verb, room, account string) Entry {
	c.later = true
	return Entry{Kind: Founder, Data: []byte(strings.Join([]string{verb, room, account}, "\n"))}
}

// notice is an answer of ChanServ.
func (h *Hall) notice(c *Client, text string) { h.noticeOf(c, chanServNick, text) }

// dropCode is a word that keeps people from dropping a room by mistake.
func (r *room) dropCode() string { return strconv.FormatInt(r.created, 36) }

// mayGive says whether a user may give a room away.
func (u *user) mayGive(r *room) bool { return u.founded(r) || u.role == Admin }

func (h *Hall) listFounded(c *Client) {
	var mine []string
	for _, name := range sorted(h.rooms) {
		if r := h.rooms[name]; c.user.founded(r) {
			mine = append(mine, r.name)
		}
	}
	h.notice(c, "You have founded "+strconv.Itoa(len(mine))+" rooms, of "+
		strconv.Itoa(maxFounded)+" at most")
	for names := range slices.Chunk(mine, 5) { // a name has 50 bytes at most
		h.notice(c, strings.Join(names, " "))
	}
}

func (h *Hall) roomInfo(c *Client, name string) {
	r := h.rooms[irc.Lower(name)]
	if r == nil || r.hidden() && c.user.in(r) == nil && !c.user.mayGive(r) {
		h.notice(c, "There is no room "+middle(name))
		return
	}
	whose := "has no founder: it ends when the last member leaves"
	if r.founder != "" {
		whose = "was founded by the account " + r.founder
	}
	h.notice(c, r.name+" "+whose+"; it is there since "+
		time.UnixMilli(r.created).UTC().Format(time.DateTime+" UTC"))
	if r.offered != "" && (c.user.mayGive(r) || c.user.is(r.offered)) {
		h.notice(c, "It is offered to the account "+r.offered)
	}
}

// applyFounder applies a change of a room's founder.
func (h *Hall) applyFounder(s *session, data []byte) {
	word := append(strings.SplitN(string(data), "\n", 3), "", "", "")
	u, c, r := s.user, s.client, h.rooms[irc.Lower(word[1])]
	switch {
	case r == nil || r.hidden() && u.in(r) == nil && !u.mayGive(r) && !u.is(r.offered):
		h.notice(c, "There is no room "+middle(word[1]))
	case u.account == "":
		h.notice(c, "Only an account can have a room: log in first")
	case word[0] == csRegister:
		h.registerRoom(s, r)
	case word[0] == csAccept:
		h.acceptRoom(s, r)
	case !u.mayGive(r):
		h.notice(c, r.name+" is not yours")
	case word[0] == csDrop:
		h.setFounder(r, "")
		h.notice(c, r.name+" has no founder any more: it ends when the last member leaves")
		h.removeEmpty(r)
	case word[0] == csTransfer:
		h.transferRoom(s, r, word[2])
	}
}

// tooMany is the answer to an account that has founded too many rooms.
func (h *Hall) tooMany(c *Client) {
	h.notice(c, "An account may have founded "+strconv.Itoa(maxFounded)+" rooms at most")
}

func (h *Hall) registerRoom(s *session, r *room) {
	u, c := s.user, s.client
	in := u.in(r)
	switch {
	case u.founded(r):
		h.notice(c, r.name+" is yours already")
	case r.founder != "":
		h.notice(c, r.name+" has a founder: the account "+r.founder)
	case in == nil || !in.op || u.role == Guest:
		h.notice(c, "Only an operator of "+r.name+" can register it")
	case !h.setFounder(r, irc.Lower(u.account)):
		h.tooMany(c)
	default:
		h.notice(c, r.name+" is yours now, and stays when nobody is in it")
	}
}

// transferRoom offers a room to an account. If an administrator gives it away, the account need not
// accept it.
func (h *Hall) transferRoom(s *session, r *room, name string) {
	c, to := s.client, h.holder(irc.Lower(name))
	switch {
	case to == nil || to.account == "":
		h.notice(c, "No account of that name was here yet: "+middle(name))
	case to.founded(r):
		r.offered = ""
		h.notice(c, r.name+" stays with the account "+r.founder)
	case s.user.role == Admin && !s.user.founded(r):
		if !h.setFounder(r, irc.Lower(to.account)) {
			h.tooMany(c)
			return
		}
		h.notice(c, r.name+" belongs to the account "+to.account+" now")
		h.raise(s, r, to)
	default:
		r.offered = irc.Lower(to.account)
		h.notice(c, r.name+" is offered to the account "+to.account+", which may say: CS ACCEPT "+
			r.name)
		to.eachClient(func(c *Client) {
			h.notice(c, s.user.nick+" offers you the room "+r.name+"; to take it, say: CS ACCEPT "+
				r.name)
		})
	}
}

func (h *Hall) acceptRoom(s *session, r *room) {
	u, c := s.user, s.client
	switch {
	case r.offered == "" || !u.is(r.offered):
		h.notice(c, r.name+" was not offered to you")
	case !h.setFounder(r, irc.Lower(u.account)):
		h.tooMany(c)
	default:
		h.notice(c, r.name+" is yours now")
		h.raise(s, r, u)
	}
}

// raise makes the new founder of a room its operator, if it is in the room.
func (h *Hall) raise(s *session, r *room, to *user) {
	if in := to.in(r); in != nil && !in.op {
		in.op = true
		h.tellAll(r, h.newOut(s.user, "MODE "+r.name+" +o "+to.nick))
	}
}
