package verdict

import (
	"fmt"
	"math"
	"slices"

	"interleave/internal/manifest"
	"interleave/internal/stats"
)

// decide fills the verdict's parts and its finding, by the claim's kind.
func (j *judge) decide(v *Verdict, points []manifest.Point) {
	c := v.Claim
	switch {
	case c.Kind == "crossover":
		j.crossover(v, points)
	case c.Kind == "shape" && shapes[c.Shape] != nil:
		shapes[c.Shape](j, v, points)
	case len(c.Best) > 0:
		j.best(v, points)
	default:
		for _, s := range stops(c, points) {
			v.add(j.comparison(c, v.Condition, s))
		}
		v.conclude()
	}
}

// shapes judge the claims about a shape.
var shapes = map[string]func(j *judge, v *Verdict, points []manifest.Point){
	"order":    (*judge).order,
	"linear":   (*judge).growth,
	"flattens": (*judge).growth,
	"straight": (*judge).bend,
	"steepens": (*judge).bend,
	"widens":   (*judge).widens,
	"flat":     (*judge).flat,
}

// A stop is where a claim is looked at: one point, or the mean over several.
type stop struct {
	name   string
	x      float64
	points []manifest.Point
}

func stops(c manifest.Claim, points []manifest.Point) []stop {
	if averaged(c) && len(points) > 1 {
		return []stop{{fmt.Sprintf("mean of %d points", len(points)), math.NaN(), points}}
	}
	var out []stop
	for _, p := range points {
		out = append(out, stop{p.Name, p.X, []manifest.Point{p}})
	}
	return out
}

// averaged tells the claims about a mean over the sweep.
func averaged(c manifest.Claim) bool { return len(c.At) == 1 && c.At[0] == "mean" }

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
		if sense := stats.Sense(c.Sense); sense != stats.Greater || c.Published != c.Margin ||
			c.Published == 0 {
			return stats.Direction(s, sense, c.Margin)
		}
		return stats.AtLeast(s, c.Published) // the claim names its effect: "at least 4 times"
	case stats.KindMagnitude:
		return stats.Magnitude(s, c.Published, c.Margin)
	case stats.KindEquality:
		return stats.Equality(s, c.Margin)
	case stats.KindNonInferiority:
		return stats.NonInferiority(s, better(c.Metric), c.Margin)
	case stats.KindBound:
		return stats.Bound(s, stats.Sense(c.Sense), c.Published, c.Margin)
	}
	return stats.Absolute(s, c.Published, c.Margin, c.Portable)
}

// better is the sense in which a metric is good.
func better(m manifest.Metric) stats.Sense {
	if manifest.Metrics[m].MoreIsBetter {
		return stats.Greater
	}
	return stats.Less
}

// part describes a comparison of logarithms by its finding.
func part(name string, x float64, unit string, logs stats.Sample, published float64,
	f stats.Finding) Part {
	p := plainPart(name, x, unit, logs, published, f)
	for i, v := range p.Values {
		p.Values[i] = math.Exp(v)
	}
	return p
}

// plainPart describes a comparison of numbers as they are.
func plainPart(name string, x float64, unit string, s stats.Sample, published float64,
	f stats.Finding) Part {
	values, rounds := s.Usable()
	return Part{Name: name, X: x, Unit: unit, Rounds: rounds, Values: values,
		Published: orNaN(published), Accept: f.Accept, Finding: f, Void: f.Voided}
}

// comparison holds the two terms of a claim against each other at a stop, or takes the one term of
// an absolute claim.
func (j *judge) comparison(c manifest.Claim, condition manifest.Condition, s stop) Part {
	if c.Against.Model != "" {
		logs, rests := j.ratios(c.Of, c.Against, s, condition, c.Metric)
		p := part(s.name, s.x, "ratio", logs, published(c), compare(c, logs))
		p.rests = rests
		return p
	}
	of := j.places(c.Of, s, condition)
	rounds := j.shared(of...)
	values := j.mean(of, rounds, c.Metric)
	if alone(c) {
		j.quiet(of, rounds, values)
	}
	logs := logsOf(values)
	logs.Rounds = rounds
	p := part(s.name, s.x, manifest.Metrics[c.Metric].Unit, logs, c.Published,
		compare(c, logs))
	p.rests = of
	return p
}

// published is the ratio that the source gives; equality is a ratio of 1.
func published(c manifest.Claim) float64 {
	if c.Kind == string(stats.KindEquality) {
		return 1
	}
	return c.Published
}

