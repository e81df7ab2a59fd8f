package hall

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"interleave/papaya/irc"
)

// sorted returns the keys of a map in order. All servers must go through a map in the same order.
func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// in returns the user's membership of a room, or nil.
func (u *user) in(r *room) *member {
	if u == nil || r == nil {
		return nil
	}
	for _, m := range u.rooms {
		if m.room == r {
			return m
		}
	}
	return nil
}

// hidden says whether users outside must not see the room: it is secret, or they may not join it as
// they are.
func (r *room) hidden() bool { return r.modes['i'] || r.modes['s'] || r.key != "" }

func (h *Hall) join(s *session, m *irc.Message) {
	keys := strings.Split(m.Param(1), ",")
	for i, name := range strings.Split(m.Params[0], ",") {
		key := ""
		if i < len(keys) {
			key = keys[i]
		}
		if name != "" {
			h.joinOne(s, name, key)
		}
	}
}

func (h *Hall) joinOne(s *session, name, key string) {
	u, c, folded := s.user, s.client, irc.Lower(name)
	if r := h.renamed(u, folded); r != nil {
		if !h.tellRenamed(c, u, r, name, key) {
			return
		}
		name, folded = r.name, irc.Lower(r.name)
	}
	r := h.rooms[folded]
	switch {
	case !irc.IsRoom(name):
		h.num(c, irc.ERR_NOSUCHCHANNEL, middle(name)+" :No such channel")
		return
	case u.in(r) != nil:
		return
	case r == nil && u.role == Guest:
		h.num(c, irc.ERR_NOSUCHCHANNEL, name+" :No such channel, and guests make none")
		return
	case len(u.rooms) >= h.config.Rooms:
		h.num(c, irc.ERR_TOOMANYCHANNELS, name+" :You have joined too many channels")
		return
	case r == nil && len(h.rooms) >= maxRooms:
		h.num(c, irc.ERR_UNAVAILRESOURCE, name+" :There are too many channels")
		return
	}
	if r == nil {
		r = newRoom(name, h.now, h.at)
		if u.account != "" {
			h.setFounder(r, irc.Lower(u.account))
			r.modes['n'], r.modes['t'] = true, true
		}
		h.rooms[folded] = r
		h.take(r, folded)
	}
	in := h.entrant(r, u)
	returns, mark := r.returning(u)
	if number, why := h.joinError(r, in, key); number != "" {
		h.num(c, number, r.name+" :Cannot join channel ("+why+")")
		return
	}
	delete(r.invited, u.key())
	delete(r.absent, u.key())
	delete(r.absent, irc.Lower(u.nick))
	in.mark = h.at
	if returns {
		in.mark = mark
	}
	r.here = append(r.here, in)
	u.rooms = append(u.rooms, in)
	u.eachClient(func(c *Client) { r.clients = append(r.clients, c) })
	h.tellJoin(u, r, in)
	u.eachClient(func(c *Client) {
		h.describe(c, r)
		if returns {
			h.catchUp(c, in)
		}
	})
}

// entrant returns a user as the member of a room that it would become.
func (h *Hall) entrant(r *room, u *user) *member {
	right := byte(0)
	if u.account != "" {
		right = r.rights[irc.Lower(u.account)]
	}
	first := r.founder == "" && len(r.here) == 0 && len(r.absent) == 0
	return &member{user: u, room: r, voice: right == 'v',
		op: right == 'o' || u.role.runs() || u.founded(r) ||
			first && (h.config.Founder || u.account != "")}
}

// returning says whether a user is an absent member of a room, and up to which offset it has
// received the room's messages. An account may have been a guest before.
func (r *room) returning(u *user) (returns bool, mark uint64) {
	if mark, returns = r.absent[u.key()]; !returns {
		mark, returns = r.absent[irc.Lower(u.nick)]
	}
	return returns, mark
}

// describe sends a client what it needs to know of a room that it has come to.
func (h *Hall) describe(c *Client, r *room) {
	if r.topic != "" {
		h.tellTopic(c, r)
	}
	if c.caps&readMarker != 0 {
		h.tellMarker(c, r.name)
	}
	h.sendNames(c, r)
	h.meet(c, r.subject())
}

// joinError returns the numeric for a user that may not join a room. An account that returns needs
// no invitation and no key, and has its place.
func (h *Hall) joinError(r *room, m *member, key string) (number, why string) {
	invited := r.invited[m.user.key()]
	_, returns := r.absent[m.user.key()]
	switch {
	case m.op:
	case r.banned(m.user) && !invited:
		return irc.ERR_BANNEDFROMCHAN, "+b"
	case returns && m.user.lasting(): // a guest may be another one of that nick
	case r.modes['i'] && !invited && !r.listed('I', m.user):
		return irc.ERR_INVITEONLYCHAN, "+i"
	case r.key != "" && r.key != key && !invited:
		return irc.ERR_BADCHANNELKEY, "+k"
	case r.limit > 0 && len(r.here) >= r.limit && (!invited || h.few):
		return irc.ERR_CHANNELISFULL, "+l"
	}
	return "", ""
}

