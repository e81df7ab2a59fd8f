package keep

import (
	"context"
	"fmt"
	"time"

	"interleave/papaya/irc"
)

// A Blanker is a Text in which single lines can be removed.
type Blanker interface {
	Text
	Blank(choose func(line []byte, at uint64) bool) (int, error)
}

// RetainRooms removes messages of rooms that are older than the room's limit, and returns their
// number. Rooms are compared as the server does. For a message of a room that has got another name
// since, the shortest age of both holds. RetainRooms first reads the text and calls before with
// each line that goes. It writes only if there is something to remove, and nothing after an error.
func RetainRooms(ctx context.Context, t Blanker, ages map[string]time.Duration, now time.Time,
	before func(Line) error) (removed int, err error) {
	if len(ages) == 0 {
		return 0, nil
	}
	limits := map[string]time.Time{}
	for room, age := range ages {
		limits[irc.Lower(room)] = now.Add(-age)
	}
	removed, err = removeLines(ctx, t, func(others renames, l Line) bool {
		return others.names(l, func(name string) bool { return l.Time.Before(limits[name]) })
	}, before)
	if err != nil {
		return removed, fmt.Errorf("retention of rooms: %w", err)
	}
	return removed, nil
}

// RemoveRoom removes all messages of a room, and returns their number. What was said in it under
// another name is among them, and what was said under this name in a room that has got another one
// since is not: that room may be there. It calls before as RetainRooms does.
func RemoveRoom(ctx context.Context, t Blanker, room string,
	before func(Line) error) (removed int, err error) {
	removed, err = removeLines(ctx, t, func(others renames, l Line) bool {
		return others.last(l) == irc.Lower(room)
	}, before)
	if err != nil {
		return removed, fmt.Errorf("removing the messages of %s: %w", room, err)
	}
	return removed, nil
}

// removeLines removes the lines that choose selects, by the names that rooms have got. It calls
// before with each of them first.
func removeLines(ctx context.Context, t Blanker, choose func(renames, Line) bool,
	before func(Line) error) (removed int, err error) {
	others, err := readRenames(ctx, t)
	if err != nil {
		return 0, err
	}
	gone := map[uint64]bool{}
	err = read(ctx, t, t.Begin(), t.End(), nil, func(l Line) error {
		if !choose(others, l) {
			return nil
		}
		gone[l.At] = true
		return before(l)
	}, func(uint64, error) {}) // other lines stay
	if err != nil || len(gone) == 0 {
		return 0, err
	}
	return t.Blank(func(_ []byte, at uint64) bool { return gone[at] })
}
