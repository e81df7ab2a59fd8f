package torture

import "time"

// usage is what a process has used.
type usage struct {
	resident, peak uint64 // in bytes: its memory, and the most of it so far
	cpu            time.Duration
}

// usage returns what the process has used.
func (p *process) usage() usage {
	p.mu.Lock()
	defer p.mu.Unlock()
	return usageOf(p.cmd.Process.Pid)
}