// longJoin is a JOIN for clients with extended-join.
func longJoin(u *user, r *room) string {
	account := u.account
	if account == "" {
		account = "*"
	}
	return "JOIN " + r.name + " " + account + " :" + u.real
}

func (h *Hall) tellJoin(u *user, r *room, in *member) {
	plain, long := h.share(r, h.newOut(u, "JOIN "+r.name)), h.newOut(u, longJoin(u, r))
	var rights, away *out
	if u.away != "" {
		away = h.newOut(u, "AWAY :"+u.away)
	}
	if in.op || in.voice {
		rights = &out{body: []byte(":" + h.config.Name + " MODE " + r.name + " +" + in.rights() +
			" " + u.nick + "\r\n"), time: h.now}
	}
	for _, c := range r.clients {
		if c.caps&extendedJoin != 0 {
			long.to(c)
		} else {
			plain.to(c)
		}
		if rights != nil && c.user != u {
			rights.to(c)
		}
		if away != nil && c.user != u && c.caps&awayNotify != 0 {
			away.to(c)
		}
		if c.user != u && len(u.facts) > 0 {
			h.meet(c, u.subject())
		}
	}
}

func (m *member) rights() string {
	if m.op {
		return "o"
	}
	return "v"
}

// prefix returns the prefix of a nick in NAMES.
func (m *member) prefix(c *Client) string {
	switch {
	case m.op && m.voice && c.caps&multiPrefix != 0:
		return "@+"
	case m.op:
		return "@"
	case m.voice:
		return "+"
	}
	return ""
}

// membership returns the room of a name and the membership of a session's user. It returns nil
// after an answer of 403 or 442.
func (h *Hall) membership(s *session, name string) (*room, *member) {
	r := h.rooms[irc.Lower(name)]
	m := s.user.in(r)
	switch {
	case r == nil:
		h.num(s.client, irc.ERR_NOSUCHCHANNEL, middle(name)+" :No such channel")
	case m == nil:
		h.num(s.client, irc.ERR_NOTONCHANNEL, r.name+" :You're not on that channel")
	default:
		return r, m
	}
	return nil, nil
}

func (h *Hall) part(s *session, m *irc.Message) {
	for name := range strings.SplitSeq(m.Params[0], ",") {
		r, in := h.membership(s, name)
		if r == nil {
			continue
		}
		rest := "PART " + r.name
		if why := m.Param(1); why != "" {
			rest += " :" + why
		}
		h.tellAll(r, h.newOut(s.user, rest))
		h.remove(in)
	}
}

// tellAll sends a line to everybody in a room, including the user that has caused it.
func (h *Hall) tellAll(r *room, o *out) {
	s := h.share(r, o)
	for _, c := range r.clients {
		s.to(c)
	}
}

// remove removes a member, and with the last one a room without a founder.
func (h *Hall) remove(m *member) {
	r, u := m.room, m.user
	r.here = slices.DeleteFunc(r.here, func(o *member) bool { return o == m })
	u.rooms = slices.DeleteFunc(u.rooms, func(o *member) bool { return o == m })
	r.clients = slices.DeleteFunc(r.clients, func(c *Client) bool { return c.user == u })
	u.eachClient(func(c *Client) { h.stopCatchUp(c, m) })
	h.removeEmpty(r)
}

// hide removes a client from a room, of which its user stays a member.
func (r *room) hide(c *Client) {
	r.clients = slices.DeleteFunc(r.clients, func(o *Client) bool { return o == c })
}

// removeEmpty removes a room without members, unless it has a founder. A later room of that name is
// another, and does not get its messages. In older versions a founder's room ended, too.
func (h *Hall) removeEmpty(r *room) {
	if len(r.here) == 0 && len(r.absent) == 0 && (r.founder == "" || h.bare) {
		h.setFounder(r, "")
		delete(h.rooms, irc.Lower(r.name))
		delete(h.index, irc.Lower(r.name))
		h.dropFormer(r)
	}
}

func (h *Hall) topic(c *Client, m *irc.Message) Entry {
	r := h.rooms[irc.Lower(m.Param(0))]
	switch {
	case r == nil || r.hidden() && c.user.in(r) == nil:
		h.num(c, irc.ERR_NOSUCHCHANNEL, middle(m.Param(0))+" :No such channel")
	case c.user.in(r) == nil:
		h.num(c, irc.ERR_NOTONCHANNEL, r.name+" :You're not on that channel")
	case r.topic == "":
		h.num(c, irc.RPL_NOTOPIC, r.name+" :No topic is set")
	default:
		h.tellTopic(c, r)
	}
	return Entry{}
}

func (h *Hall) tellTopic(c *Client, r *room) {
	h.num(c, irc.RPL_TOPIC, r.name+" :"+r.topic)
	if h.full() {
		h.num(c, irc.RPL_TOPICWHOTIME, r.name+" "+r.setBy+" "+strconv.FormatInt(r.setAt/1000, 10))
	}
}

