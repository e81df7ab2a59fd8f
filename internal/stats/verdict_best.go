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
	f := within(low, high).judge(KindMagnitude, smallest, newContest(all, smallest.Values), show)
	f.Published, f.Margin, f.Accept = k, margin, [2]float64{k / margin, k * margin}
	f = f.terms(k > 0)
	f.tellDirection()
	return f
}

// together marks the rounds in which a sample has no value as rounds that do not count in any, and
// adds the sample of the smallest value of each other round.
func together(samples []Sample) (complete [][]float64, smallest Sample) {
	rounds := 0
	for _, s := range samples {
		rounds = max(rounds, len(s.Values))
		smallest.Voided = max(smallest.Voided, s.Voided)
		smallest.Rounds = s.Rounds
	}
	complete = make([][]float64, len(samples))
	for r := range rounds {
		least := math.Inf(1)
		for _, s := range samples {
			if r >= len(s.Values) {
				least = math.NaN()
				break
			}
			least = min(least, s.Values[r]) // NaN if either is
		}
		smallest.Values = append(smallest.Values, least)
		for i, s := range samples {
			v := math.NaN()
			if r < len(s.Values) {
				v = s.Values[r]
			}
			complete[i] = append(complete[i], v)
		}
	}
	return complete, smallest
}

// A contest is the evidence on the smallest of several centres.
type contest struct {
	samples  [][]float64
	smallest []float64 // of each round
	centres  []*walsh
}

func newContest(samples [][]float64, smallest []float64) *contest {
	c := &contest{samples: samples, smallest: smallest}
	for _, s := range samples {
		c.centres = append(c.centres, newWalsh(len(s)))
	}
	return c
}

func (c *contest) add(i int) {
	for k, w := range c.centres {
		w.add(c.samples[k][i])
	}
}

func (c *contest) rounds() int {
	if len(c.centres) == 0 {
		return 0
	}
	return c.centres[0].n
}

func (c *contest) bounds(i int) [2]float64 { return [2]float64{c.smallest[i], c.smallest[i]} }

// between is the estimate and the interval of the smallest centre. Its upper end is that of the
// rivals that may be the smallest: those whose interval begins before the one that ends first ends.
func (c *contest) between(rank int) Interval {
	if c.rounds() == 0 {
		return wholeLine(0)
	}
	ends := math.Inf(1)
	for _, w := range c.centres {
		ends = min(ends, w.between(rank).Upper)
	}
	out := Interval{Estimate: math.Inf(1), Lower: math.Inf(1), Upper: math.Inf(-1)}
	for _, w := range c.centres {
		iv := w.between(rank)
		out.Estimate, out.Lower = min(out.Estimate, iv.Estimate), min(out.Lower, iv.Lower)
		if iv.Lower <= ends {
			out.Upper = max(out.Upper, iv.Upper)
		}
	}
	return out
}
