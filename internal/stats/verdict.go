package stats

// Verdicts. A claim is held against intervals, never against a point: reproduced and not reproduced
// both have to be shown. A claim of which neither is shown is inconclusive, with the reason. The
// trade: with few rounds many claims stay open, but a word that is given is wrong in at most one of
// twenty runs, at the very edge of the margin.

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
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

// Sample is one number for each round that counts, in the order of the rounds. A NaN counts as
// a voided round.
type Sample struct {
	Values []float64
	Voided int // further rounds that were measured but do not count
}

// Pair is the sample of ln(a/b) by round; see LogRatios.
func Pair(a, b []float64) Sample {
	values, missing := LogRatios(a, b)
	return Sample{Values: values, Voided: missing}
}

// clean counts what cannot be used as voided.
func (s Sample) clean() Sample {
	usable := slices.DeleteFunc(slices.Clone(s.Values), math.IsNaN)
	return Sample{Values: usable, Voided: s.Voided + len(s.Values) - len(usable)}
}

// less is the sample with v taken from each value.
func (s Sample) less(v float64) Sample {
	values := make([]float64, len(s.Values))
	for i := range values {
		values[i] = s.Values[i] - v
	}
	return Sample{Values: values, Voided: s.Voided}
}

func (s Sample) negated() Sample {
	values := make([]float64, len(s.Values))
	for i, v := range s.Values {
		values[i] = -v
	}
	return Sample{Values: values, Voided: s.Voided}
}

// Finding is the result of the rounds for one claim. Estimate, intervals, Accept and Published are
// in the unit that the claim is told in: a ratio, an exponent, a place on the axis, or the
// metric's own unit.
type Finding struct {
	Kind Kind `json:"kind"`
	Word Word `json:"word"`
	// why, in a clause without a full stop; empty if the word says all
	Reason     string   `json:"reason,omitempty"`
	Estimate   float64  `json:"estimate"`
	Interval90 Interval `json:"interval90"` // decides what has to lie inside a margin
	// decides what has to lie outside one, or beyond a bar
	Interval95 Interval `json:"interval95"`
	Rounds     int      `json:"rounds"` // that count
	// of these, by their own value: on the claimed side, or within the margin
	RoundsAgreeing int `json:"rounds_agreeing"`
	Voided         int `json:"voided"`
	// so many more for the interval to be narrow enough; 0 if it is, or if none would help
	NeedRounds int `json:"need_rounds,omitempty"`
	// P is the p-value of the test that reproduces the claim at .05 (Holm takes these); PAgainst of
	// the one that refutes it.
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

// evidence is a sample with its intervals. For a round that only says that its value lies beyond
// some point, low holds the smallest value that it may have and high the largest; otherwise both
// are the same.
type evidence struct {
	low, high  []float64
	at90, at95 Interval
}

func newEvidence(low, high []float64) evidence {
	l := newWalsh(low)
	h := l
	if !slices.Equal(low, high) {
		h = newWalsh(high)
	}
	join := func(level float64) Interval {
		iv := l.interval(level)
		iv.Upper = h.interval(level).Upper
		return iv
	}
	return evidence{low, high, join(.90), join(.95)}
}

// pAbove is the p-value against "the centre is at most v", pBelow against "at least v".
func (e evidence) pAbove(v float64) float64 { return SignedRank(e.low, v).Greater }
func (e evidence) pBelow(v float64) float64 { return SignedRank(e.high, v).Less }

// begin is the finding before its verdict. show leads from the scale of the sample to
// that of the claim.
func begin(kind Kind, s Sample, e evidence, show func(float64) float64) Finding {
	f := Finding{
		Kind: kind, Word: Inconclusive, Rounds: len(s.Values), Voided: s.Voided, P: 1, PAgainst: 1,
		Interval90: e.at90.apply(show), Interval95: e.at95.apply(show),
	}
	f.Estimate = f.Interval95.Estimate
	if lag := Lag1(s.Values); lag > Lag1Warn {
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
