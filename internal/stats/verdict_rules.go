package stats

// The rules for a single number: three shapes of test, and the kinds of claims that use them. All
// of them hold the interval of a look against a zone, and the first look at which one of the two
// words is shown stands.
//
// within: the number has to lie in a margin. The interval inside it reproduces, the interval wholly
// outside it refutes.
//
// beyond: the number has to lie past a bar. The interval wholly past it reproduces, the interval
// wholly on the other side of "none" refutes. Between none and the bar lies a strip that decides
// nothing: an effect of 3 % is no counter-example to "A uses less than B", so it does not refute;
// but it is of the size that placement in memory or the order of start-up can fake, so it does not
// reproduce either. The reason then says that any effect is small, which is more than "too wide"
// and is what the reader of such a claim wants to know.
//
// below: the number must not lie past a bar. The interval wholly below it reproduces, the interval
// wholly past it refutes.
//
// past: the number has to lie past a bar that the claim names, as in "at least 4 times". The
// interval wholly past it reproduces, the interval wholly below it refutes.

import (
	"fmt"
	"math"
)

// Direction judges "A has less (greater) of the metric than B" from the log ratios A/B. effect is
// the smallest ratio of interest (0 means 1.05): the bar is effect, "none" is 1.
func Direction(s Sample, sense Sense, effect float64) Finding {
	return sided(KindDirection, s, sense, 1, effect)
}

// AtLeast judges "A has at least k times as much as B" from the log ratios A/B. A smaller ratio
// refutes it, and need not be below 1.
func AtLeast(s Sample, k float64) Finding {
	f := past(math.Log(k)).judge(KindDirection, s, newNumbers(s.Values), math.Exp)
	f.Sense, f.Published, f.Margin, f.Accept = Greater, k, k, [2]float64{k, math.Inf(1)}
	f = f.terms(k > 0)
	f.tellDirection()
	return f
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
	effect = orDefault(effect, DefaultEffect)
	show := func(v float64) float64 { return unit * math.Exp(v) }
	accept := [2]float64{unit * effect, math.Inf(1)}
	if sense == Less {
		s = s.negated()
		show = func(v float64) float64 { return unit * math.Exp(-v) }
		accept = [2]float64{0, unit / effect}
	}
	r := beyond(math.Log(effect), 0, fmt.Sprintf("%.3g %%", 100*(effect-1)))
	f := r.judge(kind, s, newNumbers(s.Values), show)
	f.Sense, f.Margin, f.Accept = sense, effect, accept
	switch {
	case sense != Less && sense != Greater:
		return f.senseless(fmt.Sprintf("the claim's sense is %q, neither less nor greater", sense))
	case effect < 1:
		return f.senseless(fmt.Sprintf("the smallest effect of interest is %g, below 1", effect))
	}
	return f
}

// NonInferiority judges "A is no worse than B" from the log ratios A/B, where better is the sense
// in which the metric is good. A may be worse by the margin (0 means 1.10); how much better it is
// does not count.
func NonInferiority(s Sample, better Sense, margin float64) Finding {
	margin = orDefault(margin, DefaultEqualMargin)
	show, accept := math.Exp, [2]float64{0, margin}
	if better == Greater {
		s = s.negated()
		show = func(v float64) float64 { return math.Exp(-v) }
		accept = [2]float64{1 / margin, math.Inf(1)}
	}
	f := below(math.Log(margin)).judge(KindNonInferiority, s, newNumbers(s.Values), show)
	f.Sense, f.Margin, f.Accept = better, margin, accept
	if better != Less && better != Greater {
		return f.senseless(fmt.Sprintf("the claim's sense is %q, neither less nor greater",
			better))
	}
	return f.terms(true)
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
	r := within(math.Log(k)-math.Log(margin), math.Log(k)+math.Log(margin))
	f := r.judge(kind, s, newNumbers(s.Values), math.Exp)
	f.Published, f.Margin, f.Accept = k, margin, [2]float64{k / margin, k * margin}
	f = f.terms(k > 0)
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
	margin = orDefault(margin, DefaultMargin)
	f := within(power/margin, power*margin).judge(KindShape, s, newNumbers(s.Values), identity)
	f.Published, f.Margin, f.Accept = power, margin, [2]float64{power / margin, power * margin}
	return f.terms(power > 0)
}

