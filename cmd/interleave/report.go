package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/report"
	"interleave/internal/run"
)

func reportCommand(lab *laboratory) *cobra.Command {
	var format, file string
	cmd := &cobra.Command{
		Use:   "report RUN...",
		Short: "show a recorded run: terminal, HTML, Markdown, benchstat, JSON",
		Long: `Report reads a run's record and shows it. RUN is an ID, the beginning of one, a folder, or "last".
The figures come from the run's own copy of manifests and sources, so an old record shows its
own versions. Several runs are shown as one, if they are of the same machine and of the same servers.`,
		Example: `  interleave report last                       tables in the terminal, and a new page
  interleave report last --format=markdown     to paste elsewhere
  interleave report 20260101 --format=benchstat > old.txt
  interleave report 20260101 20260102          two runs of one machine as one
  interleave report last --format=html --output=page.html`,
		Args:              someRuns,
		ValidArgsFunction: lab.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			dirs, err := lab.findAll(args)
			if err != nil {
				return err
			}
			return showReport(cmd.OutOrStdout(), dirs, format, file)
		},
	}
	cmd.Flags().StringVar(&format, "format", "terminal",
		"terminal, html, markdown, benchstat or json")
	cmd.Flags().StringVarP(&file, "output", "o", "",
		"write to this file instead of standard output")
	must(cmd.RegisterFlagCompletionFunc("format",
		cobra.FixedCompletions([]string{"terminal", "html", "markdown", "benchstat", "json"},
			cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

// someRuns asks for at least one run.
func someRuns(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage("report takes a run, as in: interleave report last")
	}
	return nil
}

func must(err error) {
	if err != nil {
		panic(err) // a flag that was just defined is missing: a mistake in this program
	}
}

func showReport(stdout io.Writer, dirs []string, format, file string) error {
	r, err := openRuns(dirs)
	if err != nil {
		return err
	}
	width, _ := terminal(stdout)
	write := map[string]func(io.Writer) error{
		"terminal": func(w io.Writer) error {
			return report.Terminal(w, r, width, file == "" && colour(stdout))
		},
		"html":      func(w io.Writer) error { return report.HTML(w, r) },
		"markdown":  func(w io.Writer) error { return report.Markdown(w, r) },
		"benchstat": func(w io.Writer) error { return report.Benchstat(w, r) },
		"json":      func(w io.Writer) error { return report.JSON(w, r) },
	}[format]
	if write == nil {
		return usage("--format=%s: expected terminal, html, markdown, benchstat or json", format)
	}
	if file != "" {
		return toFile(file, write)
	}
	if err := write(stdout); err != nil {
		return err
	}
	if format != "terminal" {
		return nil
	}
	page := "report.html"
	if len(dirs) > 1 {
		page = "report-merged.html"
	}
	path := filepath.Join(dirs[0], page)
	if err := toFile(path, func(w io.Writer) error { return report.HTML(w, r) }); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "\nreport: %s\n", path)
	return err
}

// openRun reads a record and the manifests that lie beside it.
func openRun(dir string) (report.Run, error) {
	r, err := record.Read(dir)
	if err != nil {
		return report.Run{}, err
	}
	return withTree(r, dir)
}

// openRuns reads several runs as one.
func openRuns(dirs []string) (report.Run, error) {
	if len(dirs) == 1 {
		return openRun(dirs[0])
	}
	var all []*record.Run
	for _, dir := range dirs {
		r, err := record.Read(dir)
		if err != nil {
			return report.Run{}, err
		}
		all = append(all, r)
	}
	merged, err := record.Merge(all)
	if err != nil {
		return report.Run{}, &failure{exitUsage, err}
	}
	out, err := withTree(merged, dirs[0])
	for _, dir := range dirs[1:] {
		if err != nil {
			break
		}
		var other report.Run
		if other, err = openRun(dir); err != nil {
			break
		}
		for _, e := range other.Tree.Experiments { // that only this run measured
			if out.Tree.Experiment(e.Name) == nil {
				out.Tree.Experiments = append(out.Tree.Experiments, e)
			}
		}
	}
	return out, err
}

// withTree adds to a record the manifests that lie in a run's directory.
func withTree(r *record.Run, dir string) (report.Run, error) {
	tree, err := manifest.LoadTree(filepath.Join(dir, record.TreeDir))
	if err != nil {
		return report.Run{}, fmt.Errorf("read the run's own manifests: %w", err)
	}
	run.AddOwn(tree, r.Header.Own)
	run.OnStacks(tree, tree.Experiments, r.Header.Stacks)
	// A run lies in out/runs of its checkout.
	return report.Run{Header: r.Header, Cells: r.Cells, Tree: tree,
		Checkout: filepath.Join(dir, "..", "..", "..")}, nil
}

// find finds a run's directory from a person's words.
func (l *laboratory) find(name string) (string, error) {
	root, err := l.root()
	if err != nil {
		root = "." // a record can be looked at outside of any checkout
	}
	dir, err := record.Find(runs(root), name)
	if err != nil {
		return "", &failure{exitUsage, err}
	}
	return dir, nil
}

// findAll finds the directories of several runs.
func (l *laboratory) findAll(names []string) (dirs []string, err error) {
	for _, name := range names {
		dir, err := l.find(name)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// completeRuns offers recorded runs to the shell.
func (l *laboratory) completeRuns(_ *cobra.Command, _ []string,
	prefix string) ([]string, cobra.ShellCompDirective) {
	root, err := l.root()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	ids, err := record.List(runs(root))
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return matching(append(ids, "last"), prefix), cobra.ShellCompDirectiveDefault
}

func compareCommand(lab *laboratory) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "compare RUN RUN",
		Short: "the changes between two runs, or between a run and the findings of this checkout",
		Long: `Compare sets two runs side by side: verdicts that changed first, then for each cell that both have
the ratio of the second to the first with its interval. The rounds of two runs are not paired, so
intervals are wider than within one run; where the machines differ it says so.

In place of a run, "findings" names the figures in docs/findings, and a path that ends with .json
a file of such figures: of these, verdicts are compared, and each model's ratio to the baseline.
Agree: both machines decide alike. Differ: both decide, and not alike. Of several machines in
docs/findings the one that is most like the other side is taken; "findings:NAME" names one, and
"findings:first" that of figures.json.`,
		Example: `  interleave compare 20260101T120000Z last
  interleave compare before after --json
  interleave compare last findings          this machine beside the published one
  interleave compare last findings:xeon     beside another one of those in docs/findings`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string,
			prefix string) ([]string, cobra.ShellCompDirective) {
			words, directive := lab.completeRuns(cmd, args, prefix)
			return append(words, matching([]string{committed}, prefix)...), directive
		},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("compare takes two runs, as in: interleave compare " +
					"20260101T120000Z last")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if isFindings(args[0]) || isFindings(args[1]) {
				return lab.compareFindings(cmd.OutOrStdout(), args, asJSON)
			}
			dirs, err := lab.findAll(args)
			if err != nil {
				return err
			}
			var both [2]report.Run
			for i, dir := range dirs {
				if both[i], err = openRun(dir); err != nil {
					return err
				}
			}
			if asJSON {
				return report.CompareJSON(cmd.OutOrStdout(), both[0], both[1])
			}
			width, _ := terminal(cmd.OutOrStdout())
			return report.Compare(cmd.OutOrStdout(), both[0], both[1], width,
				colour(cmd.OutOrStdout()))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "for scripts")
	return cmd
}
