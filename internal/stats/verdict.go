package stats

// Verdicts. A claim is held against intervals, never against a point: reproduced and not reproduced
// both have to be shown. A claim of which neither is shown is inconclusive, with the reason. The
// trade: with few rounds many claims stay open, but a word that is given is wrong in at most one of
// twenty runs, at the very edge of the margin.

import (
	"encoding/json"
	"fmt"
	"math"
)

// Kind is the sort of statement that a claim makes.
type Kind string

// The kinds of claims.
const (
	KindDirection Kind = "direction" // A has more (less) of the metric than B
	KindMagnitude Kind = "magnitude" // A has k times as much as B
	KindEquality  Kind = "equality"  // A has as much as B
	KindShape     Kind = "shape"     // an order of several, growth, a bend, none
	KindCrossover Kind = "crossover" // A and B swap places at x
	KindAbsolute  Kind = "absolute"  // A has v of the metric, in its unit
	KindBound     Kind = "bound"     // A has more (less) than v of the metric, in its unit

	// A is no worse than B, by more than a margin
	KindNonInferiority Kind = "non-inferiority"
)

// Word is a verdict.
type Word string

// The verdicts.
const (
	Reproduced    Word = "reproduced"
	NotReproduced Word = "not reproduced"
	Inconclusive  Word = "inconclusive"
	NotComparable Word = "not comparable" // this machine, or any of today, cannot tell
	NotMeasured   Word = "not measured"   // this run left out what the claim is about
)

// Sense is the side of B on which a claim sees A.
type Sense string

// The senses.
const (
	Less    Sense = "less"
	Greater Sense = "greater"
)

const (
	// DefaultMargin is the factor by which a size may differ from the published one, unless the
	// claim says otherwise.
	DefaultMargin = 1.25
	// DefaultEqualMargin is the same for claims of equality.
	DefaultEqualMargin = 1.10
	// DefaultEffect is the smallest ratio that counts as a difference: below 5 % the placement of a
	// process in memory can do as much (a guess, to be held against the A/A pairs of runs).
	DefaultEffect = 1.05
	// Alpha is the error that a verdict may have at the edge of what is claimed.
	Alpha = .05
)

// Sample is one number for each round, in the order of the rounds. A NaN is a round that does not
// count.
type Sample struct {
	Values []float64
	Rounds []int // the number of each value's round; nil means 1, 2, 3
	// further rounds that were measured but do not count, before the first value
	Voided int
}

// Pair is the sample of ln(a/b) by round: the i-th of both are of one round.
func Pair(a, b []float64) Sample {
	values := make([]float64, max(len(a), len(b)))
	for i := range values {
		values[i] = math.NaN()
		if i < len(a) && i < len(b) && measurable(a[i]) && measurable(b[i]) {
			values[i] = math.Log(a[i]) - math.Log(b[i])
		}
	}
	return Sample{Values: values}
}

// round is the number of the i-th value's round.
func (s Sample) round(i int) int {
	if i < len(s.Rounds) {
		return s.Rounds[i]
	}
	return i + 1
}

// Usable are the values that count, and the numbers of their rounds.
func (s Sample) Usable() (values []float64, rounds []int) {
	for i, v := range s.Values {
		if !math.IsNaN(v) {
			values, rounds = append(values, v), append(rounds, s.round(i))
		}
	}
	return values, rounds
}

// changed is the sample with f applied to each value.
func (s Sample) changed(f func(float64) float64) Sample {
	out := s
	out.Values = make([]float64, len(s.Values))
	for i, v := range s.Values {
		out.Values[i] = f(v)
	}
	return out
}

// less is the sample with v taken from each value.
func (s Sample) less(v float64) Sample {
	return s.changed(func(x float64) float64 { return x - v })
}

func (s Sample) negated() Sample { return s.changed(func(x float64) float64 { return -x }) }

