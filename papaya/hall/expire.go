package hall

import (
	"strconv"

	"interleave/papaya/irc"
)

// expire takes an account out of its rooms that has no session, and had none since a time in
// milliseconds since 1970. It keeps its name, its messages and its rights in rooms. A nick that is
// not its name is free again.
func (h *Hall) expire(account, before, why string) {
	limit, err := strconv.ParseInt(before, 10, 64)
	u := h.accounts[account]
	if err != nil || u == nil || len(u.sessions) > 0 || u.left > limit {
		return
	}
	if h.here(u) {
		h.vanish(u, why, false)
		u.away = ""
	}
	for _, name := range sorted(h.rooms) {
		r := h.rooms[name]
		delete(r.absent, u.key())
		h.removeEmpty(r)
	}
	if irc.Lower(u.nick) != account {
		h.giveWay(u)
	}
}

// Unseen lists the accounts that are in rooms and have had no session since a time in milliseconds
// since 1970, by name.
func (h *Hall) Unseen(before int64) []string {
	absent := map[string]bool{}
	for _, r := range h.rooms {
		for key := range r.absent {
			absent[key] = true
		}
	}
	var out []string
	for _, name := range sorted(h.accounts) {
		u := h.accounts[name]
		if len(u.sessions) == 0 && u.left <= before && (len(u.rooms) > 0 || absent[u.key()]) {
			out = append(out, u.account)
		}
	}
	return out
}
