package load

// Replies counted over time, so that a window that was not steady shows.

// fineSlices is how many parts a load is counted in whose length is not known before.
const fineSlices = 4096

// A timeline counts in parts of a fixed width. If the window's length is unknown, the width
// doubles, and pairs of parts are added, whenever time outgrows them.
type timeline struct {
	counts []int64
	width  int64 // in ns
	grows  bool
}

// newTimeline is for a window in ns; 0 if its length is not known.
func newTimeline(window int64, parts int) timeline {
	if window > 0 {
		return timeline{counts: make([]int64, parts),
			width: (window + int64(parts) - 1) / int64(parts)}
	}
	return timeline{counts: make([]int64, fineSlices), width: 100_000, grows: true}
}

// add counts n replies at a time since the window opened.
func (s *timeline) add(at int64, n int64) {
	i := at / s.width
	for s.grows && i >= int64(len(s.counts)) {
		half := len(s.counts) / 2
		for j := range half {
			s.counts[j] = s.counts[2*j] + s.counts[2*j+1]
		}
		clear(s.counts[half:])
		s.width *= 2
		i = at / s.width
	}
	s.counts[min(i, int64(len(s.counts)-1))] += n
}

// cut gives the counts in equal parts of the window as it was. A fine part that lies across a cut
// is shared out as if its replies were even in time; the sum is kept.
func (s *timeline) cut(window int64, parts int) []int64 {
	if !s.grows {
		return s.counts
	}
	out := make([]int64, parts)
	window = max(window, 1)
	var before, shared int64 // replies in earlier parts; replies given to earlier cuts
	cut := 0
	for i, n := range s.counts {
		begin := float64(i) * float64(s.width)
		for ; cut < parts-1; cut++ {
			end := float64(window) * float64(cut+1) / float64(parts)
			if end >= begin+float64(s.width) {
				break
			}
			total := before + int64(float64(n)*(end-begin)/float64(s.width))
			out[cut], shared = total-shared, total
		}
		before += n
	}
	for ; cut < parts-1; cut++ { // the window is longer than all parts: nothing came at its end
		out[cut], shared = before-shared, before
	}
	out[parts-1] += before - shared
	return out
}