// Flattens judges "growth drops after x" from one number for each round: growth after x over growth
// before it. To be reproduced the drop has to be at least the margin (0 means 1.25: to 0.8 of the
// growth before); growth that does not drop at all refutes.
func Flattens(s Sample, margin float64) Finding {
	s = s.negated()
	margin = orDefault(margin, DefaultMargin)
	f := beyond(-1/margin, -1, fmt.Sprintf("%.3g %%", 100*(1-1/margin))).judge(KindShape, s,
		newNumbers(s.Values), func(v float64) float64 { return -v })
	f.Margin, f.Accept = margin, [2]float64{math.Inf(-1), 1 / margin}
	return f.terms(true)
}

// Steepens judges "growth rises after x" from one number for each round: growth after x over growth
// before it. To be reproduced it has to rise at least by the margin (0 means 1.25); growth that
// does not rise at all refutes.
func Steepens(s Sample, margin float64) Finding {
	margin = orDefault(margin, DefaultMargin)
	f := beyond(margin, 1, fmt.Sprintf("%.3g %%", 100*(margin-1))).judge(KindShape, s,
		newNumbers(s.Values), identity)
	f.Margin, f.Accept = margin, [2]float64{margin, math.Inf(1)}
	return f.terms(true)
}

// Gains judges "the lead of A over B grows (shrinks) over x" from one number for each round: by
// what part of the mean of both it grows. To be reproduced it has to grow by the margin's part (0
// means 1.05: a twentieth); a lead that does not grow at all refutes.
func Gains(s Sample, sense Sense, margin float64) Finding {
	margin = orDefault(margin, DefaultEffect)
	show, accept := identity, [2]float64{margin - 1, math.Inf(1)}
	if sense == Less {
		s = s.negated()
		show = func(v float64) float64 { return -v }
		accept = [2]float64{math.Inf(-1), 1 - margin}
	}
	f := beyond(margin-1, 0, fmt.Sprintf("%.3g %%", 100*(margin-1))).judge(KindShape, s,
		newNumbers(s.Values), show)
	f.Sense, f.Margin, f.Accept = sense, margin, accept
	if sense != Less && sense != Greater {
		return f.senseless(fmt.Sprintf("the claim's sense is %q, neither less nor greater", sense))
	}
	return f.terms(true)
}

// terms takes the verdict back if the claim's numbers make no sense.
func (f Finding) terms(publishedOK bool) Finding {
	switch {
	case !(f.Margin > 1):
		return f.senseless(fmt.Sprintf("the margin is %g, not above 1", f.Margin))
	case !publishedOK:
		return f.senseless(fmt.Sprintf("the published number is %g, not above 0", f.Published))
	}
	return f
}

// senseless is a finding that no round can decide.
func (f Finding) senseless(why string) Finding {
	f.Word, f.Reason, f.RoundsAgreeing, f.P, f.PAgainst = Inconclusive, why, 0, 1, 1
	f.NeedRounds, f.Edge, f.Looked, f.AtLook = 0, false, 0, nil
	f.looking, f.outlook = looking{}, outlook{}
	return f
}

// A rule is a zone with the words for what lies outside of it.
type rule struct {
	zone
	agree   [2]float64 // a round whose value lies in here agrees; an open end is infinite
	against string     // the reason that refutes
	edge    string     // the reason where more rounds would not do
	strip   string     // why an interval wholly between the zone's two sides decides nothing
	narrow  float64    // the half-width below which an interval is not what is wrong
}

// within wants the number between low and high.
func within(low, high float64) rule {
	return rule{zone: zone{low, high, low, high}, agree: [2]float64{low, high},
		against: "the number lies outside the margin", edge: "the edge of the margin",
		narrow: (high - low) / 8}
}

