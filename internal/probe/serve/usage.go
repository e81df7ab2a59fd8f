package serve

import (
	"time"

	"interleave/internal/proc"
)

// Memory returns the bytes of memory that the server's processes hold. Pages that they share count
// once (PSS). It is 0 if the kernel does not tell.
func (s *Server) Memory() int64 {
	var r proc.Reader
	var sum int64
	for _, pid := range s.Group.PIDs() {
		if _, pss, ok := proc.ParseRollup(r.File(pid, "smaps_rollup")); ok {
			sum += pss
		}
	}
	return sum
}

// CPU returns the CPU time that the server's processes have used.
func (s *Server) CPU() time.Duration {
	user, system := s.Group.CPU()
	return user + system
}

// Runnable counts the threads that have a core or wait for one.
func (s *Server) Runnable() (n int) {
	var r proc.Reader
	var tids []int
	for _, pid := range s.Group.PIDs() {
		tids = r.Tasks(pid, tids[:0])
		for _, tid := range tids {
			if stat, ok := proc.ParseStat(r.TaskFile(pid, tid, "stat")); ok && stat.State == 'R' {
				n++
			}
		}
	}
	return n
}
