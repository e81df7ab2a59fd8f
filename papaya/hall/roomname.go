package hall

import (
	"bytes"
	"slices"
	"strings"

	"interleave/papaya/irc"
)

// Rooms get other names (draft/channel-rename of IRCv3). A room keeps everything that it has: its
// members, modes, founder and messages. What was said under a former name stays in the text as it
// was said, and clients are told it under the present one. The index has all of it under the
// present name.
//
// A room with a founder keeps its former names, too: whoever joins one of them is led to the room.
// That of a room without a founder is free, as it is when such a room ends, but a member who was
// away is led to the room.

const (
	// maxFormer bounds the former names of a room. Without a bound, one founder could keep any
	// number of names from others. A guess.
	maxFormer = 20
	// maxRenamed bounds the members of a room that gets another name: each client without the
	// capability is told all of them. A guess.
	maxRenamed = 2000
)

// called says whether a room had a folded name at an offset of the text.
func (r *room) called(folded string, at uint64) bool {
	return folded == irc.Lower(r.name) && at >= r.named || hadNick(r.former, folded, at)
}

// tenures returns the present and the former names of a room.
func (r *room) tenures() []tenure {
	return append(slices.Clone(r.former), tenure{nick: irc.Lower(r.name), from: r.named})
}

// everyName returns the present and the former names of a room, each once.
func (r *room) everyName() []string {
	var names []string
	for _, t := range r.tenures() {
		if !slices.Contains(names, t.nick) {
			names = append(names, t.nick)
		}
	}
	return names
}

// gaveUp returns the offset at which a room has given up a folded name; 0 if it never had it.
func (r *room) gaveUp(folded string) (at uint64) {
	for _, t := range r.former {
		if t.nick == folded {
			at = max(at, t.until)
		}
	}
	return at
}

// lastOf returns the room among some that has given up a folded name last.
func lastOf(rooms []*room, folded string) (last *room) {
	for _, r := range rooms { // they have no order, since a state that is loaded has another one
		if last == nil || r.gaveUp(folded) > last.gaveUp(folded) {
			last = r
		}
	}
	return last
}

// renamed returns the room to which a user is led who joins a folded name; nil if that is the room
// of this name, or a new one. Without a user it says which room keeps the name.
func (h *Hall) renamed(u *user, folded string) *room {
	there := h.rooms[folded]
	var some []*room
	for _, r := range h.formers[folded] {
		keeps := there == nil && r.founder != ""
		if !keeps && u != nil {
			keeps, _ = r.returning(u)
		}
		if keeps && r != there {
			some = append(some, r)
		}
	}
	return lastOf(some, folded)
}

// roomNow returns the room of a name, or the one that had it last, if that is still there. Programs
// know a room by the name that it had when they were made. So a room that has a name after another
// one keeps it for programs when it ends: they must not read or post in the room before.
func (h *Hall) roomNow(name string) *room {
	folded := irc.Lower(name)
	if r := h.rooms[folded]; r != nil {
		return r
	}
	for _, r := range h.formers[folded] {
		if !r.taken[folded] {
			return r
		}
	}
	return nil
}

// take notes that a room gets a folded name, which others may have had.
func (h *Hall) take(r *room, folded string) {
	delete(r.taken, folded)
	for _, o := range h.formers[folded] {
		if o != r {
			o.taken[folded] = true
		}
	}
}

// noteFormer adds a room to the table of former names.
func (h *Hall) noteFormer(r *room) {
	for _, t := range r.former {
		if list := h.formers[t.nick]; !slices.Contains(list, r) {
			h.formers[t.nick] = append(list, r)
		}
	}
}

// dropFormer removes a room from that table.
func (h *Hall) dropFormer(r *room) {
	for _, t := range r.former {
		list := slices.DeleteFunc(h.formers[t.nick], func(o *room) bool { return o == r })
		if h.formers[t.nick] = list; len(list) == 0 {
			delete(h.formers, t.nick)
		}
	}
}

// rename obeys RENAME #room #name :why.
func (h *Hall) rename(s *session, m *irc.Message) {
	r, in := h.membership(s, m.Param(0))
	if r == nil {
		return
	}
	if !in.op {
		h.num(s.client, irc.ERR_CHANOPRIVSNEEDED, r.name+" :You're not channel operator")
		return
	}
	name := m.Param(1)
	if code, why := h.cannotRename(s.user, r, name); code != "" {
		h.fail(s.client, "RENAME", code, r.name+" "+middle(name), why)
		return
	}
	h.renameRoom(s.user, r, name, truncate(m.Param(2), maxTopic))
}

// cannotRename returns why an operator may not give a room a name: a code of FAIL and a text. Both
// are empty if the operator may.
func (h *Hall) cannotRename(u *user, r *room, name string) (code, why string) {
	const cannot = "CANNOT_RENAME"
	to := irc.Lower(name)
	keeper := h.renamed(nil, to)
	switch {
	case !irc.IsRoom(name):
		return cannot, "That is no name of a channel"
	case r.founder != "" && !u.mayGive(r):
		return cannot, "Only its founder can rename the channel"
	case name == r.name:
		return cannot, "The channel has that name"
	case to == irc.Lower(r.name): // in other letters
	case h.rooms[to] != nil, keeper != nil && keeper != r:
		return "CHANNEL_NAME_IN_USE", "The channel name is already taken"
	case len(r.former) >= maxFormer:
		return cannot, "The channel was renamed too often"
	case len(r.here) > maxRenamed:
		return cannot, "The channel has too many members"
	}
	return "", ""
}

