package hall

import (
	"fmt"

	"interleave/papaya/irc"
)

// A Role is what an account may do in the chat beside talking. It is in the entry that registers a
// user, so all servers agree.
type Role byte

// The roles. A user without an account is a Member.
const (
	Member   Role = 0
	Guest    Role = 'g' // may talk in rooms that exist, but not make any
	Operator Role = 'o' // may join every room, as an operator
	Admin    Role = 'a' // may also end sessions
)

// runs says whether the role makes its user operator of every room.
func (r Role) runs() bool { return r == Operator || r == Admin }

// String returns the role's letter, or nothing for a member.
func (r Role) String() string {
	if r == Member {
		return ""
	}
	return string(rune(r))
}

// parseRole parses a letter. An unknown one, perhaps of a later version, gives a guest's rights.
func parseRole(s string) Role {
	if s == "" {
		return Member
	}
	if r := Role(s[0]); r.runs() {
		return r
	}
	return Guest
}

// kill ends the sessions of a nick (KILL).
func (h *Hall) kill(s *session, m *irc.Message) {
	victim := h.nicks[irc.Lower(m.Param(0))]
	switch {
	case s.user.role != Admin:
		h.num(s.client, irc.ERR_NOPRIVILEGES, ":Permission Denied- You're not an administrator")
	case victim == nil:
		h.num(s.client, irc.ERR_NOSUCHNICK, middle(m.Param(0))+" :No such nick/channel")
	default:
		why := truncate(m.Param(1), maxTopic)
		victim.eachClient(h.newOut(s.user, "KILL "+victim.nick+" :"+why).to)
		h.depart(victim, fmt.Sprintf("Killed (%s (%s))", s.user.nick, why))
	}
}
