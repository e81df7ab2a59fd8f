package hall

import (
	"slices"
	"strings"
	"time"

	"interleave/papaya/bans"
	"interleave/papaya/irc"
)

// The verbs of administrators' orders. An order goes through the log, so all servers obey it.
const (
	EndNick    = "end"    // NICK WHY: ends the sessions of the user
	EndAccount = "logout" // ACCOUNT WHY: ends all sessions of the account
	// Forget ACCOUNT WHY ends all sessions of the account and removes its rights in rooms. A later
	// account of that name is another. A ban of the name stays.
	Forget     = "forget"
	GiveRole   = "role"   // ACCOUNT LETTER: gives its sessions another role
	KickMember = "kick"   // ROOM NICK WHY: removes a member
	RemoveRoom = "remove" // ROOM WHY: removes all members, and so the room
	// RenameAccount OLD NEW gives everything that an account has to its new name.
	RenameAccount = "rename"
	// ExpireAccount ACCOUNT TIME WHY takes an account out of its rooms that has had no session
	// since a time in milliseconds since 1970.
	ExpireAccount = "expire"
	PostTo        = "post"    // ROOM NICK LINE...: a program says lines in a room
	AddPreview    = "preview" // Linked.Order: a message gets a preview of a link in it
	// AddBan TARGET LENGTH BY WHY bans from the whole server. The length is in milliseconds; 0 is
	// for ever. RemoveBan TARGET ends that.
	AddBan      = "ban"
	RemoveBan   = "unban"
	orderWords  = "\n"      // separates the words of an order
	noLongerIn  = "removed" // the default reason
	maxOrderWhy = 200       // in bytes
)

// NewOrder makes the entry of an order. Config.Ordered gets the number when the order was obeyed or
// refused.
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
	words = append(words, "", "", "", "")
	name := irc.Lower(words[1])
	var refused error
	if why == "" {
		why = noLongerIn
	}
	switch words[0] {
	case EndNick:
		if u := h.nicks[name]; u != nil {
			h.depart(u, why)
		}
	case EndAccount:
		h.endAll(name, why)
	case Forget:
		h.endAll(name, why)
		h.forgetAccount(name)
	case RenameAccount:
		h.renameAccount(words[1], words[2])
	case ExpireAccount:
		h.expire(name, words[2], why)
	case AddPreview:
		h.addPreview(words[1:])
	case PostTo:
		h.post(name, words[2], words[min(3, len(words)):])
	case EndTokens:
		h.endTokens(words[2], why)
	case AddBan:
		_, refused = h.addBan(words[1], words[2], words[3], words[4])
	case RemoveBan:
		if t, err := bans.Parse(words[1]); err == nil {
			h.removeBan(t)
		}
	case GiveRole:
		for _, u := range h.nicks {
			if name != "" && u.uses(name) {
				u.role = roleOf(words[2])
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
			h.setFounder(r, "")
			h.removeEmpty(r)
		}
	}
	if h.from.server == h.config.Server && h.config.Ordered != nil {
		h.config.Ordered(e.Client, refused)
	}
}

// endAll ends all sessions of an account.
func (h *Hall) endAll(account, why string) {
	for _, nick := range sorted(h.nicks) {
		if u := h.nicks[nick]; u != nil && account != "" && u.is(account) {
			h.depart(u, why)
		}
	}
}

// forgetAccount removes everything that an account has, so that a later account of that name gets
// nothing of it.
func (h *Hall) forgetAccount(account string) {
	if account == "" {
		return
	}
	if u := h.accounts[account]; u != nil {
		h.dropAliases(u)
		for _, t := range u.names {
			if h.held[t.nick] == u {
				delete(h.held, t.nick)
			}
		}
		delete(h.accounts, account)
	}
	for _, u := range h.nicks {
		if u.oper == account {
			u.role, u.oper = Member, ""
		}
	}
	for _, name := range sorted(h.rooms) {
		r := h.rooms[name]
		delete(r.rights, account)
		if r.founder == account {
			h.setFounder(r, "")
		}
		if r.offered == account {
			r.offered = ""
		}
		delete(r.absent, accountKey(account))
		delete(r.invited, accountKey(account))
		h.removeEmpty(r)
	}
}

// kickFrom removes a nick from a room in the name of the server.
func (h *Hall) kickFrom(r *room, nick, why string) {
	m := h.nicks[nick].in(r)
	if m == nil {
		key, _ := h.absentee(r, nick)
		delete(r.absent, key)
		h.removeEmpty(r)
		return
	}
	o := &out{body: append(cut([]byte(":"+h.config.Name+" KICK "+r.name+" "+m.user.nick+" :"+why)),
		'\r', '\n'), time: h.now}
	h.tellAll(r, o)
	h.remove(m)
}

// A Session is one connection of a user as administrators see it.
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
	// Former are the folded names that it had before, but those that another room has had since.
	Former []string `json:"former,omitempty"`
}

// Sessions lists the sessions on all servers, by nick; those of one user from the oldest on.
func (h *Hall) Sessions() []Session {
	out := make([]Session, 0, len(h.nicks))
	for _, nick := range sorted(h.nicks) {
		u := h.nicks[nick]
		var rooms []string
		for _, m := range u.rooms {
			rooms = append(rooms, m.room.name)
		}
		for _, s := range u.sessions {
			out = append(out, Session{Nick: u.nick, Account: u.account, Role: u.role.Letter(),
				Host: s.from(), Secure: s.secure, Server: s.origin.server,
				Since: time.UnixMilli(s.since).UTC(), Rooms: rooms})
		}
	}
	return out
}

// Rooms lists all rooms, by name.
func (h *Hall) Rooms() []Room {
	out := make([]Room, 0, len(h.rooms))
	for _, name := range sorted(h.rooms) {
		out = append(out, h.rooms[name].shown())
	}
	return out
}
