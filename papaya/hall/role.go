package hall

import (
	"fmt"
	"slices"

	"interleave/papaya/irc"
)

// A Role is what an account may do in the chat beside talking. Its letter is in the entry that
// registers a user, so all servers agree. A user without an account has none, and may do what a
// Member may.
type Role string

// The roles. Each may also do what the next may.
const (
	Admin    Role = "admin"    // may end sessions
	Operator Role = "operator" // may join every room, as an operator
	Member   Role = "member"   // may make rooms
	Guest    Role = "guest"    // may talk in rooms that exist
)

var roles = []Role{Admin, Operator, Member, Guest}

// ParseRole parses a role as people type it, and as an account is stored.
func ParseRole(s string) (Role, error) {
	if r := Role(s); slices.Contains(roles, r) {
		return r, nil
	}
	return "", fmt.Errorf("role %q: expected admin, operator, member or guest", s)
}

// runs says whether the role makes its user operator of every room.
func (r Role) runs() bool { return r == Operator || r == Admin }

// Letter returns the role as the log and the state have it: empty for a member.
func (r Role) Letter() string {
	if r == Member || r == "" {
		return ""
	}
	return string(r[:1])
}

// roleOf returns the role of a letter. An unknown one, perhaps of a later version, gives a guest's
// rights.
func roleOf(letter string) Role {
	if letter == "" {
		return Member
	}
	for _, r := range roles {
		if r.runs() && r.Letter() == letter[:1] {
			return r
		}
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
