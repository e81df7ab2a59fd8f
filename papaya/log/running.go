package log

import (
	"context"
	"sync"
	"time"
)

// runningSteps is how many timers a running time is made of.
const runningSteps = 10

// WithRunningTime is context.WithTimeout for a time in which this process runs. It is made of ten
// timers, one after the other: of a time in which the process gets no core, on a busy machine or
// one that was suspended, only a tenth of d counts. A server that itself stood still so does not
// conclude that another one does not answer. At the end, context.Cause is context.DeadlineExceeded.
func WithRunningTime(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	// NATS gives a context without a deadline one of its own.
	far, release := context.WithTimeout(ctx, d*runningSteps*runningSteps)
	within, cancel := context.WithCancelCause(far)
	var mu sync.Mutex
	var timer *time.Timer
	var step func(left int)
	step = func(left int) {
		mu.Lock()
		defer mu.Unlock()
		if left == 0 {
			cancel(context.DeadlineExceeded)
		} else if within.Err() == nil {
			timer = time.AfterFunc(d/runningSteps, func() { step(left - 1) })
		}
	}
	step(runningSteps)
	return within, func() {
		cancel(context.Canceled)
		release()
		mu.Lock()
		defer mu.Unlock()
		if timer != nil { // nil: ctx had ended before
			timer.Stop()
		}
	}
}
