package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/probe/toolchain"
	"interleave/internal/run"
	"interleave/internal/stats"
)

// duetFlags are those of `interleave calibrate --duets`.
type duetFlags struct {
	asked  bool
	runs   int
	beside []int
	model  string
}

// The bounds of a comparison of cells and duets.
const (
	mostTrials = 1000
	mostBeside = 64
)

func (f *duetFlags) check() error {
	switch {
	case f.runs < 1 || f.runs > mostTrials:
		return usage("--runs=%d: want 1 to %d", f.runs, mostTrials)
	case len(f.beside) == 0:
		return usage("--beside names no number of busy loops")
	}
	for _, n := range f.beside {
		if n < 0 || n > mostBeside {
			return usage("--beside=%d: want 0 to %d busy loops", n, mostBeside)
		}
	}
	return nil
}

// A trialRow is the trials of one kind beside as many busy loops.
type trialRow struct {
	beside int
	duets  bool
	trials []*run.Trial
}

func (r *trialRow) kind() string {
	if r.duets {
		return "duets"
	}
	return "cells"
}

// compareDuets measures a model against itself, in cells and in duets by turns.
func (f *duetFlags) compareDuets(ctx context.Context, lab *laboratory,
	w, progress io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	tree, err := lab.tree()
	if err != nil {
		return err
	}
	found, err := models(tree, []string{f.model})
	if err != nil {
		return err
	}
	if len(found) != 1 || found[0].Service != "echo" {
		return usage("--model=%s: want one model of the service echo, such as echo/c-epoll",
			f.model)
	}
	built, err := toolchain.Build(ctx, found[0], toolchain.BuildOptions{OutRoot: out(tree.Root)})
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	itself := run.NewItself(exe, built)
	var rows []*trialRow
	for _, n := range f.beside {
		cells, duets := &trialRow{beside: n}, &trialRow{beside: n, duets: true}
		rows = append(rows, cells, duets)
		err := f.try(ctx, itself, progress, cells, duets)
		if err != nil && len(cells.trials) == 0 {
			return err
		}
		if err != nil {
			return errors.Join(err, printTrials(w, rows))
		}
	}
	return printTrials(w, rows)
}

// try makes the trials beside one number of busy loops.
func (f *duetFlags) try(ctx context.Context, itself *run.Itself, progress io.Writer,
	rows ...*trialRow) (err error) {
	stop, err := run.Beside(rows[0].beside)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	for i := range f.runs {
		for _, r := range rows {
			began := time.Now()
			t, err := itself.Try(ctx, r.duets, uint64(i+1))
			if ctx.Err() != nil {
				return fmt.Errorf("stopped after %d of %d runs", i, f.runs)
			}
			if err != nil {
				return err
			}
			r.trials = append(r.trials, t)
			fmt.Fprintf(progress, "beside %d, %s, run %d of %d: %s, %d of %d cells void, %.0f s\n",
				r.beside, r.kind(), i+1, f.runs, ratioWords(t.All[manifest.Throughput]), t.Void,
				t.Cells, time.Since(began).Seconds())
		}
	}
	return nil
}

func ratioWords(iv stats.Interval) string {
	return fmt.Sprintf("%.3f (%.3f-%.3f)", iv.Estimate, iv.Lower, iv.Upper)
}

// printTrials is the table of a comparison.
func printTrials(w io.Writer, rows []*trialRow) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "busy loops\tas\tfigure\tcells void\twidth, of cells that count\t"+
		"width, of all\tholds 1")
	for _, r := range rows {
		if len(r.trials) == 0 {
			continue
		}
		void, cells := 0, 0
		for _, trial := range r.trials {
			void, cells = void+trial.Void, cells+trial.Cells
		}
		for _, m := range run.ItselfMetrics {
			var counted, all []float64
			holds := 0
			for _, trial := range r.trials {
				counted = append(counted, width(trial.Counted[m]))
				all = append(all, width(trial.All[m]))
				if trial.All[m].Contains(1) {
					holds++
				}
			}
			fmt.Fprintf(t, "%d\t%s\t%s\t%d of %d\t%s\t%s\t%d of %d\n", r.beside, r.kind(), m, void,
				cells, widthWords(counted), widthWords(all), holds, len(r.trials))
		}
	}
	return t.Flush()
}

// width is by what part the upper end of an interval is above the lower one. It is infinite where
// too few rounds count.
func width(iv stats.Interval) float64 {
	if iv.Short() {
		return math.Inf(1)
	}
	return iv.Upper/iv.Lower - 1
}

// widthWords is the median of widths.
func widthWords(widths []float64) string {
	slices.Sort(widths)
	if m := widths[len(widths)/2]; !math.IsInf(m, 1) {
		return fmt.Sprintf("%.2f %%", 100*m)
	}
	return "none"
}
