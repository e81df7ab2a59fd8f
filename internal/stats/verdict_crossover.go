package stats

// Crossings: the place on the axis at which two curves swap places. A round in which they do not is
// no missing value: it says that the crossing lies beyond an end of the axis, and how much that is
// worth depends on the axis's end.

import (
	"fmt"
	"math"
	"slices"
)

// Crossings is where A and B swap places, by round.
type Crossings struct {
	low, high []float64 // bounds of ln x for each round that counts
	logs      []float64 // ln x; infinite if beyond an end of the axis, NaN if swapped the other way
	reversed  int       // rounds in which they swap the other way
	voided    int
	first     float64 // ends of the axis
	last      float64
}

// FindCrossings looks for the place on the axis before which a has less (greater) of the metric
// than b, and after which it is the other way, by straight lines in ln x and ln a/b between the
// points. If noise makes a round swap several times, the middle one counts. Both sweeps have the
// same X, above 0.
func FindCrossings(a, b Sweep, before Sense) Crossings {
	c := Crossings{first: math.NaN(), last: math.NaN()}
	if len(a.X) < 2 || len(a.X) != len(b.X) {
		c.voided = max(a.rounds(), b.rounds())
		return c
	}
	x := logs(a.X)
	c.first, c.last = a.X[0], a.X[len(a.X)-1]
	for r := range max(a.rounds(), b.rounds()) {
		ya, okA := a.round(r)
		yb, okB := b.round(r)
		if !okA || !okB {
			c.voided++
			continue
		}
		lead, missing := LogRatios(ya, yb) // positive while as claimed before the crossing
		if missing > 0 || math.IsNaN(x[0]) {
			c.voided++
			continue
		}
		if before == Less {
			lead = Sample{Values: lead}.negated().Values
		}
		c.add(x, lead)
	}
	return c
}

// add takes in one round: lead is the log ratio at the points x.
func (c *Crossings) add(x, lead []float64) {
	first, last := x[0], x[len(x)-1]
	low, high, at := math.Inf(-1), math.Inf(1), math.NaN()
	switch starts, ends := lead[0] > 0, lead[len(lead)-1] > 0; {
	case starts && ends:
		low, at = last, high
	case !starts && !ends:
		high, at = first, low
	case starts:
		at = middleSwap(x, lead)
		low, high = at, at
	default:
		c.reversed++
	}
	c.low, c.high, c.logs = append(c.low, low), append(c.high, high), append(c.logs, at)
}

// middleSwap is the middle one of the places where the lead changes its sign; there is an odd
// number of them.
func middleSwap(x, lead []float64) float64 {
	var swaps []float64
	for i := 1; i < len(x); i++ {
		if (lead[i-1] > 0) != (lead[i] > 0) {
			share := lead[i-1] / (lead[i-1] - lead[i])
			swaps = append(swaps, x[i-1]+share*(x[i]-x[i-1]))
		}
	}
	return swaps[len(swaps)/2]
}

// Crossover judges "A and B swap places at x". margin 0 means 1.25. If they do not swap within the
// axis, that refutes the claim only where the axis reaches beyond the margin; if they swap the
// other way in nearly all rounds, it does anyway.
func Crossover(c Crossings, x, margin float64) Finding {
	margin = orDefault(margin, DefaultMargin)
	s := Sample{Values: c.logs, Voided: c.voided}
	e := newEvidence(c.low, c.high)
	e.at90.Estimate, e.at95.Estimate = c.estimate(e.at90.Estimate), c.estimate(e.at95.Estimate)
	f := begin(KindCrossover, s, e, math.Exp)
	f.Published, f.Margin, f.Accept = x, margin, [2]float64{x / margin, x * margin}
	if !f.terms(x > 0) {
		return f
	}
	if !f.within(e, math.Log(x)-math.Log(margin), math.Log(x)+math.Log(margin)) {
		return f
	}
	if p := min(1, 2*binomialTail(f.Rounds, c.reversed)); p <= Alpha {
		f.Word, f.NeedRounds, f.PAgainst = NotReproduced, 0, min(f.PAgainst, p)
		f.Reason = fmt.Sprintf("they swap places the other way in %d of %d rounds", c.reversed,
			f.Rounds)
	} else if math.IsNaN(f.Estimate) {
		f.Reason = fmt.Sprintf("no crossing in range, which is %g to %g", c.first, c.last)
		if f.Word == Inconclusive && (c.first > f.Accept[0] || c.last < f.Accept[1]) {
			f.Reason += " and ends within the margin"
		}
	}
	return f
}

// estimate is the Hodges-Lehmann estimate if every round has its crossing. Otherwise it is the
// median, which does not ask how far beyond the end a crossing lies; NaN if that one has none.
func (c Crossings) estimate(hodgesLehmann float64) float64 {
	if c.crossing() == len(c.logs) {
		return hodgesLehmann
	}
	told := slices.DeleteFunc(slices.Clone(c.logs), math.IsNaN)
	if m := Median(told); !math.IsInf(m, 0) {
		return m
	}
	return math.NaN()
}

// crossing is the number of rounds that cross within the axis, the claimed way.
func (c Crossings) crossing() int {
	n := 0
	for _, v := range c.logs {
		if finite(v) != nil {
			n++
		}
	}
	return n
}

// binomialTail is the probability of k or more of n when each has one half.
func binomialTail(n, k int) float64 {
	p := 0.0
	for i := k; i <= n; i++ {
		p += choose(n, i) * math.Pow(2, -float64(n))
	}
	return p
}
