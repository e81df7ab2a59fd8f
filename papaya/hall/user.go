package hall

import (
	"cmp"
	"slices"

	"interleave/papaya/irc"
)

// maxSessions bounds the sessions of one account. With one more, the oldest is ended. A guess.
const maxSessions = 50

// A user is somebody in the chat: an account, or a guest, who has none. A guest has one session,
// and ends with it. An account has any number of them, on any servers, and its user stays when the
// last one has ended: it keeps its nick, its rooms, and the marks of what it has received.
type user struct {
	nick    string
	name    string
	host    string
	real    string
	account string // empty for a guest
	role    Role
	oper    string // the folded account whose role the user has (OPER); empty if it is its own
	away    string // as others see it: empty while one session is not away
	// An invisible user (+i) is found only by those who know its nick or share a room with it.
	invisible bool
	styles    map[byte]bool   // of styleLetters: see style.go
	accepts   map[string]bool // folded nicks that +R lets through
	facts     facts           // see metadata.go
	source    string          // nick!name@host
	// inbox is the offset of the text up to which the user has received messages to itself.
	inbox    uint64
	names    []tenure         // an account's nicks, in the order in which it got them
	nickAt   uint64           // the offset from which on a guest has its nick
	talks    map[string]talk  // an account's conversations, by folded nick
	read     map[string]int64 // read markers in milliseconds since 1970, by folded room or nick
	rooms    []*member
	sessions []*session // the oldest first
	// left is when the last session of an account has ended, in milliseconds since 1970.
	left int64
	// stays is set for an account that others still see when its last session has ended. It is in
	// the entries of the log, so that all servers agree, whatever their settings are.
	stays bool
	// apart is set if an older version has logged the connection: see apart.go.
	apart bool
}

// A session is one connection of a user, to any server.
type session struct {
	origin origin
	id     uint64
	user   *user
	host   string
	secure bool
	since  int64
	away   string
	client *Client // nil if the client is on another server
	acted  int64   // when its user has last said or read something: see attention. It is not saved
}

// from returns the address of the session, or what is shown in its place if it is on another
// server.
func (s *session) from() string {
	if s.client != nil && s.client.Address != "" {
		return s.client.Address
	}
	return s.host
}

// address returns the address of the user's oldest session on this server that has one to hide, or
// the host that all see.
func (u *user) address() string {
	for _, s := range u.sessions {
		if from := s.from(); from != s.host {
			return from
		}
	}
	return u.host
}

// key names a user in the tables of rooms: an account by its name, a guest by its nick, which has
// no blank.
func (u *user) key() string {
	if u.account != "" {
		return accountKey(irc.Lower(u.account))
	}
	return irc.Lower(u.nick)
}

func accountKey(folded string) string { return "account " + folded }

// lasting says whether the user stays when its last session has ended.
func (u *user) lasting() bool { return u.account != "" && !u.apart }

// secure says whether all sessions are encrypted.
func (u *user) secure() bool {
	return len(u.sessions) > 0 &&
		!slices.ContainsFunc(u.sessions, func(s *session) bool { return !s.secure })
}

// eachClient calls each with the user's clients on this server.
func (u *user) eachClient(each func(c *Client)) {
	for _, s := range u.sessions {
		if s.client != nil {
			each(s.client)
		}
	}
}

// here says whether others see the user.
func (h *Hall) here(u *user) bool { return h.nicks[irc.Lower(u.nick)] == u }

// accountUser returns the user of an account. When the account is used for the first time, it gets
// the messages that wait for the nick.
func (h *Hall) accountUser(account, nick string) *user {
	folded := irc.Lower(account)
	u := h.accounts[folded]
	if u == nil {
		u = &user{account: account, nick: nick, inbox: h.at, left: h.now}
		h.accounts[folded] = u
		if mark, waits := h.known[irc.Lower(nick)]; waits {
			u.inbox = mark
			delete(h.known, irc.Lower(nick))
		}
	}
	return u
}

// appear shows a user under a nick, which nobody else has.
func (h *Hall) appear(u *user, nick string) {
	u.rename(nick)
	u.nickAt = h.at
	h.nicks[irc.Lower(nick)] = u
	if u.lasting() {
		h.settle(u)
	} else {
		h.takeWaiting(u)
	}
}

// attach adds a session to a user. Its client gets the rooms of the user, and what the user has
// missed.
func (h *Hall) attach(u *user, s *session) {
	if len(u.sessions) >= maxSessions {
		h.hangUp(u.sessions[0], "Your account has too many sessions")
	}
	if h.sessions[s.origin] == nil {
		h.sessions[s.origin] = map[uint64]*session{}
	}
	h.sessions[s.origin][s.id] = s
	s.user = u
	u.sessions = append(u.sessions, s)
	if c := s.client; c != nil {
		c.user, c.session, c.entering = u, s, false
		c.nick, c.name, c.real, c.account, c.invitation, c.facts = "", "", "", "", "", nil
		h.welcome(c)
		h.greetOperator(c)
		if c.caps&metadata != 0 {
			h.listFacts(c, u.subject())
		}
		h.catchUpInbox(c)
		h.showRooms(c)
	}
	h.updateAway(u)
}

