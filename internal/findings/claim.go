package findings

// From a verdict to the claim of a page.

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

func claimOf(source string, v verdict.Verdict) Claim {
	v = v.Told()
	c := v.Claim
	out := Claim{Source: source, Experiment: v.Experiment, ID: c.ID, Kind: c.Kind, Ours: c.Ours,
		Says: c.Sentence, Where: c.Where, Transfer: c.Transfer, Margin: c.Margin, Word: v.Word,
		Sentence: v.Sentence, Reason: v.Reason, Condition: v.Condition, Metric: c.Metric}
	if len(v.Parts) > 1 {
		out.Weakest = v.Finding.Weakest
	}
	for _, p := range v.Parts {
		part := partOf(p.Name, p.Unit, p.Void, p.Finding)
		if !math.IsNaN(p.Published) {
			part.Published = published(c, part.Accept)
		}
		out.Parts = append(out.Parts, part)
	}
	out.decides(v.Finding)
	out.Cautions = shown(v.Cautions, v.Finding.Parts, out.Parts)
	return out
}

// partDigits are the digits of the figures of a comparison.
const partDigits = 6

// partOf is a comparison as a page has it.
func partOf(name, unit string, void int, f stats.Finding) Part {
	p := Part{Name: name, Unit: unit, Word: f.Word, Estimate: spanTo(f.Interval95, partDigits),
		Rounds: f.Rounds, Void: void, Accept: Range{digits(f.Accept[0]), digits(f.Accept[1])}}
	if v := f.Estimate; f.Interval95.Level == 0 && !math.IsInf(v, 0) {
		// lines have no interval
		p.Estimate = Span{significant(v, partDigits), math.Inf(-1), math.Inf(1)}
	}
	for i, v := range p.Accept {
		if math.IsNaN(v) {
			p.Accept[i] = math.Inf(2*i - 1)
		}
	}
	return p
}

// measures are the kinds of claims whose published number is what the source has measured. The
// number of a bound, of an equality and of a shape is our reading of its words.
var measures = []stats.Kind{stats.KindMagnitude, stats.KindAbsolute, stats.KindCrossover,
	stats.KindDirection}

// published is the figure that the source gives, or the two between which its figures lie; zero if
// it gives none. A number at the edge of what reproduces the claim is a threshold, which stands
// there.
func published(c manifest.Claim, accept Range) Range {
	v := digits(c.Published)
	switch {
	case c.Ours || v == 0 || !slices.Contains(measures, stats.Kind(c.Kind)) ||
		v == accept[0] || v == accept[1]:
		return Range{}
	case says(c.Sentence, accept[0]) && says(c.Sentence, accept[1]):
		return Range{significant(accept[0], 3), significant(accept[1], 3)} // v is between the two
	}
	return Range{v, v}
}

// numbers are those of a sentence.
var numbers = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)

// says tells whether a sentence has a number, to three digits.
func says(sentence string, v float64) bool {
	return !math.IsInf(v, 0) && slices.ContainsFunc(numbers.FindAllString(sentence, -1),
		func(text string) bool {
			n, err := strconv.ParseFloat(text, 64)
			return err == nil && n == significant(v, 3)
		})
}

// decides adds the comparison that decides, where the parts are a selection without it: those of a
// flat curve show each point against the first, and all pairs decide.
func (c *Claim) decides(f stats.Finding) {
	if c.Weakest == "" || len(c.Parts) == 0 ||
		slices.ContainsFunc(c.Parts, func(p Part) bool { return p.Name == c.Weakest }) {
		return
	}
	for _, p := range f.Parts {
		if p.Name == c.Weakest {
			c.Parts = append(c.Parts, partOf(p.Name, c.Parts[0].Unit, p.Finding.Voided, p.Finding))
		}
	}
}

// shown leaves out the cautions of comparisons that are not among the parts of the page, and counts
// them.
func shown(cautions []string, all []stats.Part, parts []Part) []string {
	var out []string
	hidden := 0
	for _, text := range cautions {
		name, _, _ := strings.Cut(text, ": ")
		if slices.ContainsFunc(all, func(p stats.Part) bool { return p.Name == name }) &&
			!slices.ContainsFunc(parts, func(p Part) bool { return p.Name == name }) {
			hidden++
			continue
		}
		out = append(out, text)
	}
	if hidden > 0 {
		out = append(out, fmt.Sprintf("%s of comparisons that the table leaves out",
			quantity.Many(hidden, "caution")))
	}
	return out
}
