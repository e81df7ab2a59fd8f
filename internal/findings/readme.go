package findings

// The page over all: the verdicts of every source, which model to take, what is still open, and the
// machine.

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/stats"
)

// readme is the text of README.md.
func (w *writer) readme() string {
	w.b.Reset()
	w.line("%s", written)
	w.line("# What we learnt")
	w.line("")
	w.opening()
	w.summarise()
	w.overview()
	w.replications()
	w.line("")
	w.line("## Which model should I take?")
	w.line("")
	w.prose("", "Models are *level* where the 95 %% interval of their ratio to the best lies "+
		"within 10 %% of it. A model that is *not told apart* may be as good or not: this run "+
		"does not show it, as the interval is too wide or the two have fewer than %d rounds in "+
		"common. Ratios are formed within rounds, on this machine; with other loads the order "+
		"may be another. Only models are here that the run has measured. One program under two "+
		"databases, or with two ways to lock, is one model here.%s", stats.MinRounds, w.ofFirst())
	w.services()
	w.unfair()
	w.open()
	w.everyClaim()
	w.machineSection()
	w.line("")
	w.prose("", "How these pages are made, and how to write a paragraph: "+
		"[writing-findings.md](%s/docs/writing-findings.md).", w.base)
	return w.b.String()
}

// opening says which machines speak, and how they decide.
func (w *writer) opening() {
	sources := quantity.Many(len(w.published()), "source")
	yours := fmt.Sprintf("`interleave run`, then `interleave compare last findings`. [Words of "+
		"our own](%s/docs/glossary.md) · [how verdicts are found](%s/docs/method.md#verdicts).",
		w.base, w.base)
	if len(w.Others) == 0 {
		w.prose("", "What one machine (%s) says of the claims of %s: %s Your own machine beside "+
			"it: %s", w.machine(), sources, w.tally(w.Claims), yours)
		return
	}
	others := texts(w.Others, Other.machine)
	all := w.agreement(w.Claims)
	w.prose("", "What %d machines say of the claims of %s: %s On one machine or more %d are "+
		"decided, on two or more %d: those agree on %d and disagree on %d. These pages are of the "+
		"first machine, %s, and say at each claim what is said by %s. Your own machine beside "+
		"them: %s", len(w.All()), sources, w.tally(w.Claims), all.decided, all.both, all.agree,
		all.differ, w.machine(), list(others), yours)
}

// ofFirst says whose figures a section has, where there are several machines.
func (w *writer) ofFirst() string {
	if len(w.Others) == 0 {
		return ""
	}
	return " All of this is of the first machine alone, " + w.machine() + "."
}

// published are the sources that are papers.
func (f *Figures) published() []Source {
	return slices.DeleteFunc(slices.Clone(f.Sources),
		func(s Source) bool { return s.Name == questions })
}

// overview counts the verdicts of each source.
func (w *writer) overview() {
	w.line("")
	w.line("## The verdicts by source")
	w.line("")
	words := outcomes
	if len(w.Others) == 0 {
		words = order
	}
	w.line("| source | %s |", strings.Join(texts(words, verdictCell), " | "))
	w.line("|---|%s", strings.Repeat("--:|", len(words)))
	for _, s := range w.Sources {
		n := map[stats.Word]int{}
		for _, c := range w.of(s.Name) {
			n[w.outcome(c).word]++
		}
		w.line("| [%s](%s.md) | %s |", title(s.Name), s.Name,
			strings.Join(texts(words, func(o stats.Word) string { return fmt.Sprint(n[o]) }),
				" | "))
	}
}

