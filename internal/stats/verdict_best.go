package stats

// A comparison with the best of several rivals. Which one that is, only the measurement tells.
//
// Picking the rival with the best estimate and comparing with that one alone would be wrong: among
// rivals that lie close together the pick is luck, and the luck is in the figure. So the interval
// takes in every rival that may be the best. A's ratio to the best rival is the smallest of its
// ratios to all of them. Its lower end is the smallest lower end: the true best is among the
// rivals, and its own interval begins no lower. Its upper end is the largest upper end of the
// rivals whose intervals begin below where another one's ends, for one of these is the true best.

import "math"

// Best judges "A has k times as much as the best of its rivals" from the log ratios A/B of each
// rival B, round by round: the values of all samples belong to the same rounds, NaN where a round
// does not count. most says that the best rival has the most of the metric; else it has the least.
// margin 0 means 1.25.
func Best(rivals []Sample, most bool, k, margin float64) Finding {
	margin = orDefault(margin, DefaultMargin)
	show, low, high := math.Exp, math.Log(k)-math.Log(margin), math.Log(k)+math.Log(margin)
	if !most { // the largest ratio counts; the mirror of the smallest
		show = func(v float64) float64 { return math.Exp(-v) }
		low, high = -high, -low
		mirrored := make([]Sample, len(rivals))
		for i, s := range rivals {
			mirrored[i] = s.negated()
		}
		rivals = mirrored
	}
	all, smallest := together(rivals)
	centres := make([]walsh, len(all))
	for i, s := range all {
		centres[i] = newWalsh(s.Values)
	}
	may := contenders(centres)
	e := evidence{low: smallest.Values, high: smallest.Values,
		at90: leastOf(centres, may, .90), at95: leastOf(centres, may, .95)}
	f := begin(KindMagnitude, smallest, e, show)
	f.Published, f.Margin, f.Accept = k, margin, [2]float64{k / margin, k * margin}
	if !f.terms(k > 0) {
		return f
	}
	for _, v := range smallest.Values {
		if low <= v && v <= high {
			f.RoundsAgreeing++
		}
	}
	if !f.judgeable() {
		return f
	}
	// p-values for "above low", "below high", and their opposites
	var aboveLow, belowHigh, aboveHigh, belowLow float64
	for i, s := range all {
		aboveLow = max(aboveLow, SignedRank(s.Values, low).Greater)
		aboveHigh = max(aboveHigh, SignedRank(s.Values, high).Greater)
		if may[i] {
			belowHigh = max(belowHigh, SignedRank(s.Values, high).Less)
			belowLow = max(belowLow, SignedRank(s.Values, low).Less)
		}
	}
	f.P, f.PAgainst = max(aboveLow, belowHigh), min(1, 2*min(aboveHigh, belowLow))
	f.inside(e, low, high)
	f.tellDirection()
	return f
}

// together keeps the rounds in which every sample has a value, and adds the sample of the smallest
// value of each such round. Voided counts the others.
func together(samples []Sample) (complete []Sample, smallest Sample) {
	complete = make([]Sample, len(samples))
	rounds := 0
	for _, s := range samples {
		rounds = max(rounds, len(s.Values))
		smallest.Voided = max(smallest.Voided, s.Voided)
	}
	for r := range rounds {
		least := math.Inf(1)
		for _, s := range samples {
			if r >= len(s.Values) {
				least = math.NaN()
				break
			}
			least = min(least, s.Values[r]) // NaN if either is
		}
		if math.IsNaN(least) {
			smallest.Voided++
			continue
		}
		smallest.Values = append(smallest.Values, least)
		for i, s := range samples {
			complete[i].Values = append(complete[i].Values, s.Values[r])
		}
	}
	return complete, smallest
}

// contenders are the samples whose centre may be the smallest of all.
func contenders(centres []walsh) []bool {
	out := make([]bool, len(centres))
	ends := math.Inf(1)
	for _, w := range centres {
		ends = min(ends, w.interval(1-Alpha).Upper)
	}
	for i, w := range centres {
		out[i] = w.interval(1-Alpha).Lower <= ends
	}
	return out
}

// leastOf is the estimate and the interval of the smallest of the samples' centres.
func leastOf(centres []walsh, may []bool, level float64) Interval {
	if len(centres) == 0 {
		return wholeLine(level)
	}
	out := centres[0].interval(level)
	out.Upper = math.Inf(-1)
	for i, w := range centres {
		iv := w.interval(level)
		out.Estimate, out.Lower = min(out.Estimate, iv.Estimate), min(out.Lower, iv.Lower)
		if may[i] {
			out.Upper = max(out.Upper, iv.Upper)
		}
	}
	return out
}