// Finding is the result of the rounds for one claim. Estimate, intervals, Accept and Published are
// in the unit that the claim is told in: a ratio, an exponent, a place on the axis, or the
// metric's own unit.
type Finding struct {
	Kind Kind `json:"kind"`
	Word Word `json:"word"`
	// why, in a clause without a full stop; empty if the word says all
	Reason   string  `json:"reason,omitempty"`
	Estimate float64 `json:"estimate"`
	// Interval95 is that of a look after all rounds: it covers the truth in at least 95 % of runs
	// though the run was looked at after each round. It decides.
	Interval95 Interval `json:"interval95"`
	// Interval90 is what a single look would have, for figures; it decides nothing.
	Interval90 Interval `json:"interval90"`
	Rounds     int      `json:"rounds"` // that count
	// of these, by their own value: on the claimed side, or within the margin
	RoundsAgreeing int `json:"rounds_agreeing"`
	Voided         int `json:"voided"`
	// Looked is the number of the round at which the word was decided, and AtLook the interval that
	// decided it; 0 if none did.
	Looked int       `json:"looked,omitempty"`
	AtLook *Interval `json:"at_look,omitempty"`
	// NeedRounds is how many more rounds a decision is expected to take; 0 if there is one, or if
	// none would help.
	NeedRounds int `json:"need_rounds,omitempty"`
	// Edge says that the number lies so near an edge of what is claimed, for rounds that differ as
	// these do, that LastLook rounds would not decide: measuring on is no use.
	Edge bool `json:"edge,omitempty"`
	// P bounds the error of the word that reproduces the claim, all looks included (Holm takes
	// these), PAgainst that of the one that refutes it; 1 where there is no such word. They halve
	// from Alpha on, one step for each stricter boundary, and allow for rounds that resemble their
	// neighbours.
	P         float64 `json:"p"`
	PAgainst  float64 `json:"p_against"`
	Sense     Sense   `json:"sense,omitempty"`     // of kinds that have a side
	Published float64 `json:"published,omitempty"` // 0 if the claim has no number
	// 0 if it has none; for a direction the smallest effect of interest
	Margin float64 `json:"margin,omitempty"`
	// the claim is reproduced if the interval lies in here; an open end is 0 or infinite
	Accept   [2]float64 `json:"accept"`
	Cautions []string   `json:"cautions,omitempty"` // what a reader has to know beside the word
	// the comparisons that a claim of several rests on
	Parts []Part `json:"parts,omitempty"`
	// the name of the part that decides; its numbers stand above
	Weakest string `json:"weakest,omitempty"`

	looking looking
	outlook outlook
	last    int // the number of the last round that counts
}

// Part is one comparison of several.
type Part struct {
	Name    string  `json:"name"`
	Finding Finding `json:"finding"`
}

// MarshalJSON writes what JSON has no number for (no estimate, an open end) as null.
func (f Finding) MarshalJSON() ([]byte, error) {
	type plain Finding // without this method
	return json.Marshal(struct {
		plain
		Estimate *float64    `json:"estimate"`
		Accept   [2]*float64 `json:"accept"`
	}{plain(f), finite(f.Estimate), [2]*float64{finite(f.Accept[0]), finite(f.Accept[1])}})
}

// begin is the finding before its verdict, of evidence that has taken in all rounds. show leads
// from the scale of the sample to that of the claim.
func begin(kind Kind, s Sample, e evidence, show func(float64) float64) Finding {
	values, rounds := s.Usable()
	f := Finding{
		Kind: kind, Word: Inconclusive, Rounds: len(values),
		Voided: s.Voided + len(s.Values) - len(values), P: 1, PAgainst: 1,
		Interval90: once(e, .90).apply(show), Interval95: ofLook(e).apply(show),
	}
	f.Estimate = f.Interval95.Estimate
	if len(rounds) > 0 {
		f.last = rounds[len(rounds)-1]
	}
	if lag := Lag1(values); lag > Lag1Warn {
		f.Cautions = append(f.Cautions,
			fmt.Sprintf("neighbouring rounds resemble each other (lag-1 %.2f), so the interval "+
				"may be too narrow", lag))
	}
	return f
}

// judgeable reports whether there are rounds enough for any verdict, and says why if not.
func (f *Finding) judgeable() bool {
	lacking := max(0, MinRounds-f.Rounds)
	switch all := f.Rounds + f.Voided; {
	case all == 0:
		f.Reason, f.NeedRounds = "no round was measured", MinRounds
	case 4*f.Voided > all:
		f.Reason = fmt.Sprintf("%d of %d rounds do not count, more than a quarter", f.Voided, all)
		f.NeedRounds = max(lacking, 3*f.Voided-f.Rounds)
	case lacking > 0:
		f.Reason = fmt.Sprintf("%s cannot carry a 95 %% interval, %d are the least",
			count(f.Rounds, "round"), MinRounds)
		f.NeedRounds = lacking
	default:
		return true
	}
	return false
}

// count is "1 round" or "2 rounds".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
