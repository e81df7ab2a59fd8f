package hall

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"interleave/papaya/irc"
)

// The saved form of the state after a batch. The same batches give the same bytes. A program
// refuses a state with an unknown key, since it would save the state again without that key.
type (
	savedHall struct {
		Format  int
		At      uint64
		Now     int64
		Servers map[string]savedPeer
		Users   []savedUser
		Known   map[string]savedKnown
		Rooms   []savedRoom
		Index   map[string][]uint32
	}
	savedPeer struct {
		Run    int64
		Number uint64
		Seen   int64
		Gone   bool  `json:",omitempty"`
		Clock  int64 `json:",omitempty"`
	}
	savedKnown struct {
		Mark    uint64
		Account raw    `json:",omitempty"`
		Since   uint64 `json:",omitempty"`
	}
	savedUser struct {
		Server                                raw
		Run                                   int64
		ID                                    uint64
		Nick, Name, Host, Real, Account, Away raw
		Role                                  raw `json:",omitempty"`
		Secure                                bool
		Invisible                             bool `json:",omitempty"`
		Since                                 int64
		Inbox                                 savedMark
	}
	savedMark struct {
		At  uint64
		Lag bool `json:",omitempty"`
	}
	savedRoom struct {
		Name         raw
		Created      int64
		Founder      raw                   `json:",omitempty"`
		Since        uint64                `json:",omitempty"`
		Topic, SetBy raw                   `json:",omitempty"`
		SetAt        int64                 `json:",omitempty"`
		Modes        raw                   `json:",omitempty"`
		Key          raw                   `json:",omitempty"`
		Limit        int                   `json:",omitempty"`
		Bans         []savedBan            `json:",omitempty"`
		Rights       map[string]raw        `json:",omitempty"`
		Invited      map[string]bool       `json:",omitempty"`
		Here         []savedMember         `json:",omitempty"`
		Absent       map[string]savedKnown `json:",omitempty"`
	}
	savedBan struct {
		Mask, By raw
		At       int64
	}
	savedMember struct {
		Nick      raw
		Mark      savedMark
		Op, Voice bool `json:",omitempty"`
	}
)

// raw is a name or text of any bytes. JSON strings are Unicode, so each byte is written as the
// character of that number.
type raw string

// MarshalText implements encoding.TextMarshaler.
func (r raw) MarshalText() ([]byte, error) {
	out := make([]byte, 0, len(r))
	for i := range len(r) {
		out = utf8.AppendRune(out, rune(r[i]))
	}
	return out, nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *raw) UnmarshalText(text []byte) error {
	out := make([]byte, 0, len(text))
	for _, letter := range string(text) {
		if letter > 0xFF {
			return fmt.Errorf("%q has a character that is no byte", text)
		}
		out = append(out, byte(letter))
	}
	*r = raw(out)
	return nil
}

// stateFormat changes when known keys change their meaning. Programs that knew only format 1
// ignored unknown keys, so a state with newer keys has format 2.
const stateFormat = 2

// key returns a name as a map key, because encoding/json does not call MarshalText for keys of
// strings. unkey is its inverse.
func key(name string) string {
	text, _ := raw(name).MarshalText() // it never fails
	return string(text)
}

func unkey(key string) string {
	var r raw
	if r.UnmarshalText([]byte(key)) != nil {
		return key // not written by this program
	}
	return string(r)
}

// Save returns the state in its saved form.
func (h *Hall) Save() ([]byte, error) {
	s := savedHall{Format: stateFormat, At: h.at, Now: h.now, Servers: map[string]savedPeer{},
		Known: map[string]savedKnown{}, Index: map[string][]uint32{}}
	for name, chunks := range h.index {
		s.Index[key(name)] = chunks
	}
	for name, p := range h.servers {
		s.Servers[key(name)] = savedPeer{p.run, p.number, p.seen, p.gone, p.clock}
	}
	for nick, k := range h.known {
		s.Known[key(nick)] = savedKnown{k.mark, raw(k.account), k.since}
	}
	for _, nick := range sorted(h.nicks) {
		u := h.nicks[nick]
		s.Users = append(s.Users, savedUser{raw(u.origin.server), u.origin.run, u.id, raw(u.nick),
			raw(u.name), raw(u.host), raw(u.real), raw(u.account), raw(u.away),
			raw(u.role.String()), u.secure, u.invisible, u.since, u.inbox.save()})
	}
	for _, name := range sorted(h.rooms) {
		s.Rooms = append(s.Rooms, h.rooms[name].save())
	}
	return json.Marshal(s)
}

