package hall

import (
	"slices"
	"testing"

	"interleave/papaya/irc"
)

// checkAliases compares h.aliases with the accounts.
func (h *Hall) checkAliases(t *testing.T) {
	t.Helper()
	want := map[string][]*user{}
	for name, u := range h.accounts {
		for _, n := range u.names {
			if n.nick != name && !slices.Contains(want[n.nick], u) {
				want[n.nick] = append(want[n.nick], u)
			}
		}
	}
	for nick := range h.aliases {
		if want[nick] == nil {
			t.Errorf("nobody has or had %s", nick)
		}
	}
	for nick, users := range want {
		for _, u := range users {
			if !slices.Contains(h.aliases[nick], u) || len(h.aliases[nick]) != len(users) {
				t.Errorf("%s: %s and %d others, not %v", nick, irc.Lower(u.account),
					len(users)-1, h.aliases[nick])
			}
		}
	}
}
