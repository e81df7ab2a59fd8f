package hall

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"interleave/papaya/bans"
	"interleave/papaya/irc"
)

// Bans of the whole server are in the log and in the state, so all servers have them. Those of
// accounts and masks are applied by all servers alike. Only the server of a client knows its
// address, so that server ends it, by the entry of Expelled.

// maxBans bounds the bans. maxBanWhy is in bytes. Both are guesses.
const (
	maxBans   = 1000
	maxBanWhy = 200
)

// bannedQuit is what others see of users that are banned.
const bannedQuit = "Banned"

// serverBans are the bans of the whole server.
type serverBans struct {
	list    bans.List
	next    int64  // when the next one ends; 0: none does
	changes uint64 // how often the list has changed since the start
	// expelled has the End entries of this server's clients whose address was banned: see Expelled.
	expelled []Entry
}

// Bans returns the bans, and how often they have changed since the start. Any goroutine may read
// them.
func (h *Hall) Bans() (list bans.List, changes uint64) { return h.bans.list, h.bans.changes }

// OpenBans returns the bans that have not ended.
func (h *Hall) OpenBans() bans.List {
	open, _ := h.bans.list.At(h.thisTime())
	return open
}

// Expelled returns the End entries of clients that were disconnected because their address was
// banned, each of them once. The caller must log them.
func (h *Hall) Expelled() []Entry {
	all := h.bans.expelled
	h.bans.expelled = nil
	return all
}

// Tick tells the hall the time of this server in milliseconds since 1970. Nothing that is saved
// depends on it.
func (h *Hall) Tick(now int64) { h.ticked = now }

// thisTime is the present time for answers to clients: that of the log, or of this server's clock
// if nothing was logged for a while.
func (h *Hall) thisTime() int64 { return max(h.now, h.ticked) }

// TurnsAway disconnects a new client whose address is banned at a time.
func (h *Hall) TurnsAway(c *Client, now int64) bool {
	b, banned := h.bans.list.Address(c.From, now)
	if banned {
		h.turnAway(c, b)
	}
	return banned
}

// turnAway tells a client of its ban, and disconnects it.
func (h *Hall) turnAway(c *Client, b bans.Ban) {
	if c == nil || c.closed {
		return
	}
	if h.config.TurnedAway != nil {
		h.config.TurnedAway()
	}
	c.captured = nil
	h.num(c, irc.ERR_YOUREBANNEDCREEP, ":"+b.Text())
	h.close(c, b.Text())
}

// bannedSource returns the ban whose mask a session has, or would have under another nick.
func (h *Hall) bannedSource(nick, name, host string) (bans.Ban, bool) {
	return h.bans.list.Source(fullSource(nick, name, host), h.now)
}

// bannedAccount returns the ban of an account.
func (h *Hall) bannedAccount(account string) (bans.Ban, bool) {
	return h.bans.list.Account(account, h.now)
}

// bannedEnter says whether a client that registers is banned, and turns it away then. words are
// those of its entry. c is nil if the client is on another server, or has gone.
func (h *Hall) bannedEnter(c *Client, words []string) bool {
	nick, name, host, account := words[0], words[1], words[2], words[4]
	b, banned := h.bannedAccount(account)
	if !banned {
		b, banned = h.bannedSource(nick, name, host)
	}
	if u := h.accounts[irc.Lower(account)]; !banned && account != "" && u != nil && h.here(u) {
		b, banned = h.bannedSource(u.nick, name, host)
	}
	if banned && c != nil {
		c.entering = false
		h.turnAway(c, b)
	}
	return banned
}

// bannedNick returns the ban that a user would have under another nick.
func (h *Hall) bannedNick(u *user, nick string) (b bans.Ban, banned bool) {
	for _, s := range u.sessions {
		if b, banned = h.bannedSource(nick, u.name, s.host); banned {
			break
		}
	}
	return b, banned
}

// setBans stores the bans.
func (h *Hall) setBans(list bans.List) {
	h.bans.list, h.bans.next = list, list.NextEnd()
	h.bans.changes++
}

// tellBan tells Config.Banned what has happened to a ban.
func (h *Hall) tellBan(what string, b bans.Ban) {
	if h.config.Banned != nil {
		h.config.Banned(what, b)
	}
}

// endBans removes the bans that have ended.
func (h *Hall) endBans() {
	if h.bans.next == 0 || h.now < h.bans.next {
		return
	}
	open, ended := h.bans.list.At(h.now)
	h.setBans(open)
	for _, b := range ended {
		h.tellBan("ended", b)
	}
}

// renameBan lets the ban of an account go with its new name.
func (h *Hall) renameBan(from, name string) {
	if _, banned := h.bans.list.Account(from, 0); banned {
		h.setBans(h.bans.list.Renamed(from, name))
	}
}

// errMaxBans reports that there are too many bans for another one.
var errMaxBans = fmt.Errorf("there are %d bans already", maxBans)

// addBan adds a ban, and ends the sessions that it is for. It says what was done.
func (h *Hall) addBan(target, length, by, why string) (done string, err error) {
	t, err := bans.Parse(target)
	ms, failed := strconv.ParseInt(length, 10, 64)
	if err != nil || failed != nil || ms < 0 {
		return "", fmt.Errorf("%s is not understood", middle(target))
	}
	b := bans.Ban{Target: t, By: by, Why: truncate(why, maxBanWhy), Set: h.now}
	if ms > 0 {
		b.Until = h.now + ms
	}
	list := h.bans.list.With(b)
	if len(list) > maxBans {
		return "", errMaxBans
	}
	h.setBans(list)
	h.tellBan("added", b)
	until := "for ever"
	if b.Until != 0 {
		until = "until " + b.End()
	}
	return fmt.Sprintf("%s is banned %s. Connections that were ended: %d", t, until,
		h.expel(b)), nil
}

