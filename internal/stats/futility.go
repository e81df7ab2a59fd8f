package stats

// What further rounds would bring. Nothing here can make a word wrong: a claim is never decided by
// it, and giving one up early takes decisions away and adds none.

import "math"

// widthAt is the half-width that a look's interval has after n rounds of normal noise with a
// standard deviation of 1. Looks take the extremes of the first rounds; from the ninth on the width
// falls with the root of their number (simulated; right to 8 %).
func widthAt(n int) float64 {
	switch few := []float64{math.Inf(1), math.Inf(1), .56, .84, 1.02, 1.16}; {
	case n < len(few):
		return few[n]
	}
	return min(1.3, 3.8/math.Sqrt(float64(n)))
}

// An outlook is what the rounds so far let expect of those to come.
type outlook struct {
	rounds   int
	scale    float64 // of a round's noise, as a standard deviation
	room     float64 // the half-width at which the estimate would decide
	heading  Word    // the word that it would give
	hopeless bool    // LastLook rounds would not decide
}

// leastHopeless is the number of rounds before which no claim is given up: the scale of fewer is
// not known well enough.
const leastHopeless = 8

// quartile is the half-width of the middle half of the Walsh averages, of normal noise with a
// standard deviation of 1: means of two have a smaller one by the root of 2. A disturbed round
// hardly moves it, while it moves the ends of the first looks' intervals.
const quartile = .48

// foresee looks ahead. Until the last look the estimate moves as the noise lets it: a claim is
// hopeless if no place within two standard deviations of that movement leaves room for the last
// look's interval.
func foresee(e evidence, z zone) outlook {
	n := e.rounds()
	o := outlook{rounds: n, heading: Inconclusive, scale: math.Inf(1)}
	if n < 2 {
		return o
	}
	iv := e.between(n * (n + 1) / 8)
	if half := iv.HalfWidth(); !math.IsNaN(half) {
		o.scale = half / quartile
	}
	o.room, o.heading = z.room(iv.Estimate)
	if n < leastHopeless || math.IsInf(o.scale, 1) {
		return o
	}
	moves := 2 * o.scale * math.Sqrt(max(0, 1/float64(n)-1/float64(LastLook)))
	low, high := iv.Estimate-moves, iv.Estimate+moves
	o.hopeless = true
	for _, v := range []float64{low, iv.Estimate, high, min(max((z.low+z.high)/2, low), high)} {
		if room, _ := z.room(v); room > o.scale*widthAt(LastLook) {
			o.hopeless = n >= LastLook
		}
	}
	return o
}

// need is how many more rounds the estimate would take to be decided where it stands, at a level;
// all that are left if it stands too near an edge and may move, 0 if it is hopeless.
func (o outlook) need(level int) int {
	if o.hopeless {
		return 0
	}
	for n := max(o.rounds+1, MinRounds+level); n <= LastLook; n++ {
		if widthAt(n-level)*o.scale < o.room {
			return n - o.rounds
		}
	}
	return max(0, LastLook-o.rounds)
}

// lead is how far the estimate lies inside what is claimed, in standard deviations of a round;
// negative if it heads for the other word.
func (o outlook) lead() float64 {
	if o.room == 0 || math.IsInf(o.scale, 1) {
		return 0
	}
	if o.heading == NotReproduced {
		return -o.room / o.scale
	}
	return o.room / o.scale
}