// everyClaim lists them all.
func (w *writer) everyClaim() {
	w.line("")
	w.line("## Every claim")
	w.line("")
	w.prose("", "The figure *here* is that of the comparison that decides, with its 95 %% "+
		"interval, on own or on shared cores. Where it has no unit it is a ratio, of the model "+
		"that the claim is about to the one that it is compared with, or a power. *Published* is "+
		"a figure of the source's own. The region that reproduces a claim, *reproduced if*, is "+
		"ours: it stood in the experiment before the run, unless a caution of the claim says "+
		"that it is younger. Rounds have the numbers of the run, which measures other claims in "+
		"between, so one that has 13 may be decided at round 78.%s", w.saysElsewhere())
	for _, s := range w.Sources {
		w.line("")
		w.line("**%s**", title(s.Name))
		w.line("")
		more, rule := "", ""
		if len(w.Others) > 0 {
			more, rule = " other machines |", "---|"
		}
		w.line("| | claim | cores | here | published | reproduced if | verdict |%s", more)
		w.line("|---|---|---|--:|--:|--:|---|%s", rule)
		for _, c := range w.of(s.Name) {
			here, published, region := headline(c)
			if more != "" {
				more = " " + w.elsewhereCell(c) + " |"
			}
			w.line("| %s | %s | %s | %s | %s | %s | %s |%s", w.link(c), cell(c.Says),
				cmp.Or(string(c.Condition), quantity.Missing), here, published, region,
				w.verdictOf(c), more)
		}
	}
}

// headline is the figure that stands for a claim.
func headline(c Claim) (here, published, accept string) {
	p, found := c.head()
	if !found {
		return quantity.Missing, quantity.Missing, quantity.Missing
	}
	return figure(p.Estimate, p.Unit), publishedCell(p), region(p.Accept, p.Unit)
}

// head is the part that stands for a claim: the one that decides, or the only one. Where a claim
// compares with the best of several it is that of the best, and where other parts only show how a
// sweep runs, the one with a word.
func (c *Claim) head() (Part, bool) {
	is := func(p Part) bool { return p.Name == c.Weakest }
	switch {
	case len(c.Parts) == 1:
		return c.Parts[0], true
	case c.Weakest != "":
	case slices.ContainsFunc(c.Parts, func(p Part) bool { return p.Word != "" }):
		is = func(p Part) bool { return p.Word != "" }
	default:
		is = func(p Part) bool { return strings.Contains(c.Sentence, p.Name+" being the best") }
	}
	i := slices.IndexFunc(c.Parts, is)
	if i < 0 {
		return Part{}, false
	}
	return c.Parts[i], true
}

// services answers for each service which model to take.
func (w *writer) services() {
	if len(w.Choices) == 0 {
		w.line("")
		w.line("No two models of a service were measured.")
	}
	for i := 0; i < len(w.Choices); {
		service := w.Choices[i].Service
		end := i
		for end < len(w.Choices) && w.Choices[end].Service == service {
			end++
		}
		w.service(service, w.Choices[i:end])
		i = end
	}
}

func (w *writer) service(name string, choices []Choice) {
	models := map[string]bool{}
	for _, c := range choices {
		for _, p := range c.Models {
			models[p.Model] = true
		}
	}
	w.line("")
	w.line("### %s", name)
	w.line("")
	if c := choices[0]; c.Run != "" {
		w.prose("", "From run %s on %s: it tells more models apart than the run of the claims.",
			c.Run, c.Machine)
		w.line("")
	}
	w.line("| need | take | not told apart | where |")
	w.line("|---|---|---|---|")
	for _, c := range choices {
		need := c.Need
		if name := cell(metricName(c.Metric)); name != need {
			need += " (" + name + ")"
		}
		w.line("| %s | %s | %s | %s |", need, take(c), untold(c), where(c, len(models)))
	}
	w.line("")
	w.line("<details><summary>All models: how many times worse than the best</summary>")
	w.line("")
	w.line("| model | %s |", strings.Join(texts(choices,
		func(c Choice) string { return c.Need }), " | "))
	w.line("|---|%s", strings.Repeat("--:|", len(choices)))
	for _, m := range slices.Sorted(maps.Keys(models)) {
		w.line("| %s | %s |", m, strings.Join(texts(choices, func(c Choice) string {
			for _, p := range c.Models {
				if p.Model == m {
					return times(c, p)
				}
			}
			return quantity.Missing
		}), " | "))
	}
	w.line("")
	w.prose("", "The best, in its unit: %s.", strings.Join(texts(choices, func(c Choice) string {
		best := c.Models[0]
		if c.Metric == manifest.Lines {
			return fmt.Sprintf("%.0f lines with %s", best.Value.Estimate, best.Model)
		}
		return fmt.Sprintf("%s %s with %s", c.Need,
			plain(quantity.Of(best.Value.Estimate, manifest.Metrics[c.Metric].Unit)), best.Model)
	}), "; "))
	w.line("")
	w.line("</details>")
}