// showRooms brings the rooms of a user to another client of it, and what the user has missed there.
// It sends no more at once than the client reads.
func (h *Hall) showRooms(c *Client) {
	for _, in := range c.user.rooms {
		k := newBacklog(in)
		k.join = in
		h.begin(c, k)
	}
}

// show brings a room to a client of a member, as if it had joined.
func (h *Hall) show(c *Client, in *member) {
	in.room.clients = append(in.room.clients, c)
	h.bring(c, in)
}

// bring tells a client that its user is in a room.
func (h *Hall) bring(c *Client, in *member) {
	r := in.room
	if c.caps&extendedJoin != 0 {
		h.newOut(in.user, longJoin(in.user, r)).to(c)
	} else {
		h.newOut(in.user, "JOIN "+r.name).to(c)
	}
	h.describe(c, r)
}

// notConnected is the away message of an account that stays without a session.
const notConnected = "not connected"

// updateAway tells the observers of a user if it is away now, or is not away any more: it is while
// all its sessions are. The message is that of the newest one, also when it has ended.
func (h *Hall) updateAway(u *user) {
	away := ""
	if len(u.sessions) == 0 {
		away = cmp.Or(u.away, notConnected)
	}
	for _, s := range u.sessions {
		if away = s.away; away == "" {
			break
		}
	}
	if away == u.away {
		return
	}
	u.away = away
	rest := "AWAY"
	if away != "" {
		rest += " :" + away
	}
	h.eachObserver(u, awayNotify, h.newOut(u, rest).later)
}

// hangUp ends a session. Others see it only if it was the last one of its user, and then only that
// the user is away if it stays.
func (h *Hall) hangUp(s *session, why string) {
	u := s.user
	if u.endsWithOne() {
		h.depart(u, why)
		return
	}
	h.detach(s)
	if s.client != nil {
		h.close(s.client, why)
	}
	h.updateAway(u)
}

// endsWithOne says whether others see the user leave when one session of it ends: it has no other
// one, and does not stay without any.
func (u *user) endsWithOne() bool {
	return len(u.sessions) == 1 && !(u.stays && u.lasting())
}

// detach takes a session from its user.
func (h *Hall) detach(s *session) {
	delete(h.sessions[s.origin], s.id)
	u := s.user
	u.sessions = slices.DeleteFunc(u.sessions, func(o *session) bool { return o == s })
	if len(u.sessions) == 0 {
		u.left = h.now
	}
	if c := s.client; c != nil {
		for _, in := range u.rooms {
			in.room.hide(c)
		}
	}
}

// depart ends all sessions of a user, who stays an absent member of its rooms.
func (h *Hall) depart(u *user, why string) {
	h.dismiss(u, why, true, func(c *Client) { h.close(c, why) })
}

// dismiss ends all sessions of a user, and disconnects their clients by end. The user may stay an
// absent member of its rooms.
func (h *Hall) dismiss(u *user, why string, stays bool, end func(*Client)) {
	h.vanish(u, why, stays)
	for _, s := range slices.Clone(u.sessions) {
		h.detach(s)
		if s.client != nil {
			end(s.client)
		}
	}
	u.away = ""
}

// vanish removes a user from the sight of others. The user may stay a member of its rooms.
func (h *Hall) vanish(u *user, why string, stays bool) {
	h.eachNeighbour(u, h.newOut(u, "QUIT :"+why).to)
	folded := irc.Lower(u.nick)
	for _, in := range slices.Clone(u.rooms) {
		if r := in.room; stays && len(r.absent) < maxAbsent {
			mark, was := r.absent[u.key()] // of another user apart
			if !was {
				mark = in.mark
			}
			r.absent[u.key()] = min(mark, in.mark)
		}
		h.remove(in)
	}
	delete(h.nicks, folded)
	if u.lasting() {
		h.held[folded] = u
	} else if u.apart {
		h.leaveApart(u)
	} else if mark, was := h.known[folded]; was {
		h.known[folded] = max(mark, u.inbox)
	}
	h.remember(u)
	h.went(u.nick)
}

// takeWaiting gives a guest the messages that wait for its nick.
func (h *Hall) takeWaiting(u *user) {
	folded := irc.Lower(u.nick)
	if a := h.held[folded]; u.apart && a != nil && a.is(irc.Lower(u.account)) {
		u.inbox = a.inbox
		return
	}
	mark, was := h.known[folded]
	if !was {
		mark = h.at
		if len(h.known) < maxKnown {
			h.known[folded] = mark
		}
	}
	u.inbox = mark
	if u.apart {
		h.keepApart(u)
	}
}

// isKnown says whether messages to a nick reach somebody, now or later.
func (h *Hall) isKnown(folded string) bool {
	_, was := h.known[folded]
	return was || h.nicks[folded] != nil || h.accounts[folded] != nil || h.held[folded] != nil
}
