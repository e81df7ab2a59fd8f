package hall

import (
	"fmt"

	"interleave/papaya/irc"
)

// A Role is what an account may do in the chat beside talking. It goes through the log with those
// who come in, so that all servers agree.
type Role byte

// The roles. Who has no account is a member.
const (
	Member   Role = 0
	Guest    Role = 'g' // talks in rooms that are there
	Operator Role = 'o' // is operator of every room it comes into, and comes into all
	Admin    Role = 'a' // and ends sessions
)

// runs says whether somebody with this role runs rooms.
func (r Role) runs() bool { return r == Operator || r == Admin }

// String is the role's letter, nothing for a member.
func (r Role) String() string {
	if r == Member {
		return ""
	}
	return string(rune(r))
}

// parseRole reads a letter; what is not known, of a later version say, is a guest's.
func parseRole(s string) Role {
	if s == "" {
		return Member
	}
	if r := Role(s[0]); r.runs() {
		return r
	}
	return Guest
}

// kill ends the session of a nick.
func (h *Hall) kill(u *user, m *irc.Message) {
	victim := h.nicks[irc.Lower(m.Param(0))]
	switch {
	case u.role != Admin:
		h.num(u.client, irc.ERR_NOPRIVILEGES, ":Permission Denied- You're not an administrator")
	case victim == nil:
		h.num(u.client, irc.ERR_NOSUCHNICK, shown(m.Param(0))+" :No such nick/channel")
	default:
		why := limited(m.Param(1), maxTopic)
		h.newOut(u, "KILL "+victim.nick+" :"+why).to(victim.client)
		h.leave(victim, fmt.Sprintf("Killed (%s (%s))", u.nick, why))
	}
}
