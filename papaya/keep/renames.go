package keep

import (
	"bytes"
	"context"

	"interleave/papaya/irc"
)

// Renames are the other names that rooms have got, by folded name. The text has a line for each.
type renames map[string][]renamed

// A renamed room had a name until an offset, and has another one from there on.
type renamed struct {
	at uint64
	to string // folded
}

// readRenames finds all renames in a text.
func readRenames(ctx context.Context, t Text) (renames, error) {
	all := renames{}
	want := func(raw []byte) bool { return bytes.Contains(raw, []byte(" RENAME #")) }
	err := read(ctx, t, t.Begin(), t.End(), want, func(l Line) error {
		if l.Command == "RENAME" && irc.IsRoom(l.To) && irc.IsRoom(l.Of) {
			all[irc.Lower(l.To)] = append(all[irc.Lower(l.To)], renamed{l.At, irc.Lower(l.Of)})
		}
		return nil
	}, func(uint64, error) {}) // other lines rename nothing
	return all, err
}

// names calls each with the folded names of the room that a line was said in, from the one at that
// time to the present one, until each returns true. It returns false if each never has.
func (r renames) names(l Line, each func(name string) bool) bool {
	name, at := irc.Lower(irc.RoomOf(l.To)), l.At
	for {
		if each(name) {
			return true
		}
		next, found := r.next(name, at)
		if !found {
			return false
		}
		name, at = next.to, next.at+1
	}
}

// last returns the folded name that the room has now in which a line was said.
func (r renames) last(l Line) (last string) {
	r.names(l, func(name string) bool {
		last = name
		return false
	})
	return last
}

// next returns the first rename of a room at an offset or behind it.
func (r renames) next(name string, at uint64) (renamed, bool) {
	for _, n := range r[name] {
		if n.at >= at {
			return n, true
		}
	}
	return renamed{}, false
}
