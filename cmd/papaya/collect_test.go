package main

import (
	"runtime/debug"
	"testing"
	"testing/synctest"
)

// TestCollectPercent: a heap may grow by 16 MiB or by half, whichever is more.
func TestCollectPercent(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 4 << 20: 400, 16 << 20: 100, 32 << 20: 50,
		1 << 30: 50} {
		if got := collectPercent(live); got != want {
			t.Errorf("%d bytes: %d percent, want %d", live, got, want)
		}
	}
}

// TestCollect: collect sets the collector at once, unless GOGC is set.
func TestCollect(t *testing.T) {
	before := debug.SetGCPercent(7)
	defer debug.SetGCPercent(before)
	for gogc, sets := range map[string]bool{"": true, "300": false} {
		t.Run("GOGC="+gogc, func(t *testing.T) {
			t.Setenv("GOGC", gogc)
			synctest.Test(t, func(t *testing.T) {
				go collect(t.Context())
				synctest.Wait()
				if now := debug.SetGCPercent(7); (now != 7) != sets {
					t.Errorf("%d percent", now)
				}
			})
		})
	}
}
