package findings

// A comparison as text for a terminal, and as JSON.

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
)

// mostRatios is how many ratios of a kind a terminal shows; JSON has all.
const mostRatios = 20

// JSON writes the comparison for scripts.
func (c *Comparison) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(c); err != nil {
		return fmt.Errorf("writing the comparison: %w", err)
	}
	return nil
}

// Text writes the comparison for people: the machines, then the claims, then the ratios.
func (c *Comparison) Text(w io.Writer, width int) error {
	var b strings.Builder
	line := func(indent, text string) {
		for l := range strings.SplitSeq(ansi.Wordwrap(text, max(width, 40)-len(indent), ""), "\n") {
			b.WriteString(indent + l + "\n")
		}
	}
	line("", fmt.Sprintf("A is %s, B is %s.", c.A, c.B))
	if c.Note != "" {
		line("", c.Note)
	}
	if len(c.Gaps) == 0 {
		line("", "Same machine, same tool chains.")
	} else {
		line("", "What differs between the machines, A -> B:")
	}
	for _, g := range c.Gaps {
		line("  ", fmt.Sprintf("%-18s %s -> %s", g.Name, g.A, g.B))
	}
	line("", "")
	line("", fmt.Sprintf("%s: %s.", quantity.Many(len(c.Claims), "claim"), count(c.Claims,
		func(p ClaimPair) Told { return p.Told })))
	for _, t := range []Told{Differ, OneOnly, Changed} {
		c.claimList(line, t)
	}
	c.agreeing(line)
	line("", "")
	line("", fmt.Sprintf("%s to a baseline: %s.", quantity.Many(len(c.Ratios), "ratio"),
		count(c.Ratios, func(p RatioPair) Told { return p.Told })))
	if n := len(c.Ratios); n > 0 {
		line("  ", fmt.Sprintf("Were all of them 1, each machine would decide about %d by chance: "+
			"the intervals are of 95 %%.", (n+10)/20))
	}
	if c.OnlyA+c.OnlyB > 0 {
		line("  ", fmt.Sprintf("Only in A: %s; only in B: %s.", quantity.Many(c.OnlyA, "ratio"),
			quantity.Many(c.OnlyB, "ratio")))
	}
	c.ratioList(line, "They differ: one machine shows more than the baseline, the other less.",
		func(p RatioPair) bool { return p.Told == Differ })
	c.ratioList(line, "They agree on the side and not on the size: the intervals are apart.",
		func(p RatioPair) bool { return p.Told == Agree && p.Apart })
	_, err := io.WriteString(w, b.String())
	if err != nil {
		return fmt.Errorf("writing the comparison: %w", err)
	}
	return nil
}

// count tells how many have which answer.
func count[T any](list []T, told func(T) Told) string {
	var parts []string
	for _, t := range answers {
		n := 0
		for _, v := range list {
			if told(v) == t {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", t, n))
		}
	}
	if len(parts) == 0 {
		return "none to compare"
	}
	return strings.Join(parts, ", ")
}

// headings stand over the claims of an answer.
var headings = map[Told]string{
	Differ:  "The verdicts differ:",
	OneOnly: "Only one of the two decided:",
	Changed: "Not the same claim, for its words, its metric or its margin have changed:",
}

func (c *Comparison) claimList(line func(indent, text string), told Told) {
	first := true
	for _, p := range c.Claims {
		if p.Told != told {
			continue
		}
		if first {
			line("", headings[told])
			first = false
		}
		line("  ", fmt.Sprintf("%s  %s -> %s", p.Claim, side(string(p.A), p.HereA),
			side(string(p.B), p.HereB)))
		line("      ", p.Says)
	}
}

// agreeing names the claims on which both machines agree.
func (c *Comparison) agreeing(line func(indent, text string)) {
	var names []string
	for _, p := range c.Claims {
		if p.Told == Agree {
			names = append(names, p.Claim+" ("+string(p.A)+")")
		}
	}
	if len(names) > 0 {
		line("", "They agree:")
		line("  ", strings.Join(names, ", "))
	}
}

// side is a verdict with its figure: "reproduced, 0.81 (0.78–0.84)".
func side(word, figure string) string {
	switch {
	case word == "":
		return "not there"
	case figure == quantity.Missing:
		return word
	}
	return word + ", " + figure
}

func (c *Comparison) ratioList(line func(indent, text string), head string,
	of func(RatioPair) bool) {
	list := slices.DeleteFunc(slices.Clone(c.Ratios), func(p RatioPair) bool { return !of(p) })
	if len(list) == 0 {
		return
	}
	line("", head)
	for _, p := range list[:min(len(list), mostRatios)] {
		line("  ", fmt.Sprintf("%s by %s in %s: x%s -> x%s  (%s, %s, %s)", p.Model, p.Baseline,
			manifest.Metrics[p.Metric].Name, figure(p.A, "ratio"),
			figure(p.B, "ratio"), p.Experiment, p.Point, p.Condition))
	}
	if n := len(list) - mostRatios; n > 0 {
		line("  ", fmt.Sprintf("... and %d more: --json has all.", n))
	}
}
