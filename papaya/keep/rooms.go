package keep

import (
	"context"
	"fmt"
	"time"
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
		limits[fold(room)] = now.Add(-age)
	}
	gone := map[uint64]bool{}
	others, err := readRenames(ctx, t)
	if err == nil {
		err = read(ctx, t, t.Begin(), t.End(), nil, func(l Line) error {
			if !others.names(l, func(name string) bool { return l.Time.Before(limits[name]) }) {
				return nil
			}
			gone[l.At] = true
			return before(l)
		}, func(uint64, error) {}) // other lines stay
	}
	if err == nil && len(gone) > 0 {
		removed, err = t.Blank(func(_ []byte, at uint64) bool { return gone[at] })
	}
	if err != nil {
		return removed, fmt.Errorf("retention of rooms: %w", err)
	}
	return removed, nil
}
