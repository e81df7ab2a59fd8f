package keep

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Cutter is a Text whose head can be cut off.
type Cutter interface {
	Text
	// Cut removes the lines before an offset, at which a line must begin.
	Cut(before uint64) error
}

var errFound = errors.New("found")

// Retain removes messages that are older than keep; 0 keeps all. It stops at the first message that
// is not, so a clock that was wrong for a while keeps more messages, not fewer. It returns how many
// bytes were removed.
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
	}, func(uint64, error) {}) // other lines go with those around them
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

// A Calendar decides whether the date can be trusted, before old messages are removed: a clock can
// be corrected, but removed messages do not come back.
type Calendar struct {
	looked    bool
	date      time.Time     // at the last call
	passed    time.Duration // until then, by the monotonic clock
	trustFrom time.Duration
}

// A date that differs by more than setBy between two calls was set. It is not trusted for doubtFor.
// Both are guesses.
const (
	setBy    = time.Hour
	doubtFor = 23 * time.Hour // less than the time between two daily calls
)

// Believe takes the date, and the time that has passed by the monotonic clock. It returns false for
// about a day after the date was set.
func (c *Calendar) Believe(date time.Time, passed time.Duration) bool {
	if wrong := date.Sub(c.date) - (passed - c.passed); c.looked && wrong.Abs() > setBy {
		c.trustFrom = passed + doubtFor
	}
	c.looked, c.date, c.passed = true, date, passed
	return passed >= c.trustFrom
}
