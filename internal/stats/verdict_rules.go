package stats

// The rules for a single number: three shapes of test, and the kinds of claims that use them.
//
// within: the number has to lie in a zone. The 90 % interval inside it reproduces (two one-sided
// tests at 5 %), the 95 % interval wholly outside it refutes.
//
// beyond: the number has to lie past a bar. The 95 % interval wholly past it reproduces, the 95 %
// interval wholly on the other side of "none" refutes. Between none and the bar lies a strip that
// decides nothing: an effect of 3 % is no counter-example to "A uses less than B", so it does not
// refute; but it is of the size that placement in memory or the order of start-up can fake, so it
// does not reproduce either. The reason then says that any effect is small, which is more than "too
// wide" and is what the reader of such a claim wants to know.
//
// below: the number must not lie past a bar. The 90 % interval wholly below it reproduces (one test
// at 5 %), the 95 % interval wholly past it refutes.

import (
	"fmt"
	"math"
)

// Direction judges "A has less (greater) of the metric than B" from the log ratios A/B. effect is
// the smallest ratio of interest (0 means 1.05): the bar is effect, "none" is 1.
func Direction(s Sample, sense Sense, effect float64) Finding {
	return sided(KindDirection, s, sense, 1, effect)
}

// Bound judges "A has less (greater) than v of the metric" from the logarithms of what was
// measured. v must not depend on the machine: a count, or a ratio of two figures of A itself.
// effect is as in Direction.
func Bound(s Sample, sense Sense, v, effect float64) Finding {
	f := sided(KindBound, s.less(math.Log(v)), sense, v, effect)
	f.Published = v
	return f
}

// sided judges that a number lies on one side of 1, and shows it in units of unit.
func sided(kind Kind, s Sample, sense Sense, unit, effect float64) Finding {
	s = s.clean()
	effect = orDefault(effect, DefaultEffect)
	show := func(v float64) float64 { return unit * math.Exp(v) }
	accept := [2]float64{unit * effect, math.Inf(1)}
	if sense == Less {
		s = s.negated()
		show = func(v float64) float64 { return unit * math.Exp(-v) }
		accept = [2]float64{0, unit / effect}
	}
	e := newEvidence(s.Values, s.Values)
	f := begin(kind, s, e, show)
	f.Sense, f.Margin, f.Accept = sense, effect, accept
	switch {
	case sense != Less && sense != Greater:
		f.Reason = fmt.Sprintf("the claim's sense is %q, neither less nor greater", sense)
	case effect < 1:
		f.Reason = fmt.Sprintf("the smallest effect of interest is %g, below 1", effect)
	default:
		f.beyond(e, math.Log(effect), 0, fmt.Sprintf("%.3g %%", 100*(effect-1)))
	}
	return f
}

// NonInferiority judges "A is no worse than B" from the log ratios A/B, where better is the sense
// in which the metric is good. A may be worse by the margin (0 means 1.10); how much better it is
// does not count. The test is one-sided at 5 %.
func NonInferiority(s Sample, better Sense, margin float64) Finding {
	s = s.clean()
	margin = orDefault(margin, DefaultEqualMargin)
	show, accept := math.Exp, [2]float64{0, margin}
	if better == Greater {
		s = s.negated()
		show = func(v float64) float64 { return math.Exp(-v) }
		accept = [2]float64{1 / margin, math.Inf(1)}
	}
	e := newEvidence(s.Values, s.Values)
	f := begin(KindNonInferiority, s, e, show)
	f.Sense, f.Margin, f.Accept = better, margin, accept
	if better != Less && better != Greater {
		f.Reason = fmt.Sprintf("the claim's sense is %q, neither less nor greater", better)
		return f
	}
	if f.terms(true) {
		f.below(e, math.Log(margin))
	}
	return f
}

