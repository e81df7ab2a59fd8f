package stats

// Claims that rest on several comparisons: an order of models, "at every number of
// connections", a flat curve. Each comparison is looked at in its own rounds, and its first word
// stands.
//
// All of them have to hold, and each at the full level: then the claim holds at that level too
// (intersection-union), so reproducing needs no correction, and a comparison that holds need not be
// measured again while the others go on. Refuting does need one: a failure is enough, and of many
// comparisons one fails by luck. So either one comparison fails at a boundary whose error is
// divided by their number, or half of them fail at half the error: as the mean number of wrong
// failures is at most the error times their number, half of them or more fail with at most twice
// the error (Rueger, 1978).

import (
	"fmt"
	"math"
	"slices"
)

// All judges the claim that every part holds.
func All(kind Kind, parts []Part) Finding {
	f := Finding{
		Kind: kind, Word: Inconclusive, P: 1, PAgainst: 1, Parts: parts,
		Estimate: math.NaN(), Interval90: wholeLine(.90), Interval95: wholeLine(.95),
		Accept: [2]float64{0, math.Inf(1)},
	}
	if len(parts) == 0 {
		f.Reason = "there is nothing to compare"
		return f
	}
	weakest := 0
	for i, p := range parts {
		if weaker(p.Finding, parts[weakest].Finding) {
			weakest = i
		}
	}
	f.rest(parts[weakest], parts[weakest].Finding.Word)
	switch round := refuted(parts); {
	case round > 0:
		f.Looked, f.PAgainst = round, min(f.PAgainst, Alpha)
		f.AtLook = parts[weakest].Finding.AtLook
	case f.Word == Reproduced:
		f.AtLook = parts[weakest].Finding.AtLook
		for _, p := range parts {
			f.Looked = max(f.Looked, p.Finding.Looked)
		}
	default:
		f.foresee()
		if f.Word == NotReproduced {
			f.Word = Inconclusive
			f.Reason = fmt.Sprintf("%s fails alone, but one of %d may by luck",
				parts[weakest].Name, len(parts))
		}
	}
	return f
}

// rest takes over the numbers of the part that decides, and gives its reason with its name.
func (f *Finding) rest(decides Part, word Word) {
	d := decides.Finding
	f.Word, f.Weakest = word, decides.Name
	f.Estimate, f.Interval90, f.Interval95 = d.Estimate, d.Interval90, d.Interval95
	f.Rounds, f.RoundsAgreeing, f.Voided = d.Rounds, d.RoundsAgreeing, d.Voided
	f.Sense, f.Published, f.Margin, f.Accept = d.Sense, d.Published, d.Margin, d.Accept
	if word != Reproduced && d.Reason != "" {
		f.Reason = decides.Name + ": " + d.Reason
	}
	f.P, f.PAgainst = 0, 1
	for _, p := range f.Parts {
		f.last = max(f.last, p.Finding.last)
		f.P = max(f.P, p.Finding.P)
		f.PAgainst = min(f.PAgainst, p.Finding.PAgainst*float64(len(f.Parts)))
		for _, c := range p.Finding.Cautions {
			f.Cautions = append(f.Cautions, p.Name+": "+c)
		}
	}
}

// levelFor is the level whose error, times so many, is at most that of one comparison.
func levelFor(parts int) int { return int(math.Ceil(math.Log2(float64(parts)))) }

// refuted is the number of the round at which the parts refuted the claim, or 0.
func refuted(parts []Part) int {
	var one, half []int
	for _, p := range parts {
		if p.Finding.Word != NotReproduced {
			continue
		}
		reached := p.Finding.looking.reached
		if k := levelFor(len(parts)); k < levels && reached[k] > 0 {
			one = append(one, reached[k])
		}
		if reached[1] > 0 {
			half = append(half, reached[1])
		}
	}
	slices.Sort(one)
	slices.Sort(half)
	enough := (len(parts) + 1) / 2
	switch several := len(half) >= enough; {
	case len(one) > 0 && several:
		return min(one[0], half[enough-1])
	case several:
		return half[enough-1]
	case len(one) > 0:
		return one[0]
	}
	return 0
}

// foresee joins what the parts expect. A claim waits for the slowest of the parts that hold, or for
// the quickest that fails. Once one of them cannot hold any more, only the latter is left.
func (f *Finding) foresee() {
	hold, fail, stuck, level := 0, 0, false, levelFor(len(f.Parts))
	for _, p := range f.Parts {
		d := p.Finding
		failing := d.Word == NotReproduced || d.Word == Inconclusive &&
			d.outlook.heading == NotReproduced
		if n := d.outlook.need(level); failing && n > 0 && (fail == 0 || n < fail) {
			fail = n
		}
		stuck = stuck || d.Edge || d.Word == NotReproduced || d.Word == NotComparable
		hold = max(hold, d.NeedRounds)
	}
	switch {
	case fail > 0:
		f.NeedRounds = fail
	case stuck:
		f.Edge = !slices.ContainsFunc(f.Parts,
			func(p Part) bool { return p.Finding.Word == NotComparable })
	default:
		f.NeedRounds = hold
	}
}

// rank orders words by how far they are from a claim that holds. Not comparable ranks above
// inconclusive: no number of rounds will change it.
var rank = map[Word]int{Reproduced: 0, Inconclusive: 1, NotMeasured: 2, NotComparable: 3,
	NotReproduced: 4}

func weaker(a, b Finding) bool {
	if rank[a.Word] != rank[b.Word] {
		return rank[a.Word] > rank[b.Word]
	}
	return a.outlook.lead() < b.outlook.lead()
}

// Flat judges that the metric hardly depends on x: any two points of the axis are equal within the
// margin (0 means 1.25). It compares all pairs and not the largest with the smallest of each round,
// for noise alone keeps those apart: by a factor of 1.12 for five points with 5 % each.
func Flat(s Sweep, margin float64) Finding {
	var parts []Part
	for j := range s.X {
		for i := range j {
			name := fmt.Sprintf("%g against %g", s.X[j], s.X[i])
			ratio := Pair(s.Y[j], s.Y[i])
			ratio.Rounds = s.Rounds
			parts = append(parts, Part{name, Equality(ratio, orDefault(margin, DefaultMargin))})
		}
	}
	return All(KindShape, parts)
}