// beyond wants the number above bar, where none means no effect. small is the distance between them
// in words.
func beyond(bar, none float64, small string) rule {
	return rule{zone: zone{math.Nextafter(bar, math.Inf(1)), math.Inf(1), none, math.Inf(1)},
		agree:   [2]float64{math.Nextafter(none, math.Inf(1)), math.Inf(1)},
		against: "it is the other way round", edge: "the edge of the " + small + " that count",
		strip: "below the " + small + " that count", narrow: (bar - none) / 2}
}

// past wants the number above bar.
func past(bar float64) rule {
	return rule{zone: zone{math.Nextafter(bar, math.Inf(1)), math.Inf(1), bar, math.Inf(1)},
		agree:   [2]float64{math.Nextafter(bar, math.Inf(1)), math.Inf(1)},
		against: "the effect is smaller than claimed", edge: "the edge of what is claimed",
		narrow: bar / 2}
}

// below wants the number not above bar.
func below(bar float64) rule {
	return rule{zone: zone{math.Inf(-1), bar, math.Inf(-1), bar},
		agree:   [2]float64{math.Inf(-1), bar},
		against: "it is worse by more than the margin", edge: "the edge of the margin",
		narrow: bar / 2}
}

// judge looks at a sample after each round and tells the finding. show leads from the scale of the
// evidence to that of the claim.
func (r rule) judge(kind Kind, s Sample, e evidence, show func(float64) float64) Finding {
	l := look(s, e, r.zone)
	f := begin(kind, s, e, show)
	for i, v := range s.Values {
		if b := e.bounds(i); !math.IsNaN(v) && b[0] >= r.agree[0] && b[1] <= r.agree[1] {
			f.RoundsAgreeing++
		}
	}
	f.outlook = foresee(e, r.zone)
	if l.word == Inconclusive {
		if f.judgeable() {
			f.open(e, r)
		} else if 4*f.Voided <= f.Rounds+f.Voided && f.Rounds > 1 {
			f.NeedRounds = max(f.NeedRounds, f.outlook.need(0))
		}
		return f
	}
	iv := l.interval.apply(show)
	f.Word, f.Looked, f.AtLook, f.looking = l.word, l.round, &iv, l
	if p := Alpha * levelOf(l.level()) / levelOf(0); f.Word == Reproduced {
		f.P = p
	} else {
		f.PAgainst, f.Reason = p, r.against
	}
	f.since(r.word(ofLook(e)))
	return f
}

// since warns of what the rounds after the decision did.
func (f *Finding) since(now Word) {
	if all := f.Rounds + f.Voided; 4*f.Voided > all {
		f.Cautions = append(f.Cautions, fmt.Sprintf("decided at round %d; %d of all %d rounds do "+
			"not count", f.Looked, f.Voided, all))
	}
	if now != f.Word {
		f.Cautions = append(f.Cautions, fmt.Sprintf("decided at round %d; the interval of all %s "+
			"alone would not show it", f.Looked, count(f.Rounds, "round")))
	}
}

// open gives the reason of a claim that the looks leave open, and what it would take.
func (f *Finding) open(e evidence, r rule) {
	o, iv := f.outlook, ofLook(e)
	f.NeedRounds, f.Edge = o.need(0), o.hopeless
	wide := !(iv.HalfWidth() <= r.narrow)
	switch above, under := iv.Lower >= r.below, iv.Upper < r.low; {
	case r.strip != "" && above && under && iv.Lower > r.below:
		f.Reason = "the direction agrees, but the effect is " + r.strip
	case r.strip != "" && under:
		f.Reason = "any effect in this direction is " + r.strip
	case f.Edge && wide && o.scale*widthAt(LastLook) > r.narrow:
		f.Reason = "the interval is too wide, and more rounds alone will not do: measure longer " +
			"or on a quieter machine"
	case f.Edge:
		f.Reason = fmt.Sprintf("the number lies so near %s that %d rounds would not tell", r.edge,
			LastLook)
	case wide:
		f.Reason = "the interval is too wide"
	default:
		f.Reason = "the number lies at " + r.edge
	}
}

func identity(v float64) float64 { return v }

func orDefault(v, byDefault float64) float64 {
	if v == 0 {
		return byDefault
	}
	return v
}
