package report

// The answers: every claim that the run decides on one axis of ratios, by source; and every other
// one in a list, with what it would take.

import (
	"cmp"
	"html/template"
	"math"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/report/figure"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

// ourOwn is what claims are grouped under that no source makes.
const ourOwn = "Hypotheses of our own"

// An answerGroup is the claims of one source.
type answerGroup struct {
	Source       string
	Decided, All int
	Words        []answerWord // of the decided ones, reproduced first
	Open         []answer     // the others
}

// An answerWord is the claims of a source that got one word.
type answerWord struct {
	Mark, Says string
	Rows       []answer
}

// An answer is one claim on the common axis.
type answer struct {
	claimView
	Strip   template.HTML // empty where there is no number to draw
	Kin     string        // what the row shows, where it is no plain ratio: "by what is claimed"
	Here    string        // our figure
	Claimed string        // what the claim says
	Takes   string        // what a decision would take, of one that is open
}

// sourceOf is the document that makes a claim.
func sourceOf(e *manifest.Experiment, c manifest.Claim) string {
	if c.Ours {
		return ourOwn
	}
	name, _, _ := strings.Cut(e.Source, ",")
	return name
}

// bySource groups verdicts by source, in the order of the experiments; our own hypotheses
// come last.
func (s *study) bySource() []answerGroup {
	var groups []answerGroup
	for _, e := range s.experiments {
		for _, v := range e.verdicts {
			name := sourceOf(e.Experiment, v.Claim)
			i := slices.IndexFunc(groups, func(g answerGroup) bool { return g.Source == name })
			if i < 0 {
				i = len(groups)
				groups = append(groups, answerGroup{Source: name})
			}
			groups[i].add(s.answer(e, v))
		}
	}
	slices.SortStableFunc(groups, func(a, b answerGroup) int {
		switch ours := a.Source == ourOwn; {
		case ours == (b.Source == ourOwn):
			return 0
		case ours:
			return 1
		}
		return -1
	})
	for i := range groups {
		slices.SortStableFunc(groups[i].Open, func(a, b answer) int {
			return cmp.Compare(slices.Index(order, a.Word), slices.Index(order, b.Word))
		})
	}
	return groups
}

// decided says whether a word answers a claim.
func decided(w stats.Word) bool { return w == stats.Reproduced || w == stats.NotReproduced }

func (g *answerGroup) add(a answer) {
	g.All++
	if !decided(a.Word) {
		g.Open = append(g.Open, a)
		return
	}
	g.Decided++
	i := slices.IndexFunc(g.Words, func(w answerWord) bool { return w.Says == a.Says() })
	if i < 0 {
		i = len(g.Words)
		g.Words = append(g.Words, answerWord{Mark: marks[a.Word], Says: a.Says()})
	}
	g.Words[i].Rows = append(g.Words[i].Rows, a)
	slices.SortStableFunc(g.Words, func(a, b answerWord) int {
		return cmp.Compare(slices.Index(order, a.Rows[0].Word), slices.Index(order, b.Rows[0].Word))
	})
}

// answer is a claim without its drawing.
func (s *study) answer(e *experiment, v verdict.Verdict) answer {
	a := answer{Claimed: claimed(v), Here: here(v)}
	a.Verdict, a.Name, a.Mark, a.Told = v, s.name(v), marks[v.Word], told(v)
	if !decided(v.Word) {
		a.Takes = takes(&s.Header, e, v)
	}
	return a
}

// answers are the groups of the page, with drawings on one axis. anchors leads from a claim to the
// text about it.
func (s *study) answers(anchors map[claimKey]string) (groups []answerGroup, axis *figure.Forest) {
	groups = s.bySource()
	var rows []figure.ForestRow
	each := func(do func(a *answer)) {
		for g := range groups {
			for w := range groups[g].Words {
				for i := range groups[g].Words[w].Rows {
					do(&groups[g].Words[w].Rows[i])
				}
			}
		}
	}
	each(func(a *answer) {
		if row, _, found := placed(a.Verdict); found {
			rows = append(rows, row)
		}
	})
	axis = figure.NewForest(rows, 64, 8)
	each(func(a *answer) {
		a.Anchor = anchors[claimKey{a.Experiment, a.Claim.ID}]
		if row, kin, found := placed(a.Verdict); found {
			a.Kin, a.Strip = kin, template.HTML(axis.Strip(row, "claims"))
		}
	})
	for g := range groups {
		for i := range groups[g].Open {
			a := &groups[g].Open[i]
			a.Anchor = anchors[claimKey{a.Experiment, a.Claim.ID}]
		}
	}
	return groups, axis
}

// deciding is the finding that a verdict rests on, with the part that it is of. Lines of code are
// counted, so their finding has no rounds and stands with the part.
func deciding(v verdict.Verdict) (stats.Finding, verdict.Part, bool) {
	if len(v.Parts) == 0 {
		return stats.Finding{}, verdict.Part{}, false
	}
	p := v.Parts[0]
	if i := slices.IndexFunc(v.Parts,
		func(p verdict.Part) bool { return p.Name == v.Finding.Weakest }); i >= 0 {
		p = v.Parts[i]
	}
	if counted := v.Finding.Rounds == 0 && p.Finding.Rounds == 0; counted {
		return p.Finding, p, len(p.Values) > 0
	}
	return v.Finding, p, known(v.Finding.Interval95)
}

// placed puts a verdict on the axis of ratios; false if it has no number. A figure that is no ratio
// is divided by what is claimed, and kin says so.
func placed(v verdict.Verdict) (row figure.ForestRow, kin string, found bool) {
	f, p, found := deciding(v)
	if !found {
		return row, "", false
	}
	by := 1.
	switch claimed := max(cmp.Or(f.Published, orZero(p.Published)), 0); {
	case p.Unit == "ratio":
	case p.Unit == "slope":
		kin = "growth"
	case claimed > 0:
		by, kin = claimed, "÷ claimed"
	default:
		return row, "", false
	}
	nan := math.NaN()
	row = figure.ForestRow{
		Shape: shapes[v.Word], Estimate: f.Estimate / by, Low: nan, High: nan, InnerLow: nan,
		InnerHigh: nan, Published: cmp.Or(f.Published, orZero(p.Published)) / by,
		Accept: [2]float64{f.Accept[0] / by, f.Accept[1] / by},
	}
	if f.Rounds > 0 && !f.Interval95.Short() {
		row.Low, row.High = f.Interval95.Lower/by, f.Interval95.Upper/by
		row.InnerLow, row.InnerHigh = f.Interval90.Lower/by, f.Interval90.Upper/by
	}
	for _, other := range v.Parts {
		if other.Name != p.Name && other.Unit == p.Unit && other.Finding.Word != "" {
			row.Others = append(row.Others, other.Finding.Estimate/by)
		}
	}
	return row, kin, true
}

var shapes = map[stats.Word]figure.Shape{
	stats.Reproduced: figure.Round, stats.NotReproduced: figure.Squared,
	stats.Inconclusive: figure.Hollow, stats.NotComparable: figure.Hollow,
	stats.NotMeasured: figure.Hollow,
}

func orZero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// here writes our figure: in the claim's own unit, with its interval.
func here(v verdict.Verdict) string {
	f, p, found := deciding(v)
	if !found {
		return ""
	}
	info := manifest.Metrics[v.Claim.Metric]
	iv, unit := f.Interval95, ""
	if p.Unit == info.Unit {
		unit = p.Unit
	}
	if f.Rounds == 0 { // counted
		return strings.TrimSpace(quantity.Significant(f.Estimate, 3) + " " + unit)
	}
	text := figureOf(iv, unit)
	if strings.HasPrefix(unit, "%") {
		return text + quantity.Thin + "%"
	}
	if unit == "" && p.Unit != "ratio" && p.Unit != "slope" {
		text = strings.TrimSpace(text + " " + p.Unit)
	}
	return text
}

// claimed says in a word or a number what a claim expects to see.
func claimed(v verdict.Verdict) string {
	c := v.Claim
	number := ""
	if c.Published > 0 {
		number = quantity.Trim(c.Published, 4)
		if info := manifest.Metrics[c.Metric]; c.Kind == "absolute" || c.Kind == "bound" {
			number = strings.TrimSpace(quantity.Short(c.Published, info.Unit))
			if strings.HasPrefix(info.Unit, "%") {
				number += quantity.Thin + "%"
			}
		}
	}
	side := map[string]string{"less": "less", "greater": "more"}[c.Sense]
	switch c.Kind {
	case "direction":
		if number != "" {
			return side + ", " + number
		}
		return side
	case "bound":
		return side + " than " + number
	case "equality":
		return "the same"
	case "non-inferiority":
		return "no worse"
	case "crossover":
		return "swap at " + number
	case "shape":
		if c.Shape == "order" { // the ratio is of the later by the earlier
			_, p, _ := deciding(v)
			return "more: " + p.Name
		}
		return map[string]string{"linear": "power " + cmp.Or(number, "1"),
			"straight": "straight", "flattens": "drops", "steepens": "rises", "flat": "the same",
			"widens": map[string]string{"less": "falls", "greater": "grows"}[c.Sense]}[c.Shape]
	case "builds":
		return "builds"
	}
	return number
}
