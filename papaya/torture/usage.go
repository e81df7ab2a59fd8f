package torture

import "time"

// usage is what a process has used.
type usage struct {
	resident, peak uint64 // in bytes: its memory, and the most of it so far
	cpu            time.Duration
}
