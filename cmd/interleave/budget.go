package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"interleave/internal/machine"
	"interleave/internal/manifest"
	"interleave/internal/probe/serve"
	"interleave/internal/probe/toolchain"
	"interleave/internal/quantity"
	"interleave/internal/record"
	"interleave/internal/run"
)

// A budget is the value of --for: time for measuring.
type budget time.Duration

// overnight is what it says.
const overnight = budget(8 * time.Hour)

// longestBudget bounds a budget: a mistake of a digit would run for a year.
const longestBudget = budget(30 * 24 * time.Hour)

// shortWindows ends where the windows of normal depth begin. In simulations of this laboratory an
// hour of short windows decides 83 claims, and one of normal windows 70; from two hours on, normal
// windows have time for all.
const shortWindows = budget(2 * time.Hour)

// depth is the depth whose windows a budget has.
func (b budget) depth() string {
	if b < shortWindows {
		return "quick"
	}
	return "normal"
}

// Set reads "10m", "1h30m" or "overnight".
func (b *budget) Set(text string) error {
	if text == "overnight" {
		*b = overnight
		return nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return errors.New("expected a duration such as 10m, 90m, 1h or overnight")
	case d <= 0:
		return errors.New("expected more than no time, such as 10m")
	case budget(d) > longestBudget:
		return fmt.Errorf("expected at most %v", time.Duration(longestBudget))
	}
	*b = budget(d)
	return nil
}

// String writes a budget as Set reads it; none is empty.
func (b *budget) String() string {
	switch *b {
	case 0:
		return ""
	case overnight:
		return "overnight"
	}
	return time.Duration(*b).String()
}

// Type is the word for the value in the help.
func (b *budget) Type() string { return "time" }

// forecast prints what a budget would be spent on.
func forecast(w io.Writer, s *run.Session) error {
	outer := s.Choice.Skip
	s.Choice.Skip = func(m *manifest.Model) bool {
		return whyNot(s, m) != nil || outer != nil && outer(m)
	}
	f, err := s.Forecast(machine.Describe(nil), func(m *manifest.Model) string {
		return text(whyNot(s, m))
	})
	if errors.Is(err, run.ErrBudget) {
		return &failure{exitUsage, err}
	}
	if err != nil {
		return err
	}
	from := "no earlier run of this machine and these servers:\ncosts are estimates, and a claim " +
		"is taken to need 7 rounds"
	if f.From != "" {
		from = "costs and rounds are those of run " + f.From
	}
	fmt.Fprintf(w, "%s of measuring; %s\n\n", quantity.Setting(f.For), from)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "experiment\tcores\ttime\tclaims")
	claims := 0
	for _, set := range f.Sets {
		claims += len(set.Claims)
		for i, row := range wrap(set.Claims, 44) {
			if i > 0 {
				fmt.Fprintf(t, "\t\t\t%s\n", row)
				continue
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", set.Experiment, set.Condition, minutes(set.Takes),
				row)
		}
	}
	if f.Figures > 0 {
		fmt.Fprintf(t, "figures\t\t%s\tof %s that no claim needs\n", minutes(f.Figures),
			quantity.Many(f.Points, "point"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	before := ""
	if f.Before > 0 {
		before = fmt.Sprintf("%d decided before, ", f.Before)
	}
	fmt.Fprintf(w, "\n%s without measuring, %s%d measured, of %d\n",
		quantity.Many(f.Free, "claim"), before, claims, f.All)
	return tellOpen(w, f.Undecided)
}

// whyNot is the reason for which a model cannot be measured here, as far as that is known before it
// is built.
func whyNot(s *run.Session, m *manifest.Model) error {
	if err := serve.Able(s.Tree.Service(m.Service), m); err != nil {
		return err
	}
	for _, need := range m.Needs {
		if _, err := toolchain.Lookup(s.Out, need); err != nil {
			return err
		}
	}
	return nil
}

// wrap joins words to lines of at most so many columns.
func wrap(words []string, columns int) (lines []string) {
	for _, w := range words {
		if n := len(lines); n > 0 && len(lines[n-1])+1+len(w) <= columns {
			lines[n-1] += " " + w
			continue
		}
		lines = append(lines, w)
	}
	return lines
}

// minutes is a duration in a table: "4 min 05 s".
func minutes(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	if s < 3600 {
		return fmt.Sprintf("%d min %02d s", s/60, s%60)
	}
	return fmt.Sprintf("%d h %02d min", s/3600, s%3600/60)
}

// tellMore prints how a run is given more time, if that would decide more of its claims.
func tellMore(w io.Writer, h *record.Header) error {
	for _, u := range h.Undecided {
		if u.Takes > 0 {
			_, err := fmt.Fprintf(w, "\n`interleave run --resume=%s --for 1h` spends an hour more "+
				"on these\n", h.ID)
			return err
		}
	}
	return nil
}

// tellOpen prints undecided claims: first those that time does not help, by their reason, then the
// others with what each would take.
func tellOpen(w io.Writer, list []record.Undecided) error {
	var open []record.Undecided
	var reasons []string
	why := map[string][]string{}
	for _, u := range list {
		switch {
		case u.Takes > 0:
			open = append(open, u)
		case why[u.Reason] == nil:
			reasons = append(reasons, u.Reason)
			fallthrough
		default:
			why[u.Reason] = append(why[u.Reason], name(u, list))
		}
	}
	for _, r := range reasons {
		words := append(strings.Fields(strings.Join(why[r], ", ")+":"), strings.Fields(r)...)
		fmt.Fprintln(w, strings.Join(wrap(words, 96), "\n  "))
	}
	if len(open) == 0 {
		return nil
	}
	slices.SortStableFunc(open, func(a, b record.Undecided) int {
		return cmp.Compare(a.Takes, b.Takes)
	})
	var words []string
	for _, u := range open {
		words = append(words, fmt.Sprintf("%s (%s)", name(u, list), roughly(u.Takes)))
	}
	_, err := fmt.Fprintf(w, "not enough time for %s; each alone would take about:\n  %s\n",
		quantity.Many(len(open), "claim"), strings.Join(wrap(words, 96), "\n  "))
	return err
}

// name is a claim's, with its experiment if another one of the list has the same.
func name(u record.Undecided, list []record.Undecided) string {
	if slices.ContainsFunc(list, func(o record.Undecided) bool {
		return o.Claim == u.Claim && o.Experiment != u.Experiment
	}) {
		return u.Claim + " of " + u.Experiment
	}
	return u.Claim
}

// roughly is a rough duration: "25 min".
func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "1 min"
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int((d + 30*time.Second).Minutes()))
	}
	return fmt.Sprintf("%d h", int((d + 30*time.Minute).Hours()))
}
