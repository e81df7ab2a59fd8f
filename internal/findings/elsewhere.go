package findings

// What the pages say of other machines than the first.

import (
	"fmt"
	"strings"

	"interleave/internal/quantity"
	"interleave/internal/stats"
)

// day is when the run of some figures began.
func (f *Figures) day() string { return f.Started.UTC().Format("2 January 2006") }

// measuredOn names the first machine and its day, and those beside it.
func (w *writer) measuredOn() string {
	text := w.machine() + ", " + w.day()
	for _, o := range w.Others {
		text += "; beside it on " + plain(w.label(o)) + ", " + o.day()
	}
	return text
}

// verdictOf is the verdict of a claim in a table, with the machine where it is not the first.
func (w *writer) verdictOf(c Claim) string {
	o := w.outcome(c)
	if o.by != nil {
		return verdictCell(o.word) + " on " + cell(w.label(o.by.Other))
	}
	return verdictCell(o.word)
}

// contradiction stands above the verdicts of machines that disagree.
func (w *writer) contradiction(c Claim, o outcome) {
	w.line("")
	w.prose("", "%s **The machines disagree:** %s.", signs[Contradicted], w.sides(c, o))
}

// sides names the machines on either side of a disagreement.
func (w *writer) sides(c Claim, o outcome) string {
	var parts []string
	for _, word := range []stats.Word{stats.Reproduced, stats.NotReproduced} {
		parts = append(parts, fmt.Sprintf("%s on %s", word, plain(list(w.by(c, o, word)))))
	}
	return strings.Join(parts, ", ")
}

// elsewhere has a line for each machine beside the first, unless its verdict stands above already.
func (w *writer) elsewhere(c Claim, o outcome) {
	for i := range o.voices {
		if v := &o.voices[i]; v != o.by {
			w.line("")
			w.prose("", "%s", w.voiceLine(c, v))
		}
	}
	if o.by != nil {
		w.line("")
		w.prose("", "The verdict is that of %s: %s.", plain(w.label(o.by.Other)),
			plain(o.by.when()))
	}
}

// stands are how a voice begins, by how it stands to the first machine's verdict.
var stands = map[Told]string{
	Agree:   "*Another machine agrees:*",
	Differ:  "**Another machine disagrees:**",
	OneOnly: "*Another machine leaves it open:*",
	Neither: "*Another machine leaves it open, too:*",
	Changed: "*Another machine was asked something else* (the claim's words, metric or margin " +
		"were not these, so its verdict does not count here):",
}

// voiceLine is what another machine says of a claim, in one line.
func (w *writer) voiceLine(c Claim, v *voice) string {
	on := plain(w.label(v.Other))
	if v.told == Missing {
		return "*Elsewhere:* not measured on " + on + "."
	}
	begin := stands[v.told]
	if v.told == OneOnly && Decided(v.claim.Word) {
		begin = "*Another machine decides:*"
	}
	text := fmt.Sprintf("%s %s %s on %s", begin, signs[v.claim.Word], v.claim.Word, on)
	if x := v.claim.Condition; x != "" && x != c.Condition {
		text += ", with " + string(x) + " cores"
	}
	text += headFigure(v.claim)
	if v.heard() && sizesApart(c, v.claim) {
		text += "; the two intervals have no value in common"
	}
	text += " (" + plain(v.when()) + ")."
	if n := len(v.claim.Cautions); n > 0 {
		text += fmt.Sprintf(" [Its figures](%s) have %s.", FileOf(v.Name),
			quantity.Many(n, "caution"))
	}
	return text
}

// headFigure is the figure that stands for a claim, behind its verdict.
func headFigure(c Claim) string {
	p, found := c.head()
	switch {
	case !found || !p.Estimate.known():
		return ""
	case len(c.Parts) > 1:
		return ": " + figure(p.Estimate, p.Unit) + " at " + plain(p.Name)
	}
	return ": " + figure(p.Estimate, p.Unit)
}

// sizesApart says whether the figures of two machines differ, whatever their verdicts are.
func sizesApart(a, b Claim) bool {
	x, one := a.head()
	y, two := b.head()
	return one && two && x.Name == y.Name && x.Unit == y.Unit && apart(x.Estimate, y.Estimate)
}

// when says when a machine measured, and for how long.
func (o Other) when() string {
	return o.day() + ", " + quantity.Duration(o.Measuring) + " of measuring"
}

