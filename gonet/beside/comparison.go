package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// A comparison has loads that run on GoNet, and on the peer, in turn.
type comparison struct {
	name  string
	peer  string // the other stack
	title string
	rows  []row
	loads []load
	once  bool // the figures are the same in each round
}

// A row is a figure of the table, and what GoNet is to reach.
type row struct {
	name        string
	least, most float64 // of GoNet's figure over the peer's; 0: no bound
	limit       float64 // of GoNet's figure; 0: none
}

// A load is measured in cells, each in a process of its own.
type load struct {
	name    string
	measure func(context.Context, cell) (figures, error)
}

// A cell is one load on one stack.
type cell struct {
	comparison, load, stack string
	lasts                   time.Duration
	folder                  string // of the programs that build has built
	pid                     int    // of the program that is measured, if it is another one
}

// figures are the results of a cell, by the names of rows.
type figures map[string]float64

// results has the figures of each row in the order of the rounds: GoNet's, and the peer's.
type results map[string]*[2][]float64

// take adds the figures of a cell.
func (r results) take(side int, f figures) {
	for name, value := range f {
		if r[name] == nil {
			r[name] = &[2][]float64{}
		}
		r[name][side] = append(r[name][side], value)
	}
}

// run runs the loads in rounds, in which the two stacks take turns at being the first, and prints
// the table.
func (c *comparison) run(ctx context.Context, rounds int, out io.Writer,
	measure func(context.Context, cell) (figures, error), lasts time.Duration) error {
	if c.once {
		rounds = 1
	}
	all := results{}
	for round := range rounds {
		for _, l := range c.loads {
			for turn := range 2 {
				side := (round + turn) % 2
				stack := [2]string{"gonet", c.peer}[side]
				f, err := measure(ctx, cell{comparison: c.name, load: l.name, stack: stack,
					lasts: lasts})
				if err != nil {
					return fmt.Errorf("%s, %s on %s: %w", c.name, l.name, stack, err)
				}
				all.take(side, f)
			}
		}
	}
	return c.print(out, all, rounds)
}

// print prints a table in Markdown: medians, and the median of the ratios of each round, with the
// least and the most of these.
func (c *comparison) print(out io.Writer, all results, rounds int) error {
	text := fmt.Appendf(nil, "\n%s: %s (%d rounds)\n\n| | gonet | %s | ratio | reach |\n"+
		"|---|---|---|---|---|\n", c.name, c.title, rounds, c.peer)
	for _, r := range c.rows {
		values := all[r.name]
		if values == nil || len(values[0]) != rounds || len(values[1]) != rounds {
			return fmt.Errorf("%s: no figures of %s", c.name, r.name)
		}
		ratios := make([]float64, rounds)
		for i := range ratios {
			ratios[i] = values[0][i] / values[1][i]
		}
		ours, ratio := median(values[0]), median(ratios)
		between := ""
		if rounds > 1 {
			between = fmt.Sprintf(" (%s to %s)", short(slices.Min(ratios)),
				short(slices.Max(ratios)))
		}
		text = fmt.Appendf(text, "| %s | %s | %s | %s%s | %s |\n", r.name, short(ours),
			short(median(values[1])), short(ratio), between, r.reach(ours, ratio))
	}
	_, err := out.Write(text)
	return err
}

// reach says what is to be reached, and whether it is.
func (r *row) reach(ours, ratio float64) string {
	word := func(met bool) string {
		if met {
			return "met"
		}
		return "missed"
	}
	switch {
	case r.least > 0:
		return fmt.Sprintf(">= %s: %s", short(r.least), word(ratio >= r.least))
	case r.most > 0:
		return fmt.Sprintf("<= %s: %s", short(r.most), word(ratio <= r.most))
	case r.limit > 0:
		return fmt.Sprintf("own <= %s: %s", short(r.limit), word(ours <= r.limit))
	}
	return ""
}

// median returns the middle of the values, or the mean of the two that are there.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// short writes a number with two digits that count, or all that are before the point.
func short(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "-"
	}
	digits := 0
	if x != 0 {
		digits = max(0, 1-int(math.Floor(math.Log10(math.Abs(x)))))
	}
	return fmt.Sprintf("%.*f", digits, x)
}