// below decides whether the number does not exceed bar, on the scale of the evidence.
func (f *Finding) below(e evidence, bar float64) {
	for _, v := range e.high {
		if v <= bar {
			f.RoundsAgreeing++
		}
	}
	if !f.judgeable() {
		return
	}
	f.P = e.pBelow(bar)
	f.PAgainst = min(1, 2*e.pAbove(bar))
	switch {
	case e.at90.Upper <= bar:
		f.Word = Reproduced
	case e.at95.Lower > bar:
		f.Word, f.Reason = NotReproduced, "it is worse by more than the margin"
	default:
		f.Reason = "the number lies at the edge of the margin"
		f.tooWide(e.at95, bar/2)
	}
}

// Magnitude judges "A has k times as much as B" from the log ratios A/B. margin 0 means 1.25.
func Magnitude(s Sample, k, margin float64) Finding {
	return sized(KindMagnitude, s, k, orDefault(margin, DefaultMargin))
}

// Equality judges "A has as much as B" from the log ratios A/B. margin 0 means 1.10.
func Equality(s Sample, margin float64) Finding {
	return sized(KindEquality, s, 1, orDefault(margin, DefaultEqualMargin))
}

// Absolute judges "A has v of the metric" from the logarithms of what was measured. portable says
// that v does not depend on the machine, as the memory for a connection does not. Another figure of
// other hardware can be confirmed here and not refuted: outside the margin it is not comparable.
func Absolute(s Sample, v, margin float64, portable bool) Finding {
	f := sized(KindAbsolute, s, v, orDefault(margin, DefaultMargin))
	if f.Word == NotReproduced && !portable {
		f.Word, f.PAgainst = NotComparable, 1 // no test refutes
		f.Reason = "outside the margin, and the published number is from other hardware"
	}
	return f
}

func sized(kind Kind, s Sample, k, margin float64) Finding {
	s = s.clean()
	e := newEvidence(s.Values, s.Values)
	f := begin(kind, s, e, math.Exp)
	f.Published, f.Margin, f.Accept = k, margin, [2]float64{k / margin, k * margin}
	if !f.terms(k > 0) {
		return f
	}
	f.within(e, math.Log(k)-math.Log(margin), math.Log(k)+math.Log(margin))
	if kind == KindMagnitude {
		f.tellDirection()
	}
	return f
}

// tellDirection says what a ratio of another size shows of its direction.
func (f *Finding) tellDirection() {
	above, below := f.Interval95.Lower > 1, f.Interval95.Upper < 1
	switch k := f.Published; {
	case f.Word != NotReproduced:
	case k > 1 && above, k < 1 && below:
		f.Reason = "direction reproduced, size not"
	case k > 1 && below, k < 1 && above:
		f.Reason = "it is the other way round"
	}
}

// Growth judges "y grows with the power p of x" (1: linearly) from one exponent for each round.
// margin 0 means 1.25.
func Growth(s Sample, power, margin float64) Finding {
	s = s.clean()
	margin = orDefault(margin, DefaultMargin)
	e := newEvidence(s.Values, s.Values)
	f := begin(KindShape, s, e, identity)
	f.Published, f.Margin, f.Accept = power, margin, [2]float64{power / margin, power * margin}
	if f.terms(power > 0) {
		f.within(e, f.Accept[0], f.Accept[1])
	}
	return f
}

// Flattens judges "growth drops after x" from one number for each round: growth after x over growth
// before it. To be reproduced the drop has to be at least the margin (0 means 1.25: to 0.8 of the
// growth before); growth that does not drop at all refutes.
func Flattens(s Sample, margin float64) Finding {
	s = s.clean().negated()
	margin = orDefault(margin, DefaultMargin)
	e := newEvidence(s.Values, s.Values)
	f := begin(KindShape, s, e, func(v float64) float64 { return -v })
	f.Margin, f.Accept = margin, [2]float64{math.Inf(-1), 1 / margin}
	if f.terms(true) {
		f.beyond(e, -1/margin, -1, fmt.Sprintf("%.3g %%", 100*(1-1/margin)))
	}
	return f
}

