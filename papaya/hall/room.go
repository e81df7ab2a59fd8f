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

func (r *room) banned(u *user) bool {
	for _, b := range r.bans {
		if irc.Match(b.mask, u.source) {
			return true
		}
	}
	return false
}

// hidden says whether users outside must not see the room: it is secret, or they may not join it as
// they are.
func (r *room) hidden() bool { return r.modes['i'] || r.modes['s'] || r.key != "" }

func (h *Hall) join(u *user, m *irc.Message) {
	keys := strings.Split(m.Param(1), ",")
	for i, name := range strings.Split(m.Params[0], ",") {
		key := ""
		if i < len(keys) {
			key = keys[i]
		}
		if name != "" {
			h.joinOne(u, name, key)
		}
	}
}

func (h *Hall) joinOne(u *user, name, key string) {
	c, folded := u.client, irc.Lower(name)
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
		r = &room{name: name, created: h.now, since: h.at, modes: map[byte]bool{},
			rights: map[string]byte{}, invited: map[string]bool{}, absent: map[string]absent{}}
		if u.account != "" {
			r.founder = irc.Lower(u.account)
			r.modes['n'], r.modes['t'] = true, true
		}
		h.rooms[folded] = r
	}
	in := &member{user: u, room: r}
	right := byte(0)
	if u.account != "" {
		right = r.rights[irc.Lower(u.account)]
	}
	in.op = right == 'o' || u.role.runs() || u.account != "" && r.founder == irc.Lower(u.account) ||
		h.config.Founder && len(r.here) == 0 && len(r.absent) == 0
	in.voice = right == 'v'
	if number, why := h.joinError(r, u, in, key); number != "" {
		h.num(c, number, r.name+" :Cannot join channel ("+why+")")
		return
	}
	delete(r.invited, irc.Lower(u.nick))
	in.mark = mark{at: h.at}
	if a, ok := r.absent[irc.Lower(u.nick)]; ok {
		delete(r.absent, irc.Lower(u.nick))
		if a.account == "" || a.account == irc.Lower(u.account) {
			in.mark = mark{at: a.mark, lag: true}
		}
	}
	r.here = append(r.here, in)
	u.rooms = append(u.rooms, in)
	h.tellJoin(u, r, in)
	if c != nil {
		if r.topic != "" {
			h.tellTopic(c, r)
		}
		h.sendNames(c, r)
		h.catchUp(c, in)
	}
}

// joinError returns the numeric for a user that may not join a room.
func (h *Hall) joinError(r *room, u *user, m *member, key string) (number, why string) {
	invited := r.invited[irc.Lower(u.nick)]
	switch {
	case m.op:
	case r.banned(u) && !invited:
		return irc.ERR_BANNEDFROMCHAN, "+b"
	case r.modes['i'] && !invited:
		return irc.ERR_INVITEONLYCHAN, "+i"
	case r.key != "" && r.key != key && !invited:
		return irc.ERR_BADCHANNELKEY, "+k"
	case r.limit > 0 && len(r.here) >= r.limit:
		return irc.ERR_CHANNELISFULL, "+l"
	}
	return "", ""
}

