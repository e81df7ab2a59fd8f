package verdict

import (
	"fmt"
	"math"

	"interleave/internal/manifest"
	"interleave/internal/stats"
)

// decide fills the verdict's parts and its finding, by the claim's kind.
func (j *judge) decide(v *Verdict, points []manifest.Point) {
	c := v.Claim
	mean := len(c.At) == 1 && c.At[0] == "mean"
	switch {
	case c.Kind == "shape" && c.Shape != "order":
		j.shape(v, points)
	case c.Kind == "shape":
		j.order(v, points)
	case c.Kind == "crossover":
		j.crossover(v, points)
	case mean:
		v.add(j.meanPart(c, v.Condition, points))
	default:
		for _, p := range points {
			v.add(j.pointPart(c, v.Condition, p))
		}
	}
	if v.Finding.Kind == "" {
		v.conclude()
	}
}

func (v *Verdict) add(p Part) { v.Parts = append(v.Parts, p) }

// conclude joins the parts: one speaks for itself, of several all must hold.
func (v *Verdict) conclude() {
	if len(v.Parts) == 1 {
		v.Finding = v.Parts[0].Finding
		return
	}
	parts := make([]stats.Part, len(v.Parts))
	for i, p := range v.Parts {
		parts[i] = stats.Part{Name: p.Name, Finding: p.Finding}
	}
	v.Finding = stats.All(stats.Kind(v.Claim.Kind), parts)
}

// compare is the finding of one sample of log ratios, or of log values for an absolute claim.
func compare(c manifest.Claim, s stats.Sample) stats.Finding {
	switch stats.Kind(c.Kind) {
	case stats.KindDirection:
		return stats.Direction(s, stats.Sense(c.Sense), 0)
	case stats.KindMagnitude:
		return stats.Magnitude(s, c.Published, c.Margin)
	case stats.KindEquality:
		return stats.Equality(s, c.Margin)
	}
	return stats.Absolute(s, c.Published, c.Margin, false)
}

// part describes a comparison by its finding.
func part(name string, x float64, unit string, rounds []int, logs stats.Sample, published float64, f stats.Finding) Part {
	p := Part{Name: name, X: x, Unit: unit, Published: orNaN(published), Accept: f.Accept, Finding: f, Void: f.Voided}
	for i, v := range logs.Values {
		if !math.IsNaN(v) && i < len(rounds) {
			p.Values = append(p.Values, math.Exp(v))
			p.Rounds = append(p.Rounds, rounds[i])
		}
	}
	return p
}

// pointPart compares the two terms at one point, or takes the one term of an absolute claim.
func (j *judge) pointPart(c manifest.Claim, condition manifest.Condition, p manifest.Point) Part {
	of := j.at(c.Of, p, condition)
	if c.Against.Model == "" {
		rounds := j.rounds(of)
		s := logsOf(j.values(of, rounds, c.Metric))
		return part(p.Name, p.X, manifest.Metrics[c.Metric].Unit, rounds, s, c.Published, compare(c, s))
	}
	against := j.at(c.Against, p, condition)
	rounds := j.shared(of, against)
	s := paired(j.values(of, rounds, c.Metric), j.values(against, rounds, c.Metric))
	return part(p.Name, p.X, "ratio", rounds, s, published(c), compare(c, s))
}

// published is the ratio that the source gives; a direction has none.
func published(c manifest.Claim) float64 {
	if c.Kind == string(stats.KindEquality) {
		return 1
	}
	return c.Published
}

// meanPart compares the mean over the points with the other term's mean over its own.
func (j *judge) meanPart(c manifest.Claim, condition manifest.Condition, points []manifest.Point) Part {
	var places []place
	for _, p := range points {
		places = append(places, j.at(c.Of, p, condition), j.at(c.Against, p, condition))
	}
	rounds := j.shared(places...)
	of, against := make([]float64, len(rounds)), make([]float64, len(rounds))
	for i, r := range rounds {
		for k := 0; k < len(places); k += 2 {
			of[i] += j.value(places[k], r, c.Metric)
			against[i] += j.value(places[k+1], r, c.Metric)
		}
	}
	s := paired(of, against)
	return part(fmt.Sprintf("mean of %d points", len(points)), math.NaN(), "ratio", rounds, s, published(c), compare(c, s))
}

// paired is stats.Pair with the rounds kept in their places.
func paired(a, b []float64) stats.Sample {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = math.Log(a[i]) - math.Log(b[i])
	}
	return stats.Sample{Values: out}
}

func logsOf(values []float64) stats.Sample {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = math.Log(v)
	}
	return stats.Sample{Values: out}
}

