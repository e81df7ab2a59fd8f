package keep

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// ID is a place as clients know it: the msgid of the message that stands there.
func ID(at uint64) string { return strconv.FormatUint(at, 36) }

// A Cutter is a Text that can lose its head.
type Cutter interface {
	Text
	// Cut removes the lines before a place, where a line begins.
	Cut(before uint64) error
}

var errFound = errors.New("found")

// Retain removes what was said longer ago than keep; 0 keeps everything. It stops at the first line
// that is young enough, so a clock that was wrong for a while keeps more, not less. It returns how
// many bytes are gone.
func Retain(ctx context.Context, t Cutter, keep time.Duration,
	now time.Time) (removed uint64, err error) {
	if keep <= 0 {
		return 0, nil
	}
	begin, limit := t.Begin(), now.Add(-keep)
	to := t.End()
	at := to
	err = read(ctx, t, begin, to, nil, func(l Line) error {
		if l.Time.Before(limit) {
			return nil
		}
		at = l.At
		return errFound
	}, func(uint64, error) {}) // what is no line goes with those around it
	if err != nil && !errors.Is(err, errFound) {
		return 0, fmt.Errorf("retention: %w", err)
	}
	if at == begin {
		return 0, nil
	}
	if err := t.Cut(at); err != nil {
		return 0, fmt.Errorf("retention: %w", err)
	}
	return t.Begin() - begin, nil
}

// A Calendar says whether the date may decide what is removed: what is gone does not come back when
// a clock is put right.
type Calendar struct {
	looked    bool
	date      time.Time     // at the last look
	passed    time.Duration // until then, by a clock that nobody sets
	trustFrom time.Duration
}

// What may be wrong between two looks, and for how long a date that was set is not believed.
// Both are guesses.
const (
	setBy    = time.Hour
	doubtFor = 23 * time.Hour // less than from one daily look to the next
)

// Believe looks at the date, and at how much time has passed by a clock that nobody sets. A date
// that was set since the last look is not believed for a day.
func (c *Calendar) Believe(date time.Time, passed time.Duration) bool {
	if wrong := date.Sub(c.date) - (passed - c.passed); c.looked && wrong.Abs() > setBy {
		c.trustFrom = passed + doubtFor
	}
	c.looked, c.date, c.passed = true, date, passed
	return passed >= c.trustFrom
}