// removeBan removes a ban. It returns false if there is none.
func (h *Hall) removeBan(t bans.Target) bool {
	list, b, found := h.bans.list.Without(t)
	if found {
		h.setBans(list)
		h.tellBan("removed", b)
	}
	return found
}

// expel ends all sessions that a ban is for, and returns their number. Of those that are found by
// their address, it ends and counts those of this server.
func (h *Hall) expel(b bans.Ban) (n int) {
	switch b.Target.Kind() {
	case bans.Account:
		folded := irc.Lower(b.Target.Account())
		for _, nick := range sorted(h.nicks) {
			if u := h.nicks[nick]; u != nil && u.uses(folded) {
				n += h.cast(u, b)
			}
		}
		if a := h.accounts[folded]; a != nil {
			h.leaveAll(a)
		}
	case bans.Mask:
		for _, nick := range sorted(h.nicks) {
			if u := h.nicks[nick]; u != nil {
				n += h.castMask(u, b)
			}
		}
	case bans.Network:
		for _, id := range sorted(h.clients) {
			if c := h.clients[id]; b.Target.HasAddress(c.From) {
				h.drop(c, b)
				n++
			}
		}
	}
	return n
}

// cast ends all sessions of a user, and returns their number. A banned account and a guest leave
// their rooms. Another account stays an absent member of them.
func (h *Hall) cast(u *user, b bans.Ban) int {
	n, leaves := len(u.sessions), !u.lasting() || b.Target.HasAccount(u.account)
	h.dismiss(u, bannedQuit, !leaves, func(c *Client) { h.turnAway(c, b) })
	return n
}

// castSession ends a session. If it is the last one of its user, others see that the user leaves,
// or is away if the user stays.
func (h *Hall) castSession(s *session, b bans.Ban) {
	u := s.user
	if u.endsWithOne() {
		h.cast(u, b)
		return
	}
	h.detach(s)
	h.turnAway(s.client, b)
	h.updateAway(u)
}

// castMask ends those sessions of a user that have the mask of a ban. An account that stays without
// a session, and has the mask, is no longer seen by others.
func (h *Hall) castMask(u *user, b bans.Ban) (n int) {
	for _, s := range slices.Clone(u.sessions) {
		if h.here(u) && b.Target.HasSource(s.source()) {
			h.castSession(s, b)
			n++
		}
	}
	if h.here(u) && len(u.sessions) == 0 && b.Target.HasSource(u.source) {
		h.cast(u, b)
	}
	return n
}

// source is that of the user if it had this session only.
func (s *session) source() string { return fullSource(s.user.nick, s.user.name, s.host) }

// drop disconnects a client of this server. If it has registered, its session ends when the entry
// that Expelled returns has come back from the log.
func (h *Hall) drop(c *Client, b bans.Ban) {
	registered := c.user != nil || c.entering
	words := "-" + formatLags(c.lags()) + "\n" + bannedQuit
	h.turnAway(c, b)
	if !registered {
		return
	}
	if s := c.session; s != nil {
		for _, in := range s.user.rooms {
			in.room.hide(c)
		}
		s.client = nil
	}
	h.bans.expelled = append(h.bans.expelled,
		Entry{Client: c.ID, Kind: End, Data: []byte(words)})
}

// leaveAll takes an account out of the rooms whose absent member it is.
func (h *Hall) leaveAll(u *user) {
	for _, name := range sorted(h.rooms) {
		r := h.rooms[name]
		delete(r.absent, u.key())
		h.removeEmpty(r)
	}
}

// applyBan applies what an operator has said by UBAN: + and the ban, or - and its target, each word
// in a line.
func (h *Hall) applyBan(s *session, data []byte) {
	word := append(strings.SplitN(string(data), orderWords, 4), "", "", "", "")
	c, u := s.client, s.user
	if !u.role.runs() { // the role was taken from it meanwhile
		h.notOperator(c)
		return
	}
	if word[0] == "+" {
		done, err := h.addBan(word[1], word[2], u.operator(), word[3])
		if err != nil {
			done = "Not done: " + err.Error()
		}
		h.inform(c, done)
		return
	}
	if t, err := bans.Parse(word[1]); err == nil && h.removeBan(t) {
		h.inform(c, t.String()+" is not banned any more")
	} else {
		h.inform(c, "Not done: there is no ban of "+middle(word[1]))
	}
}

// operator names a user in what it does as an operator: by the account whose role it has.
func (u *user) operator() string { return cmp.Or(u.oper, u.account, u.nick) }

func (h *Hall) notOperator(c *Client) {
	h.num(c, irc.ERR_NOPRIVILEGES, ":Permission Denied- You're not an operator")
}

// inform is a notice of the server.
func (h *Hall) inform(c *Client, text string) {
	if c != nil {
		h.say(c, "NOTICE "+c.Nick()+" :"+text)
	}
}

// banLine shows a ban, in a form that programs can read, too: key=value, and the reason.
func banLine(b bans.Ban) string {
	until := "forever"
	if b.Until != 0 {
		until = when(b.Until)
	}
	return fmt.Sprintf("ban %s %s by=%s set=%s until=%s %s", b.Target.Kind(), b.Target,
		strings.ReplaceAll(b.By, " ", "_"), when(b.Set), until, b.Why)
}