// Steepens judges "growth rises after x" from one number for each round: growth after x over growth
// before it. To be reproduced it has to rise at least by the margin (0 means 1.25); growth that
// does not rise at all refutes.
func Steepens(s Sample, margin float64) Finding {
	s = s.clean()
	margin = orDefault(margin, DefaultMargin)
	e := newEvidence(s.Values, s.Values)
	f := begin(KindShape, s, e, identity)
	f.Margin, f.Accept = margin, [2]float64{margin, math.Inf(1)}
	if f.terms(true) {
		f.beyond(e, margin, 1, fmt.Sprintf("%.3g %%", 100*(margin-1)))
	}
	return f
}

// terms reports whether the claim's numbers make sense.
func (f *Finding) terms(publishedOK bool) bool {
	switch {
	case !(f.Margin > 1):
		f.Reason = fmt.Sprintf("the margin is %g, not above 1", f.Margin)
	case !publishedOK:
		f.Reason = fmt.Sprintf("the published number is %g, not above 0", f.Published)
	default:
		return true
	}
	return false
}

// within decides whether the number lies between low and high, both on the scale of the evidence.
// It returns false if there are too few rounds to look.
func (f *Finding) within(e evidence, low, high float64) bool {
	for i := range e.low {
		if e.low[i] >= low && e.high[i] <= high {
			f.RoundsAgreeing++
		}
	}
	if !f.judgeable() {
		return false
	}
	f.P = max(e.pAbove(low), e.pBelow(high))
	f.PAgainst = min(1, 2*min(e.pAbove(high), e.pBelow(low)))
	f.inside(e, low, high)
	return true
}

// inside gives the word for a number that has to lie between low and high.
func (f *Finding) inside(e evidence, low, high float64) {
	switch {
	case e.at90.Lower >= low && e.at90.Upper <= high:
		f.Word = Reproduced
	case e.at95.Lower > high || e.at95.Upper < low:
		f.Word, f.Reason = NotReproduced, "the number lies outside the margin"
	default:
		f.Reason = "the number lies at the edge of the margin"
		f.tooWide(e.at95, (high-low)/8)
	}
}

// beyond decides whether the number lies above bar, where none means no effect; both on the scale
// of the evidence. small is the distance between them in words.
func (f *Finding) beyond(e evidence, bar, none float64, small string) {
	for _, v := range e.low {
		if v > none {
			f.RoundsAgreeing++
		}
	}
	if !f.judgeable() {
		return
	}
	f.P = min(1, 2*e.pAbove(bar))
	f.PAgainst = min(1, 2*e.pBelow(none))
	switch lower, upper := e.at95.Lower, e.at95.Upper; {
	case lower > bar:
		f.Word = Reproduced
	case upper < none:
		f.Word, f.Reason = NotReproduced, "it is the other way round"
	case upper <= bar && lower > none:
		f.Reason = "the direction agrees, but the effect is below the " + small + " that count"
	case upper <= bar:
		f.Reason = "any effect in this direction is below the " + small + " that count"
	default:
		f.Reason = "the number lies at the edge of the " + small + " that count"
		f.tooWide(e.at95, (bar-none)/2)
	}
}

// tooWide puts the width in place of the reason if the interval is wider than it should be: then
// more rounds may decide, otherwise they would only confirm that the number lies at an edge.
func (f *Finding) tooWide(iv Interval, target float64) {
	need := MoreRounds(f.Rounds, iv.HalfWidth(), target)
	if need > 0 || math.IsInf(iv.HalfWidth(), 1) {
		f.Reason = "the interval is too wide"
		f.NeedRounds = need
	}
}

func identity(v float64) float64 { return v }

func orDefault(v, byDefault float64) float64 {
	if v == 0 {
		return byDefault
	}
	return v
}