// take is the answer: "c-epoll and c-uring are level".
func take(c Choice) string {
	names := members(c, Level)
	text := list(names)
	switch {
	case len(names) == 1 && len(members(c, Open)) == 0:
		return "**" + text + "**"
	case len(names) == 1:
		return "**" + text + "**, the best as measured"
	}
	return "**" + text + "** are level"
}

func members(c Choice, group Standing) []string {
	return named(c, func(p Place) bool { return p.Group == group })
}

func named(c Choice, of func(Place) bool) []string {
	var out []string
	for _, p := range c.Models {
		if of(p) {
			out = append(out, p.Model)
		}
	}
	return out
}

// untold are the models of which the run does not show how they stand to the best, with the reason
// where it is that the two were hardly measured in the same rounds.
func untold(c Choice) string {
	few := func(p Place) bool { return p.Group == Open && p.Rounds < stats.MinRounds }
	var parts []string
	if wide := named(c, func(p Place) bool { return p.Group == Open && !few(p) }); len(wide) > 0 {
		parts = append(parts, list(wide))
	}
	if names := named(c, few); len(names) > 0 {
		parts = append(parts, fmt.Sprintf("%s (fewer than %d rounds in common with %s)",
			list(names), stats.MinRounds, c.Models[0].Model))
	}
	return cell(strings.Join(parts, "; "))
}

// where says where a choice was measured, and of how many models, where the service has others that
// were not measured there.
func where(c Choice, models int) string {
	text := "blank lines and comments left out"
	if c.Experiment != "" {
		point := c.Point
		if strings.HasPrefix(point, "cold ") {
			point += ", the first responses of a fresh server"
		}
		text = fmt.Sprintf("%s, %s, %s cores", c.Experiment, point, c.Condition)
	}
	if n := len(c.Models); n < models {
		text += fmt.Sprintf("; only %d of the %d models", n, models)
	}
	return cell(text)
}

// times is a model's place: 1 for the best, else its ratio with the interval.
func times(c Choice, p Place) string {
	text := figure(p.Times, "ratio")
	switch {
	case p.Model == c.Models[0].Model:
		return "**1**"
	case c.Metric == manifest.Lines:
		return plain(quantity.Significant(p.Times.Estimate, 3))
	case p.Rounds > 0 && p.Rounds < stats.MinRounds:
		text += " of " + quantity.Many(p.Rounds, "round")
	}
	return text
}

// list is "a", "a and b" or "a, b and c".
func list(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

func texts[T any](list []T, text func(T) string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = text(v)
	}
	return out
}

// standIn is the sentence of a claim's transfer that says what stands for something that its source
// measured; empty if nothing does.
func standIn(c Claim) string {
	for sentence := range strings.SplitSeq(c.Transfer, ". ") {
		if strings.Contains(sentence, "stands for") {
			return strings.TrimSuffix(sentence, ".")
		}
	}
	return ""
}

// unfair lists the claims that this run could not judge as their source meant them.
func (w *writer) unfair() {
	w.line("")
	w.line("## Claims still without a fair chance")
	on, in := "this machine", "this run"
	if len(w.Others) > 0 {
		on, in = "any of the machines", "any of the runs"
	}
	some := w.byReason("Not comparable on "+on, w.ends(stats.NotComparable), w.reason)
	some = w.byReason("Not measured in "+in, w.ends(stats.NotMeasured), w.reason) || some
	some = w.byReason("Judged against a stand-in", func(c Claim) bool {
		return standIn(c) != "" && !silent(w.outcome(c).word)
	}, standIn) || some
	if !some {
		w.line("")
		w.line("None: every claim was judged against what its source measured.")
	}
}

// ends picks the claims with a word.
func (w *writer) ends(word stats.Word) func(Claim) bool {
	return func(c Claim) bool { return w.outcome(c).word == word }
}

