package stats

// Claims that rest on several comparisons: an order of models, "at every number of
// connections", a flat curve.
//
// All of them have to hold, and each at the full level: then the claim holds at that level too
// (intersection-union), so reproducing needs no correction. Refuting does: one failure is
// enough, and of many comparisons one fails by luck. So a single part refutes only at .05 over
// the number of parts.

import (
	"fmt"
	"math"
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
	refuter, weakest := 0, 0
	for i, p := range parts {
		if p.Finding.PAgainst < parts[refuter].Finding.PAgainst {
			refuter = i
		}
		if weaker(p.Finding, parts[weakest].Finding) {
			weakest = i
		}
	}
	against := parts[refuter].Finding
	if against.Word == NotReproduced && against.PAgainst*float64(len(parts)) <= Alpha {
		f.rest(parts[refuter], NotReproduced)
		return f
	}
	f.rest(parts[weakest], parts[weakest].Finding.Word)
	if f.Word == NotReproduced {
		f.Word = Inconclusive
		f.Reason = fmt.Sprintf("%s fails alone, but one of %d may by luck", parts[weakest].Name,
			len(parts))
		f.NeedRounds = max(f.NeedRounds, roundsToRefute(len(parts))-f.Rounds)
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
		f.P = max(f.P, p.Finding.P)
		f.PAgainst = min(f.PAgainst, p.Finding.PAgainst*float64(len(f.Parts)))
		if word == Inconclusive {
			f.NeedRounds = max(f.NeedRounds, p.Finding.NeedRounds)
		}
		for _, c := range p.Finding.Cautions {
			f.Cautions = append(f.Cautions, p.Name+": "+c)
		}
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
	return a.P > b.P
}

// roundsToRefute is how many rounds it takes until one of so many parts can refute: with n rounds
// the smallest two-sided p-value is 2/2^n.
func roundsToRefute(parts int) int {
	return max(MinRounds, int(math.Ceil(math.Log2(2*float64(parts)/Alpha))))
}

// Flat judges that the metric hardly depends on x: any two points of the axis are equal within the
// margin (0 means 1.25). It compares all pairs and not the largest with the smallest of each round,
// for noise alone keeps those apart: by a factor of 1.12 for five points with 5 % each.
func Flat(s Sweep, margin float64) Finding {
	var parts []Part
	for j := range s.X {
		for i := range j {
			name := fmt.Sprintf("%g against %g", s.X[j], s.X[i])
			parts = append(parts, Part{name, Equality(Pair(s.Y[j], s.Y[i]),
				orDefault(margin, DefaultMargin))})
		}
	}
	return All(KindShape, parts)
}
