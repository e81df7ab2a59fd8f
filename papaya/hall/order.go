package hall

import (
	"slices"
	"strings"
	"time"

	"interleave/papaya/irc"
)

// The verbs of administrators' orders. An order goes through the log, so all servers obey it.
const (
	EndNick    = "end"    // NICK WHY: ends the session
	EndAccount = "logout" // ACCOUNT WHY: ends all sessions of the account
	// Forget ACCOUNT WHY ends all sessions of the account and removes its rights in rooms. A later
	// account of that name is another.
	Forget      = "forget"
	GiveRole    = "role"    // ACCOUNT LETTER: gives its sessions another role
	KickMember  = "kick"    // ROOM NICK WHY: removes a member
	RemoveRoom  = "remove"  // ROOM WHY: removes all members, and so the room
	orderWords  = "\n"      // separates the words of an order
	noLongerIn  = "removed" // the default reason
	maxOrderWhy = 200       // in bytes
)

// NewOrder makes the entry of an order. Config.Ordered gets the number when the order was obeyed.
func NewOrder(number uint64, verb string, words ...string) Entry {
	all := []string{verb}
	for _, w := range words {
		all = append(all, strings.Map(func(r rune) rune {
			if r == '\n' || r == '\r' || r == 0 {
				return ' '
			}
			return r
		}, w))
	}
	return Entry{Client: number, Kind: Order, Data: []byte(strings.Join(all, orderWords))}
}

// order obeys an order. It is no error if the session, member or room is gone already.
func (h *Hall) order(e Entry) {
	words := strings.Split(string(e.Data), orderWords)
	why := truncate(words[len(words)-1], maxOrderWhy)
	words = append(words, "", "")
	name := irc.Lower(words[1])
	if why == "" {
		why = noLongerIn
	}
	switch words[0] {
	case EndNick:
		if u := h.nicks[name]; u != nil {
			h.leave(u, why)
		}
	case EndAccount:
		h.endAll(name, why)
	case Forget:
		h.endAll(name, why)
		h.forgetAccount(name)
	case GiveRole:
		for _, u := range h.nicks {
			if irc.Lower(u.account) == name {
				u.role = parseRole(words[2])
			}
		}
	case KickMember:
		if r := h.rooms[name]; r != nil {
			h.kickFrom(r, irc.Lower(words[2]), why)
		}
	case RemoveRoom:
		if r := h.rooms[name]; r != nil {
			for _, m := range slices.Clone(r.here) {
				h.kickFrom(r, irc.Lower(m.user.nick), why)
			}
			clear(r.absent)
			h.removeEmpty(r)
		}
	}
	if h.from.server == h.config.Server && h.config.Ordered != nil {
		h.config.Ordered(e.Client)
	}
}

// endAll ends all sessions of an account.
func (h *Hall) endAll(account, why string) {
	for _, nick := range sorted(h.nicks) {
		if u := h.nicks[nick]; irc.Lower(u.account) == account {
			h.leave(u, why)
		}
	}
}

// forgetAccount removes everything that an account has, so that a later account of that name gets
// nothing of it.
func (h *Hall) forgetAccount(account string) {
	for nick, k := range h.known {
		if k.account == account {
			delete(h.known, nick)
		}
	}
	for _, name := range sorted(h.rooms) {
		r := h.rooms[name]
		delete(r.rights, account)
		if r.founder == account {
			r.founder = ""
		}
		for nick, a := range r.absent {
			if a.account == account {
				delete(r.absent, nick)
			}
		}
		h.removeEmpty(r)
	}
}

// kickFrom removes a nick from a room in the name of the server.
func (h *Hall) kickFrom(r *room, nick, why string) {
	m := h.nicks[nick].in(r)
	if m == nil {
		delete(r.absent, nick)
		h.removeEmpty(r)
		return
	}
	o := &out{body: append(cut([]byte(":"+h.config.Name+" KICK "+r.name+" "+m.user.nick+" :"+why)),
		'\r', '\n'), time: h.now}
	h.tellAll(r, o)
	h.remove(m)
}

// A Session is a user as administrators see it.
type Session struct {
	Nick    string    `json:"nick"`
	Account string    `json:"account,omitempty"`
	Role    string    `json:"role,omitempty"` // its letter
	Host    string    `json:"host"`
	Secure  bool      `json:"secure"`
	Server  string    `json:"server"`
	Since   time.Time `json:"since"`
	Rooms   []string  `json:"rooms"`
}

// A Room is a room as administrators see it.
type Room struct {
	Name    string    `json:"name"`
	Here    int       `json:"here"`
	Away    int       `json:"away"`
	Modes   string    `json:"modes"`
	Founder string    `json:"founder,omitempty"`
	Topic   string    `json:"topic,omitempty"`
	Since   time.Time `json:"since"`
}

// Sessions lists the users on all servers, by nick.
func (h *Hall) Sessions() []Session {
	out := make([]Session, 0, len(h.nicks))
	for _, nick := range sorted(h.nicks) {
		u := h.nicks[nick]
		s := Session{Nick: u.nick, Account: u.account, Role: u.role.String(), Host: u.host,
			Secure: u.secure, Server: u.origin.server, Since: time.UnixMilli(u.since).UTC()}
		for _, m := range u.rooms {
			s.Rooms = append(s.Rooms, m.room.name)
		}
		out = append(out, s)
	}
	return out
}

// Rooms lists all rooms, by name.
func (h *Hall) Rooms() []Room {
	out := make([]Room, 0, len(h.rooms))
	for _, name := range sorted(h.rooms) {
		r := h.rooms[name]
		out = append(out, Room{r.name, len(r.here), len(r.absent), r.modeLine(false), r.founder,
			r.topic, time.UnixMilli(r.created).UTC()})
	}
	return out
}
