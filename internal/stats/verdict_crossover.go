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
	low, high []float64 // bounds of ln x for each round; NaN for one that does not count
	logs      []float64 // ln x; infinite if beyond an end of the axis, NaN if swapped the other way
	reversed  []bool    // rounds in which they swap the other way
	numbers   []int     // of the rounds, as in a Sample
	voided    int       // all rounds, if the axes cannot be compared
	first     float64   // ends of the axis
	last      float64
}

// FindCrossings looks for the place on the axis before which a has less (greater) of the metric
// than b, and after which it is the other way, by straight lines in ln x and ln a/b between the
// points. If noise makes a round swap several times, the middle one counts. Both sweeps have the
// same X, above 0.
func FindCrossings(a, b Sweep, before Sense) Crossings {
	c := Crossings{first: math.NaN(), last: math.NaN(), numbers: a.Rounds}
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
			c.append(math.NaN(), math.NaN(), math.NaN(), false)
			continue
		}
		lead, missing := LogRatios(ya, yb) // positive while as claimed before the crossing
		if missing > 0 || math.IsNaN(x[0]) {
			c.append(math.NaN(), math.NaN(), math.NaN(), false)
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
	low, high, at, reversed := math.Inf(-1), math.Inf(1), math.NaN(), false
	switch starts, ends := lead[0] > 0, lead[len(lead)-1] > 0; {
	case starts && ends:
		low, at = last, high
	case !starts && !ends:
		high, at = first, low
	case starts:
		at = middleSwap(x, lead)
		low, high = at, at
	default:
		reversed = true
	}
	c.append(low, high, at, reversed)
}

func (c *Crossings) append(low, high, at float64, reversed bool) {
	c.low, c.high = append(c.low, low), append(c.high, high)
	c.logs, c.reversed = append(c.logs, at), append(c.reversed, reversed)
}

// sample has a number for each round that counts, an infinite one where the two swap the other way.
func (c Crossings) sample() Sample {
	s := Sample{Values: slices.Clone(c.logs), Rounds: c.numbers, Voided: c.voided}
	for i, r := range c.reversed {
		if r {
			s.Values[i] = math.Inf(1)
		}
	}
	return s
}

// turned is the number of the round at which it is shown that they swap the other way in more than
// half of the rounds, or 0. It weighs the chance of what was seen, if 97 of 100 rounds did, against
// its chance if half of them did, and stops at 1 to the error: that holds at every round at once
// (Ville, 1939), and six rounds of six suffice.
func (c Crossings) turned(s Sample) (round, all int) {
	odds := 1.0
	for i, v := range s.Values {
		switch {
		case math.IsNaN(v):
			continue
		case c.reversed[i]:
			all++
			odds *= 2 * .97
		default:
			odds *= 2 * .03
		}
		if round == 0 && odds >= 1/sideError {
			round = s.round(i)
		}
	}
	return round, all
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
	s := c.sample()
	f := within(math.Log(x)-math.Log(margin), math.Log(x)+math.Log(margin)).judge(KindCrossover, s,
		newBounds(c.low, c.high), math.Exp)
	f.Estimate = math.Exp(c.estimate(math.Log(f.Estimate)))
	f.Interval90.Estimate, f.Interval95.Estimate = f.Estimate, f.Estimate
	f.Published, f.Margin, f.Accept = x, margin, [2]float64{x / margin, x * margin}
	f = f.terms(x > 0)
	tooFew := f.Rounds < MinRounds || f.Looked == 0 && 4*f.Voided > f.Rounds+f.Voided
	if !(margin > 1 && x > 0) || tooFew {
		return f
	}
	round, reversed := c.turned(s)
	if round > 0 && (f.Looked == 0 || round < f.Looked) {
		f.Word, f.NeedRounds, f.Edge, f.Looked = NotReproduced, 0, false, round
		f.P, f.PAgainst, f.AtLook = 1, min(f.PAgainst, Alpha), nil
		f.Reason = fmt.Sprintf("they swap places the other way in %d of %d rounds", reversed,
			f.Rounds)
	} else if math.IsNaN(f.Estimate) && f.Word != Reproduced {
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
	all, crossing := 0, 0
	var told []float64
	for i, v := range c.logs {
		if math.IsNaN(c.low[i]) {
			continue
		}
		if all++; finite(v) != nil {
			crossing++
		}
		if !math.IsNaN(v) {
			told = append(told, v)
		}
	}
	if crossing == all {
		return hodgesLehmann
	}
	if m := Median(told); !math.IsInf(m, 0) {
		return m
	}
	return math.NaN()
}
