package hall

import (
	"cmp"
	"slices"

	"interleave/papaya/irc"
)

// The saved form of the state in the formats 1 and 2, in which each connection was a user. Format 1
// has the same keys or fewer.
type (
	olderHall struct {
		Format  int
		At      uint64
		Now     int64
		Servers map[string]savedPeer
		Users   []olderUser
		Known   map[string]olderKnown // nicks that were used
		Rooms   []olderRoom
		Index   map[string][]uint32
	}
	olderKnown struct {
		Mark    uint64
		Account raw    // the nick's owner
		Since   uint64 // the offset from which on the nick has this owner
	}
	olderUser struct {
		Server                                raw
		Run                                   int64
		ID                                    uint64
		Nick, Name, Host, Real, Account, Away raw
		Role                                  raw
		Secure                                bool
		Invisible                             bool
		Since                                 int64
		Inbox                                 olderMark
	}
	olderMark struct {
		At  uint64
		Lag bool
	}
	olderRoom struct {
		Name         raw
		Created      int64
		Founder      raw
		Since        uint64
		Topic, SetBy raw
		SetAt        int64
		Modes        raw
		Key          raw
		Limit        int
		Bans         []savedBan
		Rights       map[string]raw
		Invited      map[string]bool // folded nicks
		Here         []olderMember
		Absent       map[string]olderKnown // by folded nick
	}
	olderMember struct {
		Nick      raw
		Mark      olderMark
		Op, Voice bool
	}
)

// upgrade makes a state of format 3. The connections of accounts become users apart, which end when
// their server begins again, and every account gets a user that is not here: with the nicks that it
// owns, and as an absent member of its rooms.
func (o olderHall) upgrade() savedHall {
	s := savedHall{Format: stateFormat, At: o.At, Now: o.Now, Servers: o.Servers,
		Known: map[string]uint64{}, Index: o.Index}
	for _, u := range o.Users {
		s.Users = append(s.Users, u.upgrade())
	}
	accounts := map[string]*savedUser{}
	for _, nick := range sorted(o.Known) {
		k := o.Known[nick]
		if k.Account == "" {
			s.Known[nick] = k.Mark
			continue
		}
		a := olderAccount(accounts, k.Account)
		a.Names = append(a.Names, savedTenure{Nick: raw(unkey(nick)), From: k.Since})
		// The nick of its own name is the account's, and else the first one.
		if len(a.Names) == 1 || unkey(nick) == irc.Lower(string(k.Account)) {
			a.Nick, a.Inbox = raw(unkey(nick)), k.Mark
		}
	}
	for _, r := range o.Rooms {
		s.Rooms = append(s.Rooms, r.upgrade(o.Known, accounts))
	}
	for _, u := range o.Users { // the name of an account as it is written
		if a := accounts[irc.Lower(string(u.Account))]; a != nil {
			a.Account = u.Account
		}
	}
	for _, account := range sorted(accounts) {
		a := accounts[account]
		slices.SortStableFunc(a.Names,
			func(x, y savedTenure) int { return cmp.Compare(x.From, y.From) })
		s.Users = append(s.Users, *a)
	}
	return s
}

// olderAccount returns the user of an account, which is made if there is none.
func olderAccount(accounts map[string]*savedUser, account raw) *savedUser {
	folded := irc.Lower(string(account))
	if accounts[folded] == nil {
		accounts[folded] = &savedUser{Account: account, Nick: account}
	}
	return accounts[folded]
}

func (u olderUser) upgrade() savedUser {
	return savedUser{Nick: u.Nick, Name: u.Name, Host: u.Host, Real: u.Real, Account: u.Account,
		Away: u.Away, Role: u.Role, Here: true, Apart: u.Account != "", Invisible: u.Invisible,
		Inbox: u.Inbox.At,
		Sessions: []savedSession{{Server: u.Server, Run: u.Run, ID: u.ID, Host: u.Host,
			Secure: u.Secure, Since: u.Since, Away: u.Away}}}
}

func (r olderRoom) upgrade(known map[string]olderKnown, accounts map[string]*savedUser) savedRoom {
	out := savedRoom{Name: r.Name, Created: r.Created, Founder: r.Founder, Since: r.Since,
		Topic: r.Topic, SetBy: r.SetBy, SetAt: r.SetAt, Modes: r.Modes, Key: r.Key, Limit: r.Limit,
		Bans: r.Bans, Rights: r.Rights, Invited: map[string]bool{}, Absent: map[string]uint64{}}
	for nick := range r.Invited {
		who := nick
		if k := known[nick]; k.Account != "" {
			who = key(accountKey(string(k.Account)))
		}
		out.Invited[who] = true
	}
	for _, m := range r.Here {
		out.Here = append(out.Here, savedMember{m.Nick, m.Mark.At, m.Op, m.Voice})
	}
	for _, nick := range sorted(r.Absent) {
		a, who := r.Absent[nick], nick
		if a.Account != "" {
			olderAccount(accounts, a.Account)
			who = key(accountKey(string(a.Account)))
		}
		mark, was := out.Absent[who] // under another nick
		if !was {
			mark = a.Mark
		}
		out.Absent[who] = min(mark, a.Mark)
	}
	return out
}
