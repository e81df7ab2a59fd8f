package sample

// The memory of servers that are up together. PSS divides a page of a file by the number of
// processes that have it, so two servers of one program, or of one run time, have half of it each.
// The memory of each without the others is estimated from the mean number of sharers of each file.

import "interleave/internal/proc"

// files are the pages of files that the processes of one server have.
type files map[proc.FileID]fileUse

type fileUse struct {
	rss, pss  int64
	processes int
}

// files reads the pages of files of the server.
func (s *Stints) files() files {
	out := files{}
	for _, pid := range s.sampler.usage.PIDs {
		seen := map[proc.FileID]bool{}
		proc.ParseMappings(s.sampler.reader.File(pid, "smaps"), func(m proc.Mapping) {
			u := out[m.File]
			u.rss += max(0, m.RSS-m.Anonymous)
			u.pss += max(0, m.PSS-m.Anonymous)
			if !seen[m.File] {
				seen[m.File] = true
				u.processes++
			}
			out[m.File] = u
		})
	}
	return out
}

// Alone corrects the PSS at the end of the windows of servers that are up together: each has then
// what it would have without the others.
func Alone(servers []*Stints) {
	of := make([]files, len(servers))
	processes := map[proc.FileID]int{}
	for i, s := range servers {
		of[i] = s.files()
		for file, u := range of[i] {
			processes[file] += u.processes
		}
	}
	for i, s := range servers {
		samples := s.sampler.series.Samples
		if n := len(samples); n > 0 && samples[n-1].Mark == MarkClosed {
			samples[n-1].PSS += of[i].more(processes)
		}
	}
}

// more is by how much the PSS of files would be larger without the others, where processes is how
// many have each file in all.
func (f files) more(processes map[proc.FileID]int) (bytes int64) {
	for file, u := range f {
		others := processes[file] - u.processes
		if others == 0 || u.pss == 0 {
			continue
		}
		sharers := float64(u.rss) / float64(u.pss)
		alone := max(sharers-float64(others), min(sharers, float64(u.processes)))
		bytes += int64(float64(u.rss)/max(1, alone)) - u.pss
	}
	return bytes
}