// replications are the sections of the page over all about other machines.
func (w *writer) replications() {
	if len(w.Others) == 0 {
		return
	}
	all := w.agreement(w.Claims)
	w.line("")
	w.line("## What other machines say")
	w.line("")
	w.prose("", "Of %d claims %d are decided: %d by two machines or more, which agree on %d and "+
		"disagree on %d; %d by one machine alone, of which %s not by the first; and %d about "+
		"lines of code and builds, which are the same on every machine, so that no second one "+
		"confirms them. To agree is to have the same verdict, and not the same size: [what a "+
		"second machine says](%s/docs/method.md#a-second-machine).", all.claims, all.decided,
		all.both, all.agree, all.differ, all.single(), being(all.alone), all.machineless, w.base)
	w.line("")
	w.line("| machine | name | begun | measuring | cells | claims that it decides, without lines " +
		"and builds |")
	w.line("|---|---|---|--:|--:|--:|")
	for _, o := range w.All() {
		n := 0
		for _, c := range o.Claims {
			if Decided(c.Word) && !machineless(c) {
				n++
			}
		}
		w.line("| %s | [%s](%s) | %s | %s | %d | %d |", cell(o.machineOf()), o.Name,
			FileOf(o.Name), o.day(), cell(quantity.Duration(o.Measuring)), o.Cells.Measured, n)
	}
	w.agreements()
	w.aloneElsewhere()
	w.disagreements()
}

// being is a number with its verb.
func being(n int) string {
	if n == 1 {
		return "1 is"
	}
	return fmt.Sprintf("%d are", n)
}

// agreements counts for each source how far the machines agree.
func (w *writer) agreements() {
	w.line("")
	w.line("| source | claims | decided | by two machines | they agree | they disagree | by one " +
		"alone | of these not by the first | the same on every machine |")
	w.line("|---|%s", strings.Repeat("--:|", 8))
	for _, s := range w.Sources {
		a := w.agreement(w.of(s.Name))
		w.line("| [%s](%s.md) | %d | %d | %d | %d | %d | %d | %d | %d |", title(s.Name), s.Name,
			a.claims, a.decided, a.both, a.agree, a.differ, a.single(), a.alone, a.machineless)
	}
}

// aloneElsewhere lists the claims whose verdict is that of another machine than the first.
func (w *writer) aloneElsewhere() {
	first := true
	for _, c := range w.Claims {
		o := w.outcome(c)
		if o.by == nil || !Decided(o.word) || o.word == Contradicted {
			continue
		}
		if first {
			first = false
			w.line("")
			w.line("Decided, and not by the first machine:")
			w.line("")
		}
		w.prose("- ", "%s: %s %s %s on %s%s", w.link(c), plain(c.Says), signs[o.word], o.word,
			plain(w.label(o.by.Other)), headFigure(o.claim))
	}
}

// disagreements lists the claims on which two machines have opposite verdicts.
func (w *writer) disagreements() {
	w.line("")
	w.line("## Where two machines disagree")
	w.line("")
	some := false
	for _, c := range w.Claims {
		o := w.outcome(c)
		if o.word != Contradicted {
			continue
		}
		some = true
		var parts []string
		say := func(label string, x Claim) {
			if Decided(x.Word) {
				parts = append(parts, fmt.Sprintf("%s %s on %s%s", signs[x.Word], x.Word,
					plain(label), headFigure(x)))
			}
		}
		say(w.firstLabel(), c)
		for _, v := range o.voices {
			if v.heard() {
				say(w.label(v.Other), v.claim)
			}
		}
		w.prose("- ", "%s: %s %s.", w.link(c), plain(c.Says), strings.Join(parts, "; "))
	}
	if !some {
		w.line("Nowhere: no claim is reproduced on one machine and not reproduced on another.")
	}
}

// saysElsewhere explains the column of the other machines.
func (w *writer) saysElsewhere() string {
	if len(w.Others) == 0 {
		return ""
	}
	return " *Other machines* have their names; their verdicts and figures are beside those of " +
		"the first machine, whose figures all other columns have."
}

// elsewhereCell is what other machines say of a claim, for the table of all claims.
func (w *writer) elsewhereCell(c Claim) string {
	var parts []string
	for _, v := range w.outcome(c).voices {
		if !v.heard() {
			continue
		}
		here, _, _ := headline(v.claim)
		text := signs[v.claim.Word] + "&nbsp;" + v.Name
		if here != quantity.Missing {
			text += ": " + here
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return quantity.Missing
	}
	return strings.Join(parts, "; ")
}