func (h *Hall) setTopic(s *session, m *irc.Message) {
	u := s.user
	r, in := h.membership(s, m.Param(0))
	if r == nil {
		return
	}
	if r.modes['t'] && !in.op {
		h.num(s.client, irc.ERR_CHANOPRIVSNEEDED, r.name+" :You're not channel operator")
		return
	}
	text := truncate(m.Param(1), maxTopic)
	it := speech{command: "TOPIC", text: text}
	if !h.fits(u, s.client, r.name, it) {
		return
	}
	r.topic, r.setBy, r.setAt = text, u.source, h.now
	o := h.tell(u, r.name, it)
	h.tellAll(r, o)
}

// kick removes users from one room, or each from its own (RFC 2812, 3.2.8).
func (h *Hall) kick(s *session, m *irc.Message) {
	rooms, nicks := strings.Split(m.Param(0), ","), strings.Split(m.Param(1), ",")
	if len(rooms) > 1 && len(rooms) != len(nicks) {
		h.num(s.client, irc.ERR_NEEDMOREPARAMS, "KICK :As many rooms as nicks, or one")
		return
	}
	why := m.Param(2)
	if why == "" {
		why = s.user.nick
	}
	for i, nick := range nicks {
		r, in := h.membership(s, rooms[min(i, len(rooms)-1)])
		if r == nil {
			if len(rooms) == 1 {
				return
			}
			continue
		}
		if !in.op {
			h.num(s.client, irc.ERR_CHANOPRIVSNEEDED, r.name+" :You're not channel operator")
			return
		}
		h.kickOne(s, r, nick, why)
	}
}

func (h *Hall) kickOne(s *session, r *room, nick, why string) {
	victim := h.holder(irc.Lower(nick))
	to := victim.in(r)
	key, away := h.absentee(r, irc.Lower(nick))
	switch {
	case victim == nil && !away:
		h.num(s.client, irc.ERR_NOSUCHNICK, middle(nick)+" :No such nick/channel")
	case to == nil && !away:
		h.num(s.client, irc.ERR_USERNOTINCHANNEL, middle(nick)+" "+r.name+
			" :They aren't on that channel")
	case to == nil: // an absent user is a member, too
		delete(r.absent, key)
		h.tellAll(r, h.newOut(s.user, "KICK "+r.name+" "+nick+" :"+why))
	default:
		h.tellAll(r, h.newOut(s.user, "KICK "+r.name+" "+victim.nick+" :"+why))
		h.remove(to)
	}
}

// absentee finds an absent member of a room by its nick, and returns its key.
func (h *Hall) absentee(r *room, folded string) (key string, away bool) {
	if u := h.holder(folded); u != nil {
		if _, away = r.absent[u.key()]; away {
			return u.key(), true
		}
	}
	_, away = r.absent[folded]
	return folded, away
}

// invitations answers INVITE without a word with the rooms that the user is invited to.
func (h *Hall) invitations(c *Client, m *irc.Message) Entry {
	if len(m.Params) > 0 {
		h.num(c, irc.ERR_NEEDMOREPARAMS, "INVITE :Not enough parameters")
		return Entry{}
	}
	for _, name := range sorted(h.rooms) {
		if r := h.rooms[name]; r.invited[c.user.key()] {
			h.num(c, irc.RPL_INVITELIST, r.name)
		}
	}
	h.num(c, irc.RPL_ENDOFINVITELIST, ":End of INVITE list")
	return Entry{}
}

func (h *Hall) invite(s *session, m *irc.Message) {
	u, to := s.user, h.holder(irc.Lower(m.Param(0)))
	if to == nil {
		h.num(s.client, irc.ERR_NOSUCHNICK, middle(m.Param(0))+" :No such nick/channel")
		return
	}
	r, in := h.membership(s, m.Param(1))
	switch {
	case r == nil:
		return
	case r.hidden() && !in.op:
		h.num(s.client, irc.ERR_CHANOPRIVSNEEDED, r.name+" :You're not channel operator")
		return
	case to.in(r) != nil:
		h.num(s.client, irc.ERR_USERONCHANNEL, to.nick+" "+r.name+" :is already on channel")
		return
	}
	// Only an operator's invitation opens what operators have closed: modes, key and bans.
	if in.op && len(r.invited) < maxInvited {
		r.invited[to.key()] = true
	}
	h.num(s.client, irc.RPL_INVITING, to.nick+" "+r.name)
	o := h.newOut(u, "INVITE "+to.nick+" "+r.name)
	to.eachClient(o.to)
	h.toRoom(r, u, o, inviteNotify)
}

// modeLine returns the modes of a room; the key is for members only.
func (r *room) modeLine(inside bool) string {
	line, words := "+", ""
	for _, letter := range []byte(modeLetters) {
		if r.modes[letter] {
			line += string(letter)
		}
	}
	if r.key != "" {
		line += "k"
		if inside {
			words += " " + r.key
		} else {
			words += " *"
		}
	}
	if r.limit > 0 {
		line += "l"
		words += " " + strconv.Itoa(r.limit)
	}
	return line + words
}