// ratios are the logarithms of one term by another at a stop, for each round that tried all places.
// A mean is formed before the ratio is: it is the mean of the figures that the source compares.
func (j *judge) ratios(a, b manifest.Term, s stop, c manifest.Condition,
	m manifest.Metric) (logs stats.Sample, rests []place) {
	pa, pb := j.places(a, s, c), j.places(b, s, c)
	rests = slices.Concat(pa, pb)
	rounds := j.shared(rests...)
	return paired(j.mean(pa, rounds, m), j.mean(pb, rounds, m), rounds), rests
}

// places are those of a term at a stop.
func (j *judge) places(t manifest.Term, s stop, c manifest.Condition) []place {
	var out []place
	for _, p := range s.points {
		out = append(out, j.at(t, p, c))
	}
	return out
}

// mean is the metric over some places by round, NaN where a cell does not count.
func (j *judge) mean(places []place, rounds []int, m manifest.Metric) []float64 {
	out := make([]float64, len(rounds))
	for i, r := range rounds {
		for _, p := range places {
			out[i] += j.value(p, r, m) / float64(len(places))
		}
	}
	return out
}

// paired is the sample of ratios of values of these rounds.
func paired(a, b []float64, rounds []int) stats.Sample {
	s := stats.Pair(a, b)
	s.Rounds = rounds
	return s
}

// logsOf are the logarithms of what has one, NaN of what has none.
func logsOf(values []float64) stats.Sample {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = math.NaN()
		if v > 0 && !math.IsInf(v, 1) {
			out[i] = math.Log(v)
		}
	}
	return stats.Sample{Values: out}
}

// best judges a claim about the best of several rivals, as measured. A size has to fit the best
// one; a direction has to hold against each.
func (j *judge) best(v *Verdict, points []manifest.Point) {
	c := v.Claim
	size := c.Kind == string(stats.KindMagnitude)
	rivals := j.terms(c)[1:]
	var sizes []stats.Part
	for _, s := range stops(c, points) {
		logs, rests := j.against(c, rivals, s, v.Condition)
		for i, t := range rivals {
			name := t.Model
			if len(points) > 1 && !averaged(c) {
				name += ", " + s.name
			}
			p := part(name, s.x, "ratio", logs[i], 0, compare(c, logs[i]))
			if size { // no rival has to fit but the best
				p.Finding.Word, p.Published = "", c.Published
			}
			p.rests = rests
			v.add(p)
		}
		if size {
			sizes = append(sizes, stats.Part{Name: s.name, Finding: stats.Best(logs,
				manifest.Metrics[c.Metric].MoreIsBetter, c.Published, c.Margin)})
		}
	}
	switch {
	case !size:
		v.conclude()
	case len(sizes) == 1:
		v.Finding = sizes[0].Finding
	default:
		v.Finding = stats.All(stats.KindMagnitude, sizes)
	}
}

// against gives the log ratios of a claim's model to each of its rivals, all of the same rounds.
func (j *judge) against(c manifest.Claim, rivals []manifest.Term, s stop,
	condition manifest.Condition) (logs []stats.Sample, rests []place) {
	rests = j.places(c.Of, s, condition)
	for _, t := range rivals {
		rests = append(rests, j.places(t, s, condition)...)
	}
	rounds := j.shared(rests...)
	of := j.mean(j.places(c.Of, s, condition), rounds, c.Metric)
	for _, t := range rivals {
		logs = append(logs, paired(of, j.mean(j.places(t, s, condition), rounds, c.Metric),
			rounds))
	}
	return logs, rests
}

// order judges that models stand in the order that the claim gives, at each of its stops.
func (j *judge) order(v *Verdict, points []manifest.Point) {
	c := v.Claim
	for _, s := range stops(c, points) {
		for i := 1; i < len(c.Order); i++ {
			low, high := c.Order[i-1], c.Order[i]
			logs, rests := j.ratios(high, low, s, v.Condition, c.Metric)
			name := fmt.Sprintf("%s over %s", high, low)
			switch several := len(points) > 1; {
			case several && len(c.Order) == 2:
				name = s.name
			case several:
				name += ", " + s.name
			}
			p := part(name, s.x, "ratio", logs, 0, stats.Direction(logs, stats.Greater,
				c.Margin))
			p.rests = rests
			v.add(p)
		}
	}
	v.conclude()
}