// renameRoom gives a room another name and tells its members.
func (h *Hall) renameRoom(u *user, r *room, name, why string) {
	old, from, to := r.name, irc.Lower(r.name), irc.Lower(name)
	o := h.newOut(u, "RENAME "+old+" "+name+" :"+why)
	if from != to {
		h.take(r, to)
		h.index[to] = h.chunksOf([]string{from, to})
		delete(h.index, from)
		delete(h.rooms, from)
		h.rooms[to] = r
	}
	r.name = name
	h.keep(o, h.record(to, "", bytes.TrimSuffix(o.body, []byte("\r\n"))))
	if from != to {
		r.former = append(r.former, tenure{nick: from, from: r.named, until: h.at})
		r.named = h.at
		h.noteFormer(r)
		h.moveMarkers(from, to)
		for _, in := range r.here {
			in.user.eachClient(func(c *Client) { c.renameBacklog(r) })
		}
	}
	s := h.share(r, o)
	for _, c := range r.clients {
		switch {
		case c.caps&channelRename != 0:
			s.to(c)
		case from != to: // who does not know RENAME sees the same name in other letters
			part := "PART " + old
			if why != "" {
				part += " :" + why
			}
			h.newOut(c.user, part).to(c)
			h.bring(c, c.user.in(r))
		}
	}
}

// moveMarkers gives the read markers of a folded room its other name. Those of an earlier room of
// that name end.
func (h *Hall) moveMarkers(from, to string) {
	for _, u := range h.accounts {
		u.moveMarker(from, to)
	}
	for _, u := range h.nicks {
		if !u.lasting() {
			u.moveMarker(from, to)
		}
	}
}

func (u *user) moveMarker(from, to string) {
	delete(u.read, to)
	if ms, was := u.read[from]; was {
		delete(u.read, from)
		u.read[to] = ms
	}
}

// renameBacklog gives the backlog of a room the room's present name.
func (c *Client) renameBacklog(r *room) {
	if k := c.backlog(r); k != nil {
		k.name = irc.Lower(r.name)
		k.keys = []string{k.name}
	}
}

// lagIn returns the offset up to which a client has received messages of a room in which it lags.
// The entry may have the name that the room had before.
func (r *room) lagIn(lags map[string]uint64) (at uint64, lagging bool) {
	at, lagging = lags[irc.Lower(r.name)]
	for _, t := range r.former {
		if behind, there := lags[t.nick]; there && (!lagging || behind < at) {
			at, lagging = behind, true
		}
	}
	return at, lagging
}

// under returns a message of a room as it is told under the room's present name. The message must
// be a copy, and another one is returned if the name is another one.
func (r *room) under(s said) said {
	status, name := irc.SplitStatus(s.target)
	if name == irc.Lower(r.name) || s.command == "RENAME" {
		return s
	}
	target := status + r.name
	s.target, s.body = irc.Lower(target), retarget(s.body, target)
	for i := range s.more {
		s.more[i].body = retarget(s.more[i].body, target)
	}
	return s
}

// retarget returns a line :SOURCE COMMAND TARGET ... with another target. If that is longer, a line
// that was full loses its last bytes.
func retarget(line []byte, target string) []byte {
	words := bytes.SplitN(line, []byte(" "), 4)
	if len(words) < 3 {
		return line
	}
	words[2] = []byte(target)
	return cut(bytes.Join(words, []byte(" ")))
}

// asksRenamed says whether a client that knows renames joins former names only: it is told the
// present ones, and joins those if it wants to. The log does not know what a client understands, so
// any other JOIN leads to the renamed room itself.
func (h *Hall) asksRenamed(c *Client, m *irc.Message) bool {
	if c.caps&channelRename == 0 {
		return false
	}
	for name := range strings.SplitSeq(m.Param(0), ",") {
		if name != "" && h.renamed(c.user, irc.Lower(name)) == nil {
			return false
		}
	}
	return strings.Trim(m.Param(0), ",") != ""
}

// joinRenamed answers such a JOIN.
func (h *Hall) joinRenamed(c *Client, m *irc.Message) Entry {
	keys := strings.Split(m.Param(1), ",")
	for i, name := range strings.Split(m.Param(0), ",") {
		key := ""
		if i < len(keys) {
			key = keys[i]
		}
		if r := h.renamed(c.user, irc.Lower(name)); r != nil {
			h.tellRenamed(c, c.user, r, name, key)
		}
	}
	return Entry{}
}

// tellRenamed tells a client which name a room has now. Of a hidden room, only a user who may join
// it is told; for all others the name is not free, and tellRenamed returns false.
func (h *Hall) tellRenamed(c *Client, u *user, r *room, name, key string) bool {
	if number, _ := h.joinError(r, h.entrant(r, u), key); number != "" && r.hidden() &&
		u.in(r) == nil {
		h.num(c, irc.ERR_UNAVAILRESOURCE, name+" :The name is kept for another channel")
		return false
	}
	const why = "The channel has been renamed"
	if c != nil && c.caps&channelRename != 0 {
		h.fail(c, "JOIN", "CHANNEL_RENAMED", name+" "+r.name, why)
	} else {
		h.num(c, irc.ERR_LINKCHANNEL, name+" "+r.name+" :"+why)
	}
	return true
}