// sweep is the metric of one term over the points.
func (j *judge) sweep(t manifest.Term, m manifest.Metric, condition manifest.Condition, points []manifest.Point) (stats.Sweep, []int) {
	var places []place
	for _, p := range points {
		places = append(places, j.at(t, p, condition))
	}
	rounds := j.shared(places...)
	var s stats.Sweep
	for i, p := range points {
		s.X = append(s.X, p.X)
		s.Y = append(s.Y, j.values(places[i], rounds, m))
	}
	return s, rounds
}

// minPoints is the least of a sweep that has a shape.
const minPoints = 3

// shape judges how one model's metric runs over the sweep.
func (j *judge) shape(v *Verdict, points []manifest.Point) {
	c := v.Claim
	s, rounds := j.sweep(c.Of, c.Metric, v.Condition, points)
	if len(points) < minPoints && c.Shape != "flat" {
		v.Finding = stats.All(stats.KindShape, nil)
		v.Finding.Reason = fmt.Sprintf("%d points have no shape, %d are the least", len(points), minPoints)
		return
	}
	var values stats.Sample
	name := ""
	switch c.Shape {
	case "linear":
		power := c.Published
		if power == 0 {
			power = 1
		}
		values = s.Exponents()
		name = "power of growth"
		v.Finding = stats.Growth(values, power, c.Margin)
	case "flattens":
		values = s.GrowthRatios(c.After)
		name = fmt.Sprintf("growth after %g by growth before", c.After)
		v.Finding = stats.Flattens(values, c.Margin)
	case "flat":
		v.Finding = stats.Flat(s, c.Margin)
		j.flatParts(v, s, rounds)
		return
	}
	p := Part{Name: name, X: math.NaN(), Unit: "slope", Values: values.Values, Published: orNaN(v.Finding.Published), Accept: v.Finding.Accept, Void: v.Finding.Voided, Finding: v.Finding}
	p.Rounds = complete(s, rounds)
	if len(p.Rounds) != len(p.Values) {
		p.Rounds = nil // a round without growth has no value, and which one it is no longer known
	}
	v.add(p)
}

// complete are the rounds in which every point counts.
func complete(s stats.Sweep, rounds []int) []int {
	var out []int
	for i, r := range rounds {
		whole := true
		for _, y := range s.Y {
			whole = whole && !math.IsNaN(y[i])
		}
		if whole {
			out = append(out, r)
		}
	}
	return out
}

// flatParts shows each point against the first, though the finding compares all pairs.
func (j *judge) flatParts(v *Verdict, s stats.Sweep, rounds []int) {
	for i := 1; i < len(s.X); i++ {
		logs := paired(s.Y[i], s.Y[0])
		f := stats.Equality(logs, v.Finding.Margin)
		v.add(part(fmt.Sprintf("%g against %g", s.X[i], s.X[0]), s.X[i], "ratio", rounds, logs, 1, f))
	}
}

// order judges that models stand in the order that the claim gives, at each of its points.
func (j *judge) order(v *Verdict, points []manifest.Point) {
	c := v.Claim
	for _, p := range points {
		for i := 1; i < len(c.Order); i++ {
			low, high := j.at(c.Order[i-1], p, v.Condition), j.at(c.Order[i], p, v.Condition)
			rounds := j.shared(low, high)
			logs := paired(j.values(high, rounds, c.Metric), j.values(low, rounds, c.Metric))
			name := fmt.Sprintf("%s over %s", c.Order[i], c.Order[i-1])
			if len(points) > 1 {
				name += ", " + p.Name
			}
			v.add(part(name, p.X, "ratio", rounds, logs, 0, stats.Direction(logs, stats.Greater, 0)))
		}
	}
	parts := make([]stats.Part, len(v.Parts))
	for i, p := range v.Parts {
		parts[i] = stats.Part{Name: p.Name, Finding: p.Finding}
	}
	v.Finding = stats.All(stats.KindShape, parts)
}

// crossover judges where two models swap places.
func (j *judge) crossover(v *Verdict, points []manifest.Point) {
	c := v.Claim
	a, ra := j.sweep(c.Of, c.Metric, v.Condition, points)
	b, rb := j.sweep(c.Against, c.Metric, v.Condition, points)
	if len(ra) != len(rb) {
		v.Finding = stats.All(stats.KindCrossover, nil)
		v.Finding.Reason = "the two models were not measured in the same rounds"
		return
	}
	v.Finding = stats.Crossover(stats.FindCrossings(a, b, stats.Sense(c.Sense)), c.Published, c.Margin)
	for i, p := range points { // what is drawn: the ratio at each point
		logs := paired(a.Y[i], b.Y[i])
		v.add(part(p.Name, p.X, "ratio", ra, logs, 0, stats.Direction(logs, stats.Sense(c.Sense), 0)))
	}
}
