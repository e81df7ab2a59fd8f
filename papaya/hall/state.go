package hall

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"interleave/papaya/bans"
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
		Users   []savedUser // those that are here by nick, then the other accounts by name
		Known   map[string]uint64
		Rooms   []savedRoom
		Index   map[string][]uint32

		ConversationsFrom uint64  `json:",omitempty"`
		MsgidsFrom        *uint64 `json:",omitempty"` // see msgid.go

		Bans       []savedServerBan `json:",omitempty"`
		Reports    []savedReport    `json:",omitempty"`
		LastReport uint64           `json:",omitempty"`
		Nearby     []savedNearby    `json:",omitempty"`
		Edits      []uint64         `json:",omitempty"` // of versions: of, at, size
	}
	savedNearby struct {
		Of   uint64
		Time int64
		At   uint64 `json:",omitempty"`
		Size int    `json:",omitempty"`
	}
	savedPeer struct {
		Run    int64
		Number uint64
		Seen   int64
		Gone   bool  `json:",omitempty"`
		Clock  int64 `json:",omitempty"`
	}
	savedUser struct {
		Nick, Name, Host, Real, Account raw
		Away                            raw            `json:",omitempty"`
		Role                            raw            `json:",omitempty"`
		Oper                            raw            `json:",omitempty"`
		Here                            bool           `json:",omitempty"`
		Stays                           bool           `json:",omitempty"`
		Apart                           bool           `json:",omitempty"`
		Invisible                       bool           `json:",omitempty"`
		Styles                          raw            `json:",omitempty"`
		Facts                           map[string]raw `json:",omitempty"`
		Accepts                         []raw          `json:",omitempty"`
		Inbox                           uint64
		NickAt                          uint64           `json:",omitempty"`
		Talks                           []savedTalk      `json:",omitempty"`
		Left                            int64            `json:",omitempty"`
		Names                           []savedTenure    `json:",omitempty"`
		Read                            map[string]int64 `json:",omitempty"`
		Sessions                        []savedSession   `json:",omitempty"`
	}
	savedTalk struct {
		Nick raw
		At   uint64
		Time int64
	}
	savedTenure struct {
		Nick  raw
		From  uint64
		Until uint64 `json:",omitempty"`
	}
	savedSession struct {
		Server raw
		Run    int64
		ID     uint64
		Host   raw
		Secure bool
		Since  int64
		Away   raw `json:",omitempty"`
	}
	savedRoom struct {
		Name         raw
		Created      int64
		Founder      raw               `json:",omitempty"`
		Since        uint64            `json:",omitempty"`
		Named        uint64            `json:",omitempty"`
		Former       []savedTenure     `json:",omitempty"`
		Taken        []raw             `json:",omitempty"`
		Topic, SetBy raw               `json:",omitempty"`
		SetAt        int64             `json:",omitempty"`
		Modes        raw               `json:",omitempty"` // of usualModes
		Styles       raw               `json:",omitempty"` // other modeLetters
		Open         bool              `json:",omitempty"`
		Facts        map[string]raw    `json:",omitempty"`
		Key          raw               `json:",omitempty"`
		Limit        int               `json:",omitempty"`
		Offered      raw               `json:",omitempty"`
		Bans         []savedBan        `json:",omitempty"`
		Excepts      []savedBan        `json:",omitempty"`
		Invexes      []savedBan        `json:",omitempty"`
		Quiets       []savedBan        `json:",omitempty"`
		Rights       map[string]raw    `json:",omitempty"`
		Invited      map[string]bool   `json:",omitempty"` // by user.key
		Here         []savedMember     `json:",omitempty"`
		Absent       map[string]uint64 `json:",omitempty"` // by user.key
	}
	savedBan struct {
		Mask, By raw
		At       int64
	}
	savedServerBan struct {
		Target, By, Why raw
		Set             int64
		Until           int64 `json:",omitempty"`
	}
	savedMember struct {
		Nick      raw
		Mark      uint64
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

// stateFormat changes when known keys change their meaning. A state of an older format becomes one
// of this when it is loaded: 1 and 2 had a user for each connection (older.go), and 3 no
// conversations in the index.
const (
	stateFormat         = 4
	formatAccounts      = 3 // the first in which an account was a user
	formatConversations = 4 // the first with conversations in the index
)

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

// A Snapshot is the state at one time. The hall goes on, and any goroutine may encode it.
type Snapshot struct{ state savedHall }

// Encode returns the saved form.
func (s Snapshot) Encode() ([]byte, error) { return json.Marshal(s.state) }

// Save returns the state in its saved form.
func (h *Hall) Save() ([]byte, error) { return h.Snapshot().Encode() }

// Snapshot copies the state. Encoding it takes several times as long.
func (h *Hall) Snapshot() Snapshot {
	s := savedHall{Format: stateFormat, At: h.at, Now: h.now, Servers: map[string]savedPeer{},
		Known: map[string]uint64{}, Index: map[string][]uint32{},
		ConversationsFrom: h.conversationsFrom, MsgidsFrom: h.ids.from}
	for name, chunks := range h.index {
		s.Index[key(name)] = chunks // their chunks never change, there are only more
	}
	for name, p := range h.servers {
		s.Servers[key(name)] = savedPeer{p.run, p.number, p.seen, p.gone, p.clock}
	}
	for nick, mark := range h.known {
		s.Known[key(nick)] = mark
	}
	for _, nick := range sorted(h.nicks) {
		s.Users = append(s.Users, h.nicks[nick].save(true))
	}
	for _, account := range sorted(h.accounts) {
		if u := h.accounts[account]; !h.here(u) {
			s.Users = append(s.Users, u.save(false))
		}
	}
	for _, name := range sorted(h.rooms) {
		s.Rooms = append(s.Rooms, h.rooms[name].save())
	}
	for _, b := range h.bans.list {
		s.Bans = append(s.Bans,
			savedServerBan{raw(b.Target.String()), raw(b.By), raw(b.Why), b.Set, b.Until})
	}
	for _, n := range h.nearby {
		s.Nearby = append(s.Nearby, savedNearby{n.of, n.time, n.span.At, n.span.Size})
	}
	for v := range h.versions.all() {
		s.Edits = append(s.Edits, v.of, v.at, uint64(v.size))
	}
	for _, r := range h.reports.list {
		s.Reports = append(s.Reports, r.save())
	}
	s.LastReport = h.reports.last
	return Snapshot{s}
}

func (u *user) save(here bool) savedUser {
	out := savedUser{Nick: raw(u.nick), Name: raw(u.name), Host: raw(u.host), Real: raw(u.real),
		Account: raw(u.account), Away: raw(u.away), Role: raw(u.role.Letter()), Oper: raw(u.oper),
		Here: here, Stays: u.stays, Apart: u.apart, Invisible: u.invisible, Inbox: u.inbox,
		Left: u.left}
	if !u.lasting() {
		out.NickAt = u.nickAt
	}
	for _, letter := range []byte(styleLetters) {
		if u.styles[letter] {
			out.Styles += raw(letter)
		}
	}
	out.Facts = u.facts.save()
	for _, nick := range sorted(u.accepts) {
		out.Accepts = append(out.Accepts, raw(nick))
	}
	for _, folded := range sorted(u.talks) {
		t := u.talks[folded]
		out.Talks = append(out.Talks, savedTalk{raw(t.name), t.at, t.time})
	}
	for target, ms := range u.read {
		if out.Read == nil {
			out.Read = map[string]int64{}
		}
		out.Read[key(target)] = ms
	}
	for _, t := range u.names {
		out.Names = append(out.Names, savedTenure{raw(t.nick), t.from, t.until})
	}
	for _, s := range u.sessions {
		out.Sessions = append(out.Sessions, savedSession{raw(s.origin.server), s.origin.run, s.id,
			raw(s.host), s.secure, s.since, raw(s.away)})
	}
	return out
}

func (r *room) save() savedRoom {
	out := savedRoom{Name: raw(r.name), Created: r.created, Founder: raw(r.founder), Since: r.since,
		Topic: raw(r.topic), SetBy: raw(r.setBy), SetAt: r.setAt, Key: raw(r.key), Limit: r.limit,
		Offered: raw(r.offered), Open: r.open,
		Rights: map[string]raw{}, Invited: map[string]bool{}, Absent: map[string]uint64{}}
	for _, letter := range []byte(modeLetters) {
		switch {
		case !r.modes[letter]:
		case strings.IndexByte(usualModes, letter) >= 0:
			out.Modes += raw(letter)
		default:
			out.Styles += raw(letter)
		}
	}
	for letter, list := range out.lists() {
		for _, b := range r.lists[letter] {
			*list = append(*list, savedBan{raw(b.mask), raw(b.by), b.at})
		}
	}
	out.Facts = r.facts.save()
	if len(r.former) > 0 {
		out.Named = r.named
	}
	for _, t := range r.former {
		out.Former = append(out.Former, savedTenure{raw(t.nick), t.from, t.until})
	}
	for _, name := range sorted(r.taken) {
		out.Taken = append(out.Taken, raw(name))
	}
	for account, right := range r.rights {
		out.Rights[key(account)] = raw(right)
	}
	for who := range r.invited {
		out.Invited[key(who)] = true
	}
	for _, m := range r.here {
		out.Here = append(out.Here, savedMember{raw(m.user.nick), m.mark, m.op, m.voice})
	}
	for who, mark := range r.absent {
		out.Absent[key(who)] = mark
	}
	return out
}

// save returns metadata in its saved form, whose keys are ASCII; nil if there are none.
func (f facts) save() map[string]raw {
	if len(f) == 0 {
		return nil
	}
	out := map[string]raw{}
	for key, value := range f {
		out[key] = raw(value)
	}
	return out
}

func loadFacts(saved map[string]raw) facts {
	if len(saved) == 0 {
		return nil
	}
	out := facts{}
	for key, value := range saved {
		out[key] = string(value)
	}
	return out
}

// lists are the lists of a room by their letters.
func (v *savedRoom) lists() map[byte]*[]savedBan {
	return map[byte]*[]savedBan{'b': &v.Bans, 'e': &v.Excepts, 'I': &v.Invexes, 'q': &v.Quiets}
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
	into := any(&s)
	older := olderHall{}
	format := s.Format
	if format < formatAccounts {
		into = &older
	}
	strict := json.NewDecoder(bytes.NewReader(state))
	strict.DisallowUnknownFields()
	if err := strict.Decode(into); err != nil {
		return nil, fmt.Errorf("reading the state, which may be of a newer version: %w", err)
	}
	if format < formatAccounts {
		s = older.upgrade()
	}
	h := empty(config, s.At)
	h.now, h.conversationsFrom = s.Now, s.ConversationsFrom
	if s.MsgidsFrom != nil {
		h.beginMsgids(*s.MsgidsFrom)
	}
	if format < formatConversations {
		h.conversationsFrom = s.At
	}
	for name, p := range s.Servers {
		h.servers[unkey(name)] = &peer{p.Run, p.Number, p.Seen, cmp.Or(p.Clock, p.Seen), p.Gone}
	}
	for nick, mark := range s.Known {
		h.known[unkey(nick)] = mark
	}
	for name, chunks := range s.Index {
		h.index[unkey(name)] = chunks
	}
	for _, n := range s.Nearby {
		h.nearby = append(h.nearby, nearby{n.Of, n.Time, Span{n.At, n.Size}})
	}
	var edits []version
	for v := range slices.Chunk(s.Edits, 3) {
		if len(v) == 3 {
			edits = append(edits, version{v[0], v[1], int(v[2])})
		}
	}
	h.versions = versionsOf(edits)
	for _, v := range s.Users {
		h.loadUser(v)
	}
	for _, v := range s.Rooms {
		if err := h.load(v); err != nil {
			return nil, err
		}
	}
	h.loadReports(s.Reports, s.LastReport)
	return h, h.loadBans(s.Bans)
}

func (h *Hall) loadBans(saved []savedServerBan) error {
	var list bans.List
	for _, v := range saved {
		t, err := bans.Parse(string(v.Target))
		if err != nil {
			return fmt.Errorf("reading the state: the ban of %q: %w", string(v.Target), err)
		}
		list = append(list, bans.Ban{Target: t, By: string(v.By), Why: string(v.Why), Set: v.Set,
			Until: v.Until})
	}
	h.setBans(list)
	return nil
}

func (h *Hall) loadUser(v savedUser) {
	u := &user{name: string(v.Name), host: string(v.Host), real: string(v.Real),
		account: string(v.Account), away: string(v.Away), role: roleOf(string(v.Role)),
		oper: string(v.Oper), stays: v.Stays, apart: v.Apart, invisible: v.Invisible,
		inbox: v.Inbox, nickAt: v.NickAt, left: v.Left}
	u.rename(string(v.Nick))
	for _, letter := range []byte(v.Styles) {
		u.setStyle(letter, true)
	}
	u.facts = loadFacts(v.Facts)
	for _, nick := range v.Accepts {
		u.accept(string(nick), true)
	}
	for _, t := range v.Talks {
		if u.talks == nil {
			u.talks = map[string]talk{}
		}
		u.talks[irc.Lower(string(t.Nick))] = talk{string(t.Nick), t.At, t.Time}
	}
	for target, ms := range v.Read {
		u.joinMarkers(map[string]int64{unkey(target): ms})
	}
	for _, w := range v.Sessions {
		s := &session{origin: origin{string(w.Server), w.Run}, id: w.ID, user: u,
			host: string(w.Host), secure: w.Secure, since: w.Since, away: string(w.Away)}
		u.sessions = append(u.sessions, s)
		if h.sessions[s.origin] == nil {
			h.sessions[s.origin] = map[uint64]*session{}
		}
		h.sessions[s.origin][s.id] = s
	}
	if v.Here {
		h.nicks[irc.Lower(u.nick)] = u
	}
	if u.apart {
		h.aparts++
	}
	if !u.lasting() {
		return
	}
	if len(u.sessions) == 0 && u.left == 0 { // saved by a version that did not note it
		u.left = h.now
	}
	h.accounts[irc.Lower(u.account)] = u
	for _, t := range v.Names {
		u.names = append(u.names, tenure{string(t.Nick), t.From, t.Until})
		if t.Until == 0 && !(v.Here && string(t.Nick) == irc.Lower(u.nick)) {
			h.held[string(t.Nick)] = u
		}
	}
	h.noteAliases(u)
}

func (h *Hall) load(v savedRoom) error {
	r := newRoom(string(v.Name), v.Created, v.Since)
	r.topic, r.setBy, r.setAt = string(v.Topic), string(v.SetBy), v.SetAt
	r.key, r.limit, r.open = string(v.Key), v.Limit, v.Open
	r.facts = loadFacts(v.Facts)
	for _, t := range v.Former {
		r.former, r.named = append(r.former, tenure{string(t.Nick), t.From, t.Until}), v.Named
	}
	for _, name := range v.Taken {
		r.taken[string(name)] = true
	}
	h.noteFormer(r)
	if r.founder, r.offered = string(v.Founder), string(v.Offered); r.founder != "" {
		h.founded[r.founder]++
	}
	for who := range v.Invited {
		r.invited[unkey(who)] = true
	}
	for _, letter := range []byte(v.Modes + v.Styles) {
		r.modes[letter] = true
	}
	for letter, list := range v.lists() {
		for _, b := range *list {
			r.lists[letter] = append(r.lists[letter], ban{string(b.Mask), string(b.By), b.At})
		}
	}
	for account, right := range v.Rights {
		if right == "" {
			return fmt.Errorf("reading the state: room %s: %s has no right", v.Name, account)
		}
		r.rights[unkey(account)] = right[0]
	}
	for who, mark := range v.Absent {
		r.absent[unkey(who)] = mark
	}
	for _, m := range v.Here {
		u := h.nicks[irc.Lower(string(m.Nick))]
		if u == nil {
			return fmt.Errorf("reading the state: room %s: there is no user %s", v.Name, m.Nick)
		}
		in := &member{user: u, room: r, mark: m.Mark, op: m.Op, voice: m.Voice}
		r.here = append(r.here, in)
		u.rooms = append(u.rooms, in)
	}
	h.rooms[irc.Lower(r.name)] = r
	return nil
}
