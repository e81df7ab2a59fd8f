package verdict

import (
	"fmt"
	"math"

	"interleave/internal/manifest"
	"interleave/internal/stats"
)

// LinesOf counts the lines of code of a tree's models, for Models. A model that is not there, whose
// source cannot be read, or is not all of its program, has 0.
func LinesOf(tree *manifest.Tree) func(service, model string) int {
	return func(service, model string) int {
		s := tree.Service(service)
		if s == nil {
			return 0
		}
		m := s.Model(model)
		if m == nil || !m.Whole() {
			return 0
		}
		n, err := m.Lines()
		if err != nil {
			return 0
		}
		return n
	}
}

// compareLines judges what needs no measurement. Lines are exact: there is no interval, and what is
// neither inside a margin nor outside of it lies between none and the least effect that counts.
func (j *judge) compareLines(v Verdict) Verdict {
	c := v.Claim
	of := j.models.Lines(j.experiment.Service, c.Of.Model)
	against, published := j.models.Lines(j.experiment.Service, c.Against.Model), c.Published
	v.Sentence = fmt.Sprintf("Here, %s has %d lines of code, ", c.Of.Model, of)
	switch stats.Kind(c.Kind) {
	case stats.KindAbsolute:
		against = 1
		v.Sentence = fmt.Sprintf("Here, %s has %d lines of code. %s says %g; margin %.2f. ",
			c.Of.Model, of, claimant(c), published, c.Margin)
	case stats.KindDirection:
		v.Sentence += fmt.Sprintf("%.2fx %s's %d. %s says %s; differences from %.3g %% on count. ",
			float64(of)/float64(against), c.Against.Model, against, claimant(c),
			map[string]string{"less": "fewer", "greater": "more"}[c.Sense], 100*(c.Margin-1))
	case stats.KindNonInferiority:
		published = 1
		v.Sentence += fmt.Sprintf("%.2fx %s's %d. %s says no more; margin %.2f. ",
			float64(of)/float64(against), c.Against.Model, against, claimant(c), c.Margin)
	case stats.KindEquality:
		published = 1
		v.Sentence += fmt.Sprintf("%.2fx %s's %d. %s says as many; margin %.2f. ",
			float64(of)/float64(against), c.Against.Model, against, claimant(c), c.Margin)
	case stats.KindMagnitude:
		v.Sentence += fmt.Sprintf("%.2fx %s's %d. %s says %gx; margin %.2f. ",
			float64(of)/float64(against), c.Against.Model, against, claimant(c), published,
			c.Margin)
	default:
		return v.ends(stats.NotComparable, "lines of code have no "+c.Kind)
	}
	ratio := float64(of) / float64(against)
	p := Part{Name: "lines of code", X: math.NaN(), Unit: "ratio", Values: []float64{ratio},
		Published: orNaN(published)}
	if stats.Kind(c.Kind) == stats.KindAbsolute {
		p.Unit = manifest.Metrics[c.Metric].Unit
	}
	v.Word, v.Reason, p.Accept = judgeLines(c, ratio, published)
	p.Finding = stats.Finding{Kind: stats.Kind(c.Kind), Word: v.Word, Reason: v.Reason,
		Estimate: ratio, Margin: c.Margin, Accept: p.Accept}
	v.Parts = []Part{p}
	v.Sentence += sentence(v.Word, v.Reason)
	return v
}

// judgeLines holds an exact ratio, or number, against a claim.
func judgeLines(c manifest.Claim,
	ratio, published float64) (word stats.Word, reason string, accept [2]float64) {
	if stats.Kind(c.Kind) == stats.KindNonInferiority {
		accept = [2]float64{0, c.Margin}
		if ratio <= c.Margin {
			return stats.Reproduced, "", accept
		}
		return stats.NotReproduced, "it has more by more than the margin", accept
	}
	if stats.Kind(c.Kind) != stats.KindDirection {
		accept = [2]float64{published / c.Margin, published * c.Margin}
		if ratio >= accept[0] && ratio <= accept[1] {
			return stats.Reproduced, "", accept
		}
		return stats.NotReproduced, "the number lies outside the margin", accept
	}
	lead := ratio
	accept = [2]float64{c.Margin, math.Inf(1)}
	if stats.Sense(c.Sense) == stats.Less {
		lead, accept = 1/ratio, [2]float64{0, 1 / c.Margin}
	}
	switch {
	case lead > c.Margin:
		return stats.Reproduced, "", accept
	case lead < 1:
		return stats.NotReproduced, "it is the other way round", accept
	case lead == 1:
		return stats.NotReproduced, "both have as many", accept
	}
	return stats.Inconclusive,
		fmt.Sprintf("the direction agrees, but the effect is below the %.3g %% that count",
			100*(c.Margin-1)), accept
}
