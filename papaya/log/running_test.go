package log

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestRunningTime: where the process runs all the time, a running time is as long as any other.
func TestRunningTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const d = 3 * time.Second
		start := time.Now()
		ctx, cancel := WithRunningTime(t.Context(), d)
		defer cancel()
		if at, ok := ctx.Deadline(); !ok || at.Sub(start) <= d {
			t.Errorf("the deadline is %v, %v: NATS would take one of its own", at, ok)
		}
		<-ctx.Done()
		if took := time.Since(start); took != d ||
			!errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Errorf("ended after %v: %v", took, context.Cause(ctx))
		}
		ctx, cancel = WithRunningTime(t.Context(), d)
		cancel()
		if start = time.Now(); ctx.Err() == nil {
			t.Error("goes on when it is cancelled")
		}
		synctest.Wait()
		outer, stop := context.WithCancel(t.Context())
		ctx, cancel = WithRunningTime(outer, d)
		defer cancel()
		stop()
		if <-ctx.Done(); !errors.Is(context.Cause(ctx), context.Canceled) || time.Since(start) > 0 {
			t.Errorf("ended after %v: %v", time.Since(start), context.Cause(ctx))
		}
	})
}
