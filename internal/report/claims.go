package report

// A claim's verdict as the page shows it: the source's sentence, ours, and the figure of the
// comparisons that the word rests on.

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/report/figure"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

// centre is a row's estimate over its rounds, ratio that against the baseline.
func centre(r verdict.Row) stats.Interval { return r.Centre }
func ratio(r verdict.Row) stats.Interval  { return r.Ratio }

// A claimView is one claim of the page.
type claimView struct {
	verdict.Verdict
	Name    string // P1, T-H1
	Anchor  string // the fragment
	Mark    string // the symbol's id
	Told    string // the verdict's sentence, set as a page sets it
	Holm    string // what remains of "reproduced" among the other claims of the source
	Figures []drawn
}

// marks are the symbols of the page: each word has a shape of its own.
var marks = map[stats.Word]string{
	stats.Reproduced: "mark-reproduced", stats.NotReproduced: "mark-not",
	stats.Inconclusive: "mark-open", stats.NotMeasured: "mark-left",
	stats.NotComparable: "mark-none",
}

// claims are the experiment's, with figures. Fragments are the claims' own ids; one that another
// experiment has taken gets the experiment's name in front.
func (s *study) claims(e *experiment, taken map[string]bool) []claimView {
	var out []claimView
	// Claims that were not measured or cannot be compared come last.
	verdicts := slices.Clone(e.verdicts)
	slices.SortStableFunc(verdicts,
		func(a, b verdict.Verdict) int { return cmp.Compare(silent(a), silent(b)) })
	for _, v := range verdicts {
		id := anchor(v.Claim.ID)
		if id == "" || taken[id] {
			id = anchor(e.Name, v.Claim.ID)
		}
		taken[id] = true
		c := claimView{Verdict: v, Name: s.name(v), Anchor: id, Mark: marks[v.Word],
			Told: told(v), Holm: s.together(e, v)}
		for i, parts := range byUnit(drawable(v.Parts)) {
			figureID := anchor("fig", id)
			if i > 0 {
				figureID = anchor("fig", id, fmt.Sprint(i+1))
			}
			c.Figures = append(c.Figures, s.claimFigure(e, v, parts, figureID))
		}
		out = append(out, c)
	}
	return out
}

// silent is above 0 for a verdict that says nothing of this machine.
func silent(v verdict.Verdict) int {
	if v.Silent() {
		return 1 + slices.Index(order, v.Word)
	}
	return 0
}

// told is the verdict's sentence for a page: set as text is, with dashes in intervals, and without
// the word, which stands in front of it with its mark.
func told(v verdict.Verdict) string {
	text, word := v.Sentence, capital(string(v.Word))
	if rest, found := strings.CutPrefix(text, word+": "); found {
		text = begin(rest)
	}
	if before, rest, found := strings.Cut(text, ". "+word+": "); found {
		text = before + ". " + begin(rest)
	}
	text = strings.TrimSuffix(text, " "+word+".")
	text = times.ReplaceAllString(text, "$1×")
	return set(span.ReplaceAllString(text, "$1–$2"))
}

var (
	times = regexp.MustCompile(`(\d)x\b`)
	span  = regexp.MustCompile(`(\d)-(\d)`)
)

// begin is a sentence's beginning; a model's name stays as it is.
func begin(text string) string {
	if first, _, _ := strings.Cut(text, " "); strings.ContainsAny(first, "-_/") {
		return text
	}
	return capital(text)
}

// sentence is a text that may have been written as a note: it begins and ends as a sentence does.
func sentence(text string) string {
	if text = begin(set(text)); text != "" && !strings.ContainsAny(text[len(text)-1:], ".?!") {
		text += "."
	}
	return text
}

// set is a text as printers set it: quotes and times signs, and a space before % that
// does not break.
func set(text string) string {
	text = inQuotes.ReplaceAllString(text, "“$1”")
	text = product.ReplaceAllString(text, "$1 × ")
	text = strings.ReplaceAll(text, "'", "’")
	return strings.ReplaceAll(text, " %", quantity.Thin+"%")
}

var (
	inQuotes = regexp.MustCompile(`"([^"]*)"`)
	product  = regexp.MustCompile(`(\d) x `)
)

// together says whether a reproduced claim holds also among the others of its source.
func (s *study) together(e *experiment, v verdict.Verdict) string {
	h, judged := s.holm[claimKey{e.Name, v.Claim.ID}]
	if !judged || h.claims < 2 || v.Word != stats.Reproduced {
		return ""
	}
	text := fmt.Sprintf("Among the %d claims of %s that were judged (Holm): p = %s", h.claims,
		h.source, quantity.Significant(h.p, 2))
	switch {
	case h.p <= stats.Alpha:
		return text + "."
	case len(s.Header.Budgets) > 0: // a decided claim had no more rounds, and its p is near .05
		return ""
	}
	return text + ", so one of them may be reproduced by luck; more rounds tell."
}

