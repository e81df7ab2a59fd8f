package sample

// The memory of servers that are up together. PSS divides a page of a file by the number of
// processes that have it, so two servers of one program, or of one run time, have half of it each.
// The memory of each without the others is estimated from the pages that each process has of each
// file.

import (
	"cmp"
	"slices"

	"interleave/internal/proc"
)

// files are the pages of files that the processes of one server, or of several, have.
type files map[proc.FileID][]part

// A part is the pages of a file that one process has, in bytes.
type part struct{ rss, pss int64 }

// files reads the pages of files of the server.
func (s *Stints) files() files {
	out := files{}
	for _, pid := range s.sampler.usage.PIDs {
		of := map[proc.FileID]part{}
		proc.ParseMappings(s.sampler.reader.File(pid, "smaps"), func(m proc.Mapping) {
			u := of[m.File]
			u.rss += max(0, m.RSS-m.Anonymous)
			u.pss += max(0, m.PSS-m.Anonymous)
			of[m.File] = u
		})
		out.add(of)
	}
	return out
}

// add adds the pages of one process.
func (f files) add(of map[proc.FileID]part) {
	for file, s := range of {
		f[file] = append(f[file], s)
	}
}

// sort has the parts of each file in the order of their size.
func (f files) sort() {
	for _, list := range f {
		slices.SortFunc(list, func(a, b part) int { return cmp.Compare(a.rss, b.rss) })
	}
}

// Alone corrects the PSS at the end of the windows of servers that are up together: each has then
// what it would have without the others.
func Alone(servers []*Stints) {
	of := make([]files, len(servers))
	all := files{}
	for i, s := range servers {
		of[i] = s.files()
		of[i].sort()
		for file, list := range of[i] {
			all[file] = append(all[file], list...)
		}
	}
	all.sort()
	for i, s := range servers {
		samples := s.sampler.series.Samples
		if n := len(samples); n > 0 && samples[n-1].Mark == MarkClosed {
			samples[n-1].PSS += of[i].more(all)
		}
	}
}

// more is by how much the PSS of files would be larger without the other servers, where all has the
// parts of all.
func (f files) more(all files) int64 {
	more := 0.
	for file, own := range f {
		if len(all[file]) == len(own) {
			continue
		}
		for _, s := range own {
			if s.pss > 0 {
				more += max(0, s.among(own, s.strangers(all[file]))-float64(s.pss))
			}
		}
	}
	return int64(more)
}

// among is the PSS of a process when these parts, its own among them, and so many processes of the
// rest of the machine have the file. A process that has fewer of its pages is taken to have those
// that most others have, too: a child that was forked has touched what all run. The parts are in
// the order of their size.
func (s part) among(list []part, strangers float64) (pss float64) {
	from := 0. // the part of the pages that was dealt with; the most common ones come first
	for i, o := range list {
		to := min(1, float64(o.rss)/float64(s.rss))
		pss += float64(s.rss) * (to - from) / (strangers + float64(len(list)-i))
		from = to
	}
	return pss
}

// strangers is how many processes besides these have the file, as far as the process's PSS
// tells.
func (s part) strangers(all []part) float64 {
	low, high := 0., float64(s.rss)/float64(s.pss)
	if s.among(all, low) <= float64(s.pss) {
		return 0
	}
	for range 40 { // to a trillionth
		if middle := (low + high) / 2; s.among(all, middle) > float64(s.pss) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
