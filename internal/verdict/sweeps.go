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
	s := stats.Sweep{Rounds: rounds}
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
	name, values := "power of growth", s.Exponents()
	if c.Shape == "flattens" {
		name = fmt.Sprintf("growth after %g by growth before", c.After)
		values = s.GrowthRatios(c.After)
		v.Finding = stats.Flattens(values, c.Margin)
	} else {
		v.Finding = stats.Growth(values, power(c), c.Margin)
	}
	p := plainPart(name, math.NaN(), "slope", values, v.Finding.Published, v.Finding)
	p.rests = rests
	v.add(p)
}

// bend judges that a metric grows over the sweep, and how its growth after a place compares with
// its growth before: the two are equal on a straight line, with whatever height it begins, or the
// later one is faster. A metric that does not grow has no such shape.
func (j *judge) bend(v *Verdict, points []manifest.Point) {
	c := v.Claim
	rests := j.places(c.Of, stop{points: points}, v.Condition)
	rounds := j.shared(rests...)
	s := j.sweep(points, rests, rounds, c.Metric)
	first, last := 0, len(points)-1
	logs := paired(s.Y[last], s.Y[first], rounds)
	grows := part(fmt.Sprintf("from %g to %g", s.X[first], s.X[last]), math.NaN(), "ratio",
		logs, 0, stats.Direction(logs, stats.Greater, stats.DefaultEffect))
	grows.rests = []place{rests[first], rests[last]}
	v.add(grows)

	after, find := c.After, stats.Steepens
	if c.Shape == "straight" {
		after = middle(s.X)
		find = func(s stats.Sample, margin float64) stats.Finding {
			return stats.Growth(s, 1, margin)
		}
	}
	values := s.GrowthRatios(after)
	f := find(values, c.Margin)
	bends := plainPart(fmt.Sprintf("growth after %g by growth before", after), math.NaN(), "slope",
		values, f.Published, f)
	bends.rests = rests
	v.add(bends)
	v.conclude()
}

// middle is the inner point that is nearest to the middle of the axis.
func middle(x []float64) float64 {
	centre := (x[0] + x[len(x)-1]) / 2
	nearest := x[1]
	for _, v := range x[1 : len(x)-1] {
		if math.Abs(v-centre) < math.Abs(nearest-centre) {
			nearest = v
		}
	}
	return nearest
}

// widens judges that the ratio of two models, or their difference, grows or falls over the sweep.
// The first part is how often the ratio becomes itself from end to end, or what the difference
// gains; the others show the ratio at each point, and decide nothing.
func (j *judge) widens(v *Verdict, points []manifest.Point) {
	c := v.Claim
	all := stop{points: points}
	pa, pb := j.places(c.Of, all, v.Condition), j.places(c.Against, all, v.Condition)
	rests := slices.Concat(pa, pb)
	rounds := j.shared(rests...)
	a, b := j.sweep(points, pa, rounds, c.Metric), j.sweep(points, pb, rounds, c.Metric)
	name := fmt.Sprintf("from %g to %g", points[0].X, points[len(points)-1].X)
	var p Part
	if c.By == manifest.Difference {
		leads := stats.Leads(a, b)
		v.Finding = stats.Gains(leads, stats.Sense(c.Sense), c.Margin)
		p = plainPart(name, math.NaN(), ofMean, leads, 0, v.Finding)
	} else {
		logs := stats.Widening(a, b)
		v.Finding = stats.Direction(logs, stats.Sense(c.Sense), c.Margin)
		p = part(name, math.NaN(), "ratio", logs, 0, v.Finding)
	}
	p.rests = rests
	v.add(p)
	for i, p := range points {
		logs := paired(a.Y[i], b.Y[i], rounds)
		f := stats.Direction(logs, stats.Sense(c.Sense), c.Margin)
		f.Word, f.Accept = "", [2]float64{0, math.Inf(1)}
		v.add(part(p.Name, p.X, "ratio", logs, 0, f))
	}
}

// power of growth that a claim speaks of: 1 is linear.
func power(c manifest.Claim) float64 {
	if c.Published == 0 {
		return 1
	}
	return c.Published
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
		logs := paired(s.Y[i], s.Y[0], rounds)
		p := part(fmt.Sprintf("%g against %g", s.X[i], s.X[0]), s.X[i], "ratio", logs, 1,
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
		logs := paired(a.Y[i], b.Y[i], rounds)
		f := stats.Direction(logs, stats.Sense(c.Sense), c.Margin)
		f.Word, f.Accept = "", [2]float64{0, math.Inf(1)}
		v.add(part(p.Name, p.X, "ratio", logs, 0, f))
	}
}
