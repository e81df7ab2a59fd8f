package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// collectAt is in percent: Go's collector lets a large heap grow by so much between two
	// runs. Idle clients are most of it, so half of Go's own 100 saves a third of the memory
	// for little time.
	collectAt = 50
	// collectAfter is in bytes, by which any heap may grow: by half of the few MiB of a small one,
	// a busy server would collect all the time.
	collectAfter = 16 << 20
	// collectEvery is how often the heap is looked at.
	collectEvery = time.Second
)

// collectPercent is what GOGC says for a heap of which so many bytes are in use; before the first
// collection Go takes 4 MiB for granted.
func collectPercent(live uint64) int {
	return int(max(collectAt, collectAfter*100/max(live, 4<<20)))
}

// collect sets the collector by what the heap has become, until ctx ends; not where GOGC says
// what is wanted.
func collect(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	ticker := time.NewTicker(collectEvery)
	defer ticker.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for was := 0; ; {
		metrics.Read(live)
		// to set it stops all goroutines for a moment
		if p := collectPercent(live[0].Value.Uint64()); p < was*9/10 || p > was*11/10 {
			debug.SetGCPercent(p)
			was = p
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
