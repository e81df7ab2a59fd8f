package verdict

import (
	"fmt"
	"math"
	"slices"

	"interleave/internal/manifest"
	"interleave/internal/stats"
)

// Claims about a whole sweep: how one model's metric runs over it, and where two
// models swap places.

// sweep is the metric of one term over the points, in these rounds.
func (j *judge) sweep(points []manifest.Point, places []place, rounds []int,
	m manifest.Metric) stats.Sweep {
	var s stats.Sweep
	for i, p := range points {
		s.X = append(s.X, p.X)
		s.Y = append(s.Y, j.values(places[i], rounds, m))
	}
	return s
}

// growth judges how one model's metric grows over the sweep: one number for each round.
func (j *judge) growth(v *Verdict, points []manifest.Point) {
	c := v.Claim
	rests := j.places(c.Of, stop{points: points}, v.Condition)
	rounds := j.shared(rests...)
	s := j.sweep(points, rests, rounds, c.Metric)
	p := Part{X: math.NaN(), Unit: "slope", rests: rests}
	var values stats.Sample
	if c.Shape == "flattens" {
		p.Name = fmt.Sprintf("growth after %g by growth before", c.After)
		values = s.GrowthRatios(c.After)
		v.Finding = stats.Flattens(values, c.Margin)
	} else {
		p.Name = "power of growth"
		values = s.Exponents()
		v.Finding = stats.Growth(values, power(c), c.Margin)
	}
	p.Values, p.Finding = values.Values, v.Finding
	p.Published, p.Accept, p.Void = orNaN(v.Finding.Published), v.Finding.Accept, v.Finding.Voided
	if whole := complete(s, rounds); len(whole) == len(p.Values) {
		// otherwise a round without growth has no value, and which one it is is not known
		p.Rounds = whole
	}
	v.add(p)
}

// power of growth that a claim speaks of: 1 is linear.
func power(c manifest.Claim) float64 {
	if c.Published == 0 {
		return 1
	}
	return c.Published
}

// complete are the rounds in which every point counts.
func complete(s stats.Sweep, rounds []int) []int {
	var out []int
	for i, r := range rounds {
		if !slices.ContainsFunc(s.Y, func(y []float64) bool { return math.IsNaN(y[i]) }) {
			out = append(out, r)
		}
	}
	return out
}

// flat judges that the metric hardly depends on x. The parts show each point against the first,
// though the finding compares all pairs.
func (j *judge) flat(v *Verdict, points []manifest.Point) {
	c := v.Claim
	rests := j.places(c.Of, stop{points: points}, v.Condition)
	rounds := j.shared(rests...)
	s := j.sweep(points, rests, rounds, c.Metric)
	v.Finding = stats.Flat(s, c.Margin)
	for i := 1; i < len(s.X); i++ {
		logs := paired(s.Y[i], s.Y[0])
		p := part(fmt.Sprintf("%g against %g", s.X[i], s.X[0]), s.X[i], "ratio", rounds, logs, 1,
			stats.Equality(logs, c.Margin))
		p.rests = []place{rests[0], rests[i]}
		v.add(p)
	}
}

// crossover judges where two models swap places. The first part is the crossing; the others show
// the ratio at each point, and decide nothing.
func (j *judge) crossover(v *Verdict, points []manifest.Point) {
	c := v.Claim
	all := stop{points: points}
	pa, pb := j.places(c.Of, all, v.Condition), j.places(c.Against, all, v.Condition)
	rests := slices.Concat(pa, pb)
	rounds := j.shared(rests...)
	a, b := j.sweep(points, pa, rounds, c.Metric), j.sweep(points, pb, rounds, c.Metric)
	v.Finding = stats.Crossover(stats.FindCrossings(a, b, stats.Sense(c.Sense)), c.Published,
		c.Margin)
	f := v.Finding
	v.add(Part{Name: "crossing", X: math.NaN(), Unit: j.axis(), Published: c.Published,
		Accept: f.Accept, Finding: f, Void: f.Voided, rests: rests})
	for i, p := range points {
		logs := paired(a.Y[i], b.Y[i])
		f := stats.Direction(logs, stats.Sense(c.Sense), c.Margin)
		f.Word, f.Accept = "", [2]float64{0, math.Inf(1)}
		v.add(part(p.Name, p.X, "ratio", rounds, logs, 0, f))
	}
}
