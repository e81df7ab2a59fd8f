package serve

import (
	"context"
	"math"
	"time"

	"interleave/internal/manifest"
)

// Unhurried is the patience of tests. They may run on a machine that is busy with other work, so
// their limits end only what would never end by itself. How fast a server must be is asked with a
// patience of 1 on an idle machine.
var Unhurried = math.Inf(1)

// UnhurriedLimit is any limit with the patience Unhurried.
const UnhurriedLimit = 5 * time.Minute

// Lengthen returns a limit with patience.
func Lengthen(limit time.Duration, patience float64) time.Duration {
	if math.IsInf(patience, 1) {
		return UnhurriedLimit
	}
	return time.Duration(float64(limit) * patience)
}

// WithPatience returns the options with the limits of the model's servers, lengthened by patience.
func (o StartOptions) WithPatience(m *manifest.Model, patience float64) StartOptions {
	o.Limit = Lengthen(StartLimit(m), patience)
	o.Grace = Lengthen(Grace, patience)
	return o
}

// Sleep waits for d or until ctx ends, whose cause it returns then.
func Sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
