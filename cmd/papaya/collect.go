package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// collectAt is in percent: how much a large heap may grow between two collections. The heap is
	// mostly idle clients. Half of Go's default of 100 saves a third of the memory, and costs
	// little time.
	collectAt = 50
	// collectAfter is in bytes: how much any heap may grow. With half of a small heap, a busy
	// server would collect all the time.
	collectAfter = 16 << 20
	// collectEvery is how often the size of the heap is checked.
	collectEvery = time.Second
)

// collectPercent returns GOGC for a live heap of that size. Before the first collection Go assumes
// 4 MiB.
func collectPercent(live uint64) int {
	return int(max(collectAt, collectAfter*100/max(live, 4<<20)))
}

// collect adapts the collector to the heap until ctx ends. It does nothing if GOGC is set.
func collect(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	ticker := time.NewTicker(collectEvery)
	defer ticker.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for was := 0; ; {
		metrics.Read(live)
		// A change stops all goroutines for a moment.
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