// drawable are the parts that rest on rounds: lines of code are counted, not measured.
func drawable(parts []verdict.Part) []verdict.Part {
	return slices.DeleteFunc(slices.Clone(parts),
		func(p verdict.Part) bool { return p.Finding.Rounds == 0 })
}

// byUnit keeps apart what cannot stand on one axis.
func byUnit(parts []verdict.Part) [][]verdict.Part {
	var out [][]verdict.Part
	for _, p := range parts {
		i := slices.IndexFunc(out,
			func(group []verdict.Part) bool { return group[0].Unit == p.Unit })
		if i < 0 {
			out = append(out, nil)
			i = len(out) - 1
		}
		out[i] = append(out[i], p)
	}
	return out
}

func (s *study) claimFigure(e *experiment, v verdict.Verdict, parts []verdict.Part,
	id string) drawn {
	f := figure.Intervals{Reference: math.NaN()}
	condition := v.Condition
	f.Axis, f.Log = axis(e, v.Claim, parts)
	if quantity.TickTells(parts[0].Unit) {
		f.Unit = parts[0].Unit
	}
	if parts[0].Unit == "ratio" {
		f.Reference = 1
		if v.Claim.Against.Model != "" && v.Claim.Of.Model != "" {
			f.Less, f.More = v.Claim.Of.String()+" less", v.Claim.Of.String()+" more"
		}
	}
	f.LabelHead = head(parts)
	noise := noiseOf(e, condition, v.Claim.Metric)
	noisy := false
	for _, p := range parts {
		row := figure.IntervalRow{
			Label: strings.TrimPrefix(p.Name, f.LabelHead+" = "), Dots: p.Values,
			Estimate: p.Finding.Estimate, Low: p.Finding.Interval95.Lower,
			High:     p.Finding.Interval95.Upper,
			InnerLow: p.Finding.Interval90.Lower, InnerHigh: p.Finding.Interval90.Upper,
			Note: figureOf(p.Finding.Interval95, f.Unit), Published: p.Published, Accept: p.Accept,
			Noise: [2]float64{math.NaN(), math.NaN()},
		}
		if p.Finding.Interval95.Short() { // too few rounds for any interval
			row.Low, row.High, row.InnerLow, row.InnerHigh = row.Estimate, row.Estimate,
				row.Estimate, row.Estimate
		}
		if n, found := noise(p); found && p.Unit == "ratio" {
			row.Noise, noisy = n, true
		}
		f.Rows = append(f.Rows, row)
	}
	if noisy {
		f.NoiseLegend = e.Baseline + " against itself"
	}
	f.Frame = figure.Frame{ID: id, Title: s.name(v) + ": " + f.Axis,
		Desc: capital(string(v.Word)) + ". " + v.Sentence}
	caption := fmt.Sprintf("%s: %s; %s. Each dot is a round, paired within it.", s.name(v), f.Axis,
		where(condition))
	only := v
	only.Parts = parts
	return draw(id, caption, f, claimTable(only))
}

// axis says what an axis of a claim shows, and whether it is logarithmic.
func axis(e *experiment, c manifest.Claim, parts []verdict.Part) (label string, log bool) {
	unit := parts[0].Unit
	metric := cmp.Or(manifest.Metrics[c.Metric].Name, string(c.Metric))
	switch unit {
	case "ratio":
		if c.Of.Model != "" && c.Against.Model != "" {
			return fmt.Sprintf("%s, %s by %s", metric, c.Of, c.Against), true
		}
		if c.Of.Model != "" {
			return fmt.Sprintf("ratio of %s, %s", metric, c.Of), true
		}
		return "ratio of " + metric, true
	case "slope":
		return fmt.Sprintf("%s of %s, %s", parts[0].Name, metric, c.Of), false
	case "", metric:
		return metric, true
	}
	if quantity.TickTells(unit) {
		return metric, true
	}
	if unit == manifest.Metrics[c.Metric].Unit {
		return metric + " (" + unit + ")", true
	}
	return cmp.Or(unit, e.Axis.Label), true
}

// head is the common beginning of all names of parts: "connections" of "connections = 64".
func head(parts []verdict.Part) string {
	first, _, found := strings.Cut(parts[0].Name, " = ")
	if !found {
		return ""
	}
	for _, p := range parts {
		if !strings.HasPrefix(p.Name, first+" = ") {
			return ""
		}
	}
	return first
}

// noiseOf finds the baseline against itself at a part's point.
func noiseOf(e *experiment, c manifest.Condition,
	m manifest.Metric) func(verdict.Part) ([2]float64, bool) {
	var twins []verdict.Row
	for _, r := range e.rows(c, m) {
		if r.Twin && known(ratio(r)) && !ratio(r).Short() {
			twins = append(twins, r)
		}
	}
	return func(p verdict.Part) ([2]float64, bool) {
		for _, r := range twins {
			if r.Point == p.Name || !math.IsNaN(p.X) && r.X == p.X || len(twins) == 1 {
				return [2]float64{ratio(r).Lower, ratio(r).Upper}, true
			}
		}
		return [2]float64{}, false
	}
}