// reason is why a claim has its verdict, with the machine where it is not the first.
func (w *writer) reason(c Claim) string {
	o := w.outcome(c)
	if o.by == nil {
		return c.Reason
	}
	return "on " + w.label(o.by.Other) + ": " + cmp.Or(o.claim.Reason, "no reason is recorded")
}

// open lists what was measured and is not decided.
func (w *writer) open() {
	inconclusive := w.ends(stats.Inconclusive)
	if !slices.ContainsFunc(w.Claims, inconclusive) {
		return
	}
	w.line("")
	w.line("## Measured and not decided")
	w.byReason("", inconclusive, w.reason)
}

// byReason lists claims under a head, those of one reason together. It says whether there are any.
func (w *writer) byReason(head string, of func(Claim) bool, why func(Claim) string) bool {
	var reasons []string
	links := map[string][]string{}
	for _, c := range w.Claims {
		if !of(c) {
			continue
		}
		r := w.refer(c.Source, oneLine(why(c)))
		if links[r] == nil {
			reasons = append(reasons, r)
		}
		links[r] = append(links[r], w.link(c))
	}
	if len(reasons) == 0 {
		return false
	}
	w.line("")
	if head != "" {
		w.line("**%s**", head)
		w.line("")
	}
	for _, r := range reasons {
		w.prose("- ", "%s: %s", strings.Join(links[r], ", "), cmp.Or(r, "no reason is recorded"))
	}
	return true
}

// machineSection has the machines and their runs.
func (w *writer) machineSection() {
	w.line("")
	w.line("## The machine and the run")
	w.about(w.first)
	for _, o := range w.Others {
		w.line("")
		w.line("### The machine %s", o.Name)
		w.about(o.Figures)
	}
}

// about says where, when, how long, with what, and what did not count.
func (w *writer) about(f *Figures) {
	m, n := f.Machine, f.Cells
	w.line("")
	w.line("| | |")
	w.line("|---|---|")
	row := func(name, value string) {
		if value != "" {
			w.line("| %s | %s |", name, cell(value))
		}
	}
	row("machine", f.machine())
	row("memory", quantity.Of(float64(m.MemBytes), "bytes"))
	row("clock, cgroups, TCP", strings.Join(slices.DeleteFunc([]string{m.Clock, m.Cgroups,
		m.Congestion}, func(s string) bool { return s == "" }), ", "))
	row("hosts", f.Hosts)
	row("begun", f.Started.UTC().Format("2 January 2006, 15:04 UTC"))
	if f.Finished != nil {
		row("ended", f.Finished.UTC().Format("2 January 2006, 15:04 UTC"))
	} else {
		row("ended", "it has no end: it was stopped, and can be resumed")
	}
	row("measuring", quantity.Duration(f.Measuring))
	row("cells", fmt.Sprintf("%d: %d measured, %d void, %d failed", n.All, n.Measured, n.Void,
		n.Failed))
	for _, l := range f.Labels {
		row("measured, but "+l.Name, quantity.Many(l.Cells, "cell"))
	}
	if !f.Calibrated {
		row("calibration", "none: the instrument was not held against known truths before the run")
	}
	row("record", f.Run)
	var tools []string
	for _, name := range slices.Sorted(maps.Keys(m.ToolChains)) {
		tools = append(tools, strings.TrimSpace(name+" "+m.ToolChains[name]))
	}
	row("tool chains", strings.Join(tools, ", "))
	if len(f.Gates) > 0 {
		w.line("")
		w.prose("", "Cells that no figure rests on, by the gate that they did not pass; one cell "+
			"may be in several lines:")
		w.line("")
	}
	for _, g := range f.Gates {
		w.prose("- ", "%s: %s, the first: %s", g.Name, quantity.Many(g.Cells, "cell"),
			oneLine(g.Example))
	}
	if len(f.Skipped) > 0 {
		w.line("")
		w.line("Servers that were not measured:")
		w.line("")
	}
	for _, s := range f.Skipped {
		w.prose("- ", "%s/%s: %s", s.Service, s.Model, oneLine(s.Reason))
	}
}