func (r *room) save() savedRoom {
	out := savedRoom{Name: raw(r.name), Created: r.created, Founder: raw(r.founder), Since: r.since,
		Topic: raw(r.topic), SetBy: raw(r.setBy), SetAt: r.setAt, Key: raw(r.key), Limit: r.limit,
		Rights: map[string]raw{}, Invited: map[string]bool{}, Absent: map[string]savedKnown{}}
	for _, letter := range []byte(modeLetters) {
		if r.modes[letter] {
			out.Modes += raw(letter)
		}
	}
	for _, b := range r.bans {
		out.Bans = append(out.Bans, savedBan{raw(b.mask), raw(b.by), b.at})
	}
	for account, right := range r.rights {
		out.Rights[key(account)] = raw(right)
	}
	for nick := range r.invited {
		out.Invited[key(nick)] = true
	}
	for _, m := range r.here {
		out.Here = append(out.Here, savedMember{raw(m.user.nick), m.mark.save(), m.op, m.voice})
	}
	for nick, a := range r.absent {
		out.Absent[key(nick)] = savedKnown{Mark: a.mark, Account: raw(a.account)}
	}
	return out
}

// Load makes a hall from a saved state.
func Load(config Config, state []byte) (*Hall, error) {
	var s savedHall
	if err := json.Unmarshal(state, &struct{ Format *int }{&s.Format}); err != nil {
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	if s.Format < 1 || s.Format > stateFormat {
		return nil,
			fmt.Errorf("the state has the format %d, and this version reads 1 to %d: start the "+
				"version that has saved it", s.Format, stateFormat)
	}
	strict := json.NewDecoder(bytes.NewReader(state))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&s); err != nil {
		return nil, fmt.Errorf("reading the state, which may be of a newer version: %w", err)
	}
	h := New(config, s.At)
	h.now = s.Now
	for name, p := range s.Servers {
		h.servers[unkey(name)] = &peer{p.Run, p.Number, p.Seen, cmp.Or(p.Clock, p.Seen), p.Gone}
	}
	for nick, k := range s.Known {
		h.known[unkey(nick)] = &known{account: string(k.Account), mark: k.Mark, since: k.Since}
	}
	for name, chunks := range s.Index {
		h.index[unkey(name)] = chunks
	}
	for _, v := range s.Users {
		o := origin{string(v.Server), v.Run}
		u := &user{origin: o, id: v.ID, nick: string(v.Nick), name: string(v.Name),
			host: string(v.Host), real: string(v.Real), account: string(v.Account),
			away: string(v.Away), role: parseRole(string(v.Role)),
			secure: v.Secure, invisible: v.Invisible, since: v.Since,
			inbox:  mark{v.Inbox.At, v.Inbox.Lag},
			source: string(v.Nick + "!" + v.Name + "@" + v.Host)}
		if h.users[o] == nil {
			h.users[o] = map[uint64]*user{}
		}
		h.users[o][u.id] = u
		h.nicks[irc.Lower(u.nick)] = u
	}
	for _, v := range s.Rooms {
		if err := h.load(v); err != nil {
			return nil, err
		}
	}
	return h, nil
}

func (h *Hall) load(v savedRoom) error {
	r := &room{name: string(v.Name), created: v.Created, founder: string(v.Founder), since: v.Since,
		topic: string(v.Topic), setBy: string(v.SetBy), setAt: v.SetAt, key: string(v.Key),
		limit: v.Limit,
		modes: map[byte]bool{}, rights: map[string]byte{}, invited: map[string]bool{},
		absent: map[string]absent{}}
	for nick := range v.Invited {
		r.invited[unkey(nick)] = true
	}
	for _, letter := range []byte(v.Modes) {
		r.modes[letter] = true
	}
	for _, b := range v.Bans {
		r.bans = append(r.bans, ban{string(b.Mask), string(b.By), b.At})
	}
	for account, right := range v.Rights {
		if right == "" {
			return fmt.Errorf("reading the state: room %s: %s has no right", v.Name, account)
		}
		r.rights[unkey(account)] = right[0]
	}
	for nick, a := range v.Absent {
		r.absent[unkey(nick)] = absent{a.Mark, string(a.Account)}
	}
	for _, m := range v.Here {
		u := h.nicks[irc.Lower(string(m.Nick))]
		if u == nil {
			return fmt.Errorf("reading the state: room %s: there is no user %s", v.Name, m.Nick)
		}
		in := &member{user: u, room: r, mark: mark{m.Mark.At, m.Mark.Lag}, op: m.Op, voice: m.Voice}
		r.here = append(r.here, in)
		u.rooms = append(u.rooms, in)
	}
	h.rooms[irc.Lower(r.name)] = r
	return nil
}

func (m mark) save() savedMark { return savedMark{m.at, m.lag} }
