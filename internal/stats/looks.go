package stats

// Looks. A run is judged after each of its rounds, and stops when a claim is decided. An interval
// made for one look would be wrong far more often then: of twenty looks at nothing, one finds
// something. So the interval of each look is wider, by as much as keeps the error of all looks
// together.
//
// The signed-rank statistics of a run, after 6 rounds, 7 and so on, have a joint distribution that
// is the same for all symmetric noise: the signs of the rounds are fair coins, and the rank of each
// among those before it is any rank with the same chance. So the boundaries of all looks come from
// one simulation without a model of the noise (lookstable_test.go), and the intervals that invert
// them cover the truth at all looks at once.
//
// The error of all looks is 2 % on each side, not 2.5 %: rounds that resemble their neighbours
// (lag-1 .2) raise it to 4.3 %, so a word is still wrong in at most one run of twenty. Four fifths
// of it are spent by the first look, after 6 rounds, for that is what six equal signs cost; a large
// effect is then decided as soon as it can be.

import "math"

// LastLook is the number of rounds after which no further look is taken. A later one would be worth
// little: between 30 rounds and 60 the interval narrows by less than a third.
const LastLook = 60

// levels is how many boundaries there are. Each has half the error of the one before it and begins
// one round later. The first decides a claim, the others serve where one of several comparisons is
// enough (All), and give p-values (Holm).
const levels = 8

// levelOf is the error, on one side and of all looks together, that a boundary has.
func levelOf(level int) float64 { return sideError / float64(int(1)<<level) }

const sideError = .02

// criticalAt is the largest signed-rank statistic of n rounds at which a look rejects; -1 if no
// statistic of so few rounds is small enough. After LastLook the last look's distance from the
// mean, in standard deviations, is kept: that is for figures, no look is taken.
func criticalAt(level, n int) int {
	switch {
	case n < MinRounds+level:
		return -1
	case n <= LastLook:
		return critical[level][n-MinRounds-level]
	}
	mean, variance := signedRankMoments(LastLook)
	z := (mean - .5 - float64(criticalAt(level, LastLook))) / math.Sqrt(variance)
	mean, variance = signedRankMoments(n)
	return int(math.Floor(mean - .5 - z*math.Sqrt(variance)))
}

// evidence is what the rounds say of one number, look by look.
type evidence interface {
	add(i int)               // the i-th value of the sample, which is no NaN
	rounds() int             // that were added
	between(c int) Interval  // from the c-th Walsh average to the c-th from the end
	bounds(i int) [2]float64 // between which the i-th value lies
}

// ofLook is the interval of this look: all of them together cover the truth in at least 95 % of
// runs. Before the first look it is the widest that so few rounds give.
func ofLook(e evidence) Interval {
	iv := e.between(max(0, criticalAt(0, e.rounds())))
	if math.IsNaN(iv.Estimate) {
		return wholeLine(1 - Alpha)
	}
	iv.Level, iv.Attained = 1-Alpha, 1-2*sideError
	if n := e.rounds(); n < MinRounds {
		iv.Attained = 1 - 2*math.Pow(2, -float64(n))
	}
	return iv
}

// once is the interval that one look alone would have.
func once(e evidence, level float64) Interval {
	c, tail := signedRankCritical(e.rounds(), (1-level)/2)
	if c < 0 {
		c, tail = 0, math.Pow(2, -float64(e.rounds()))
	}
	iv := e.between(c)
	if math.IsNaN(iv.Estimate) {
		return wholeLine(level)
	}
	iv.Level, iv.Attained = level, 1-2*tail
	return iv
}

// numbers are the evidence of a sample. For a round that only says that its value lies beyond some
// point, low holds the smallest value that it may have and high the largest; otherwise both are the
// same.
type numbers struct {
	low, high   []float64
	lows, highs *walsh
}

func newNumbers(values []float64) *numbers {
	w := newWalsh(len(values))
	return &numbers{values, values, w, w}
}

func newBounds(low, high []float64) *numbers {
	return &numbers{low, high, newWalsh(len(low)), newWalsh(len(high))}
}

func (e *numbers) rounds() int { return e.lows.n }

func (e *numbers) add(i int) {
	e.lows.add(e.low[i])
	if e.highs != e.lows {
		e.highs.add(e.high[i])
	}
}

func (e *numbers) between(c int) Interval {
	iv := e.lows.between(c)
	iv.Upper = e.highs.between(c).Upper
	return iv
}

func (e *numbers) bounds(i int) [2]float64 { return [2]float64{e.low[i], e.high[i]} }

// looking is what the looks at a sample have found.
type looking struct {
	word     Word        // of the first look that decided; Inconclusive if none did
	round    int         // at which it was
	interval Interval    // of that look, on the scale of the evidence
	reached  [levels]int // the round at which the same word held at each level; 0 if at none
}

// level is the strictest at which the word was found, -1 if there is none.
func (l looking) level() int {
	for k := levels - 1; k >= 0; k-- {
		if l.reached[k] > 0 {
			return k
		}
	}
	return -1
}

// look takes in the rounds of a sample one after the other and looks after each that counts, unless
// more than a quarter of the rounds up to there do not. The first look at which the zone gives a
// word stands; later ones only say how sure it is.
func look(s Sample, e evidence, z zone) looking {
	l := looking{word: Inconclusive}
	void := s.Voided
	for i, v := range s.Values {
		if math.IsNaN(v) {
			void++
			continue
		}
		e.add(i)
		n := e.rounds()
		if n < MinRounds || n > LastLook || 4*void > n+void {
			continue
		}
		for k := range levels {
			c := criticalAt(k, n)
			if c < 0 {
				break
			}
			iv := e.between(c)
			word := z.word(iv)
			if word == Inconclusive || l.word != Inconclusive && word != l.word {
				break
			}
			if k == 0 && l.word == Inconclusive {
				l.word, l.round, l.interval = word, s.round(i), ofLook(e)
			}
			if l.reached[k] == 0 {
				l.reached[k] = s.round(i)
			}
		}
	}
	return l
}

// A zone says which intervals decide. One that lies wholly from low to high reproduces the claim;
// one that lies wholly below `below`, or wholly above `above`, refutes it.
type zone struct {
	low, high    float64
	below, above float64
}

func (z zone) word(iv Interval) Word {
	switch {
	case iv.Lower >= z.low && iv.Upper <= z.high:
		return Reproduced
	case iv.Upper < z.below || iv.Lower > z.above:
		return NotReproduced
	}
	return Inconclusive
}

// room is the half-width that an interval about v may have and still decide, and the word that it
// would give; 0 and Inconclusive if none would.
func (z zone) room(v float64) (float64, Word) {
	if in := min(v-z.low, z.high-v); in > 0 {
		return in, Reproduced
	}
	if out := max(z.below-v, v-z.above); out > 0 {
		return out, NotReproduced
	}
	return 0, Inconclusive
}