func (h *Hall) tellJoin(u *user, r *room, in *member) {
	plain, account := h.share(r, h.newOut(u, "JOIN "+r.name)), u.account
	if account == "" {
		account = "*"
	}
	long := h.newOut(u, "JOIN "+r.name+" "+account+" :"+u.real)
	var rights, away *out
	if u.away != "" {
		away = h.newOut(u, "AWAY :"+u.away)
	}
	if in.op || in.voice {
		rights = &out{body: []byte(":" + h.config.Name + " MODE " + r.name + " +" + in.rights() +
			" " + u.nick + "\r\n"), time: h.now}
	}
	for _, m := range r.here {
		c := m.user.client
		switch {
		case c == nil:
			continue
		case c.caps&extendedJoin != 0:
			long.to(c)
		default:
			plain.to(c)
		}
		if rights != nil && m != in {
			rights.to(c)
		}
		if away != nil && m != in && c.caps&awayNotify != 0 {
			away.to(c)
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

// membership returns the room of a name and the user's membership. It returns nil after an answer
// of 403 or 442.
func (h *Hall) membership(u *user, name string) (*room, *member) {
	r := h.rooms[irc.Lower(name)]
	m := u.in(r)
	switch {
	case r == nil:
		h.num(u.client, irc.ERR_NOSUCHCHANNEL, middle(name)+" :No such channel")
	case m == nil:
		h.num(u.client, irc.ERR_NOTONCHANNEL, r.name+" :You're not on that channel")
	default:
		return r, m
	}
	return nil, nil
}

func (h *Hall) part(u *user, m *irc.Message) {
	for name := range strings.SplitSeq(m.Params[0], ",") {
		r, in := h.membership(u, name)
		if r == nil {
			continue
		}
		rest := "PART " + r.name
		if why := m.Param(1); why != "" {
			rest += " :" + why
		}
		h.tellAll(r, h.newOut(u, rest))
		h.remove(in)
	}
}

// tellAll sends a line to everybody in a room, including the user that has caused it.
func (h *Hall) tellAll(r *room, o *out) {
	s := h.share(r, o)
	for _, m := range r.here {
		s.to(m.user.client)
	}
}

// remove removes a member, and the room with its last member.
func (h *Hall) remove(m *member) {
	r, u := m.room, m.user
	r.here = slices.DeleteFunc(r.here, func(o *member) bool { return o == m })
	u.rooms = slices.DeleteFunc(u.rooms, func(o *member) bool { return o == m })
	if u.client != nil {
		h.stopCatchUp(u.client, m)
	}
	h.removeEmpty(r)
}

// removeEmpty removes a room without members. A later room of that name is another, and does not
// get its messages.
func (h *Hall) removeEmpty(r *room) {
	if len(r.here) == 0 && len(r.absent) == 0 {
		delete(h.rooms, irc.Lower(r.name))
		delete(h.index, irc.Lower(r.name))
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

func (h *Hall) setTopic(u *user, m *irc.Message) {
	r, in := h.membership(u, m.Param(0))
	if r == nil {
		return
	}
	if r.modes['t'] && !in.op {
		h.num(u.client, irc.ERR_CHANOPRIVSNEEDED, r.name+" :You're not channel operator")
		return
	}
	text := truncate(m.Param(1), maxTopic)
	if !h.fits(u, u.client, "TOPIC", r.name, text) {
		return
	}
	r.topic, r.setBy, r.setAt = text, u.source, h.now
	o := h.tell(u, "TOPIC", r.name, text, "")
	h.tellAll(r, o)
}

// kick removes users from one room, or each from its own (RFC 2812, 3.2.8).
func (h *Hall) kick(u *user, m *irc.Message) {
	rooms, nicks := strings.Split(m.Param(0), ","), strings.Split(m.Param(1), ",")
	if len(rooms) > 1 && len(rooms) != len(nicks) {
		h.num(u.client, irc.ERR_NEEDMOREPARAMS, "KICK :As many rooms as nicks, or one")
		return
	}
	why := m.Param(2)
	if why == "" {
		why = u.nick
	}
	for i, nick := range nicks {
		r, in := h.membership(u, rooms[min(i, len(rooms)-1)])
		if r == nil {
			if len(rooms) == 1 {
				return
			}
			continue
		}
		if !in.op {
			h.num(u.client, irc.ERR_CHANOPRIVSNEEDED, r.name+" :You're not channel operator")
			return
		}
		h.kickOne(u, r, nick, why)
	}
}

func (h *Hall) kickOne(u *user, r *room, nick, why string) {
	folded := irc.Lower(nick)
	victim := h.nicks[folded]
	_, away := r.absent[folded]
	to := victim.in(r)
	switch {
	case victim == nil && !away:
		h.num(u.client, irc.ERR_NOSUCHNICK, middle(nick)+" :No such nick/channel")
	case to == nil && !away:
		h.num(u.client, irc.ERR_USERNOTINCHANNEL, middle(nick)+" "+r.name+
			" :They aren't on that channel")
	case to == nil: // an absent user is a member, too
		delete(r.absent, folded)
		h.tellAll(r, h.newOut(u, "KICK "+r.name+" "+nick+" :"+why))
	default:
		h.tellAll(r, h.newOut(u, "KICK "+r.name+" "+victim.nick+" :"+why))
		h.remove(to)
	}
}

func (h *Hall) invite(u *user, m *irc.Message) {
	to := h.nicks[irc.Lower(m.Param(0))]
	if to == nil {
		h.num(u.client, irc.ERR_NOSUCHNICK, middle(m.Param(0))+" :No such nick/channel")
		return
	}
	r, in := h.membership(u, m.Param(1))
	switch {
	case r == nil:
		return
	case r.hidden() && !in.op:
		h.num(u.client, irc.ERR_CHANOPRIVSNEEDED, r.name+" :You're not channel operator")
		return
	case to.in(r) != nil:
		h.num(u.client, irc.ERR_USERONCHANNEL, to.nick+" "+r.name+" :is already on channel")
		return
	}
	// Only an operator's invitation opens what operators have closed: modes, key and bans.
	if in.op && len(r.invited) < maxBans {
		r.invited[irc.Lower(to.nick)] = true
	}
	h.num(u.client, irc.RPL_INVITING, to.nick+" "+r.name)
	o := h.newOut(u, "INVITE "+to.nick+" "+r.name)
	o.to(to.client)
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
