package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"interleave/internal/findings"
	"interleave/internal/manifest"
	"interleave/internal/record"
)

// committed is the word for the findings of this checkout, where a run is asked for.
const committed = "findings"

func findingsCommand(lab *laboratory) *cobra.Command {
	var o findingsOptions
	cmd := &cobra.Command{
		Use:   "findings [RUN...]",
		Short: "write docs/findings: a page for each source, from runs and from what people wrote",
		Long: `Findings writes a page over all claims and one for each source, with every verdict, its figures
and its cause, and the figures that they show (figures.json), which "interleave compare last
findings" holds your own run against. The paragraphs on causes are in the folder's why/, and no
command changes them. Several runs count as one, if they are of the same machine and of the same
servers. Without a RUN the pages are written again from the figures: do so after a change of a
paragraph.

A run of another machine than that of figures.json is written with --as NAME: its figures go into
machines/NAME.json, and the pages say at each claim what that machine says of it.

With --choices only the answers to "which model should I take?" come from the runs, for the services
of which they tell more models apart. Such a run may have other windows than that of the claims, and
another machine.`,
		Example: `  interleave findings last
  interleave findings 20260101 20260102
  interleave findings --as xeon last       of a second machine, beside the first
  interleave findings --choices last       more models of a service, from a run of its own
  interleave findings                      after a change in docs/findings/why
  interleave findings last --out /tmp/pages`,
		ValidArgsFunction: lab.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			as := cmd.Flags().Changed("as")
			switch {
			case o.choices && (as || len(args) == 0):
				return usage("--choices takes a run and no --as, as in: " +
					"interleave findings --choices last")
			case as && len(args) == 0:
				return usage("--as takes a run, as in: interleave findings --as %s last", o.name)
			case as:
				if err := findings.CheckName(o.name); err != nil {
					return usage("--as: %w", err)
				}
			}
			return lab.writeFindings(cmd.OutOrStdout(), o, args)
		},
	}
	cmd.Flags().StringVarP(&o.folder, "out", "o", "",
		"the folder of the pages (default: docs/findings of the checkout)")
	cmd.Flags().StringVar(&o.name, "as", "",
		"the run is of another machine, which gets this name, beside the first one")
	cmd.Flags().BoolVar(&o.choices, "choices", false,
		"take only the answers to which model to take from the run")
	return cmd
}

// findingsOptions say what the figures of the runs are for.
type findingsOptions struct {
	folder  string // of the pages; empty for the checkout's
	name    string // of the runs' machine; empty for the first one
	choices bool   // only the answers to which model to take
}

// writeFindings writes the pages of all machines.
func (l *laboratory) writeFindings(stdout io.Writer, o findingsOptions, args []string) error {
	root, err := l.root()
	if err != nil {
		return err
	}
	home := findingsDir(root)
	if o.folder == "" {
		o.folder = home
	}
	folder, name := o.folder, o.name
	set, err := l.machines(stdout, home, o, args)
	if errors.Is(err, findings.ErrNone) {
		err = &failure{exitUsage, err}
	}
	if err != nil {
		return err
	}
	whys, err := findings.ReadWhys(home, set.Figures)
	if err != nil {
		return &failure{exitUsage, err}
	}
	summary, err := findings.ReadSummary(home)
	if err != nil {
		return err
	}
	base, err := way(folder, root)
	if err != nil {
		return err
	}
	pages, err := findings.Pages(set, whys, summary, base)
	if err != nil {
		return &failure{exitUsage, err}
	}
	if err := findings.Write(folder, pages); err != nil {
		return err
	}
	for _, text := range findings.Warnings(set, whys, summary) {
		fmt.Fprintln(stdout, "warning:", text)
	}
	if name != "" {
		fmt.Fprintf(stdout, "%s: %s: %s\n", name,
			filepath.Join(folder, filepath.FromSlash(findings.FileOf(name))), set.Stands(name))
	}
	_, err = fmt.Fprintf(stdout, "findings: %s\n", filepath.Join(folder, "README.md"))
	return err
}

// machines are the figures for the pages of a folder: those that the checkout has, with those of
// the runs in their place.
func (l *laboratory) machines(stdout io.Writer, home string, o findingsOptions,
	args []string) (*findings.Set, error) {
	folder, name := o.folder, o.name
	var set *findings.Set
	var err error
	if len(args) == 0 {
		set, err = findings.ReadSet(home)
	} else {
		set, err = l.measured(stdout, home, o, args)
	}
	if err != nil {
		return nil, err
	}
	if name != "" {
		other, err := set.Named(name)
		if err != nil {
			return nil, err
		}
		for _, dir := range []string{home, folder} {
			if err := replaces(dir, name, other.Machine); err != nil {
				return nil, err
			}
		}
	}
	return set, replaces(folder, findings.First, set.Machine)
}

// measured are the figures of all machines, with those of some runs as the first machine's or, with
// a name, as another one's.
func (l *laboratory) measured(stdout io.Writer, home string, o findingsOptions,
	args []string) (*findings.Set, error) {
	dirs, err := l.findAll(args)
	if err != nil {
		return nil, err
	}
	run, err := openRuns(dirs)
	if err != nil {
		return nil, err
	}
	tree, err := l.tree()
	if err != nil {
		return nil, err
	}
	f := findings.Of(run, tree)
	if f.Empty() {
		return nil, usage("%s has no cell: nothing was measured in it", f.Run)
	}
	switch {
	case o.choices:
		return chosenFrom(stdout, home, f)
	case o.name == "":
		return firstMachine(home, o.folder, f)
	}
	return besideFirst(stdout, home, o.name, f, tree)
}

// chosenFrom is the set of the checkout, with the runs' answers to which model to take where those
// tell more.
func chosenFrom(stdout io.Writer, home string, f *findings.Figures) (*findings.Set, error) {
	first, err := findings.Read(home)
	if err != nil {
		return nil, err
	}
	others, err := findings.ReadOthers(home, "")
	if err != nil {
		return nil, err
	}
	taken := first.Choose(f)
	if len(taken) == 0 {
		return nil, usage("%s tells no more models of any service apart than is known", f.Run)
	}
	fmt.Fprintf(stdout, "which model to take, from %s: %s\n", f.Run, strings.Join(taken, ", "))
	return onceEach(findings.Together(first, others...))
}

// firstMachine has the runs' figures in the place of the first machine's. Pages of another machine
// that are written elsewhere, as a look, are of that one alone.
func firstMachine(home, folder string, f *findings.Figures) (*findings.Set, error) {
	if err := replaces(folder, findings.First, f.Machine); err != nil {
		return nil, err
	}
	if !samePath(home, folder) && isAnother(home, f.Machine) {
		return findings.Together(f), nil
	}
	others, err := findings.ReadOthers(home, "")
	if err != nil {
		return nil, err
	}
	if earlier, err := findings.Read(home); err == nil {
		f.KeepChosen(earlier)
	}
	return onceEach(findings.Together(f, others...))
}

// besideFirst has the runs' figures as those of another machine.
func besideFirst(stdout io.Writer, home, name string, f *findings.Figures,
	tree *manifest.Tree) (*findings.Set, error) {
	first, err := findings.Read(home)
	if err != nil {
		return nil, err
	}
	if first.Machine.Same(f.Machine) == "" {
		return nil, usage("%s is a run of the first machine, %s, whose findings %s has: write it "+
			"without --as", f.Run, findings.NameOf(f.Machine), filepath.Join(home, findings.File))
	}
	others, err := findings.ReadOthers(home, name)
	if err != nil {
		return nil, err
	}
	kept, left := f.Beside(first, tree)
	if len(left) > 0 {
		fmt.Fprintf(stdout, "warning: left out, for this checkout does not have them: %s\n",
			strings.Join(left, ", "))
	}
	if len(kept.Tables) == 0 {
		return nil, usage("%s has measured no experiment of this checkout", f.Run)
	}
	return onceEach(findings.Together(first,
		append(others, findings.Other{Name: name, Figures: kept})...))
}

// onceEach refuses a set with two files of one machine.
func onceEach(set *findings.Set) (*findings.Set, error) {
	if err := set.Check(); err != nil {
		return nil, &failure{exitUsage, err}
	}
	return set, nil
}

// isAnother says whether a machine is not the first one of the findings in a folder.
func isAnother(folder string, m record.Machine) bool {
	return replaces(folder, findings.First, m) != nil
}

// replaces says why the figures of a machine must not be written into a folder under a name: there
// are those of another machine.
func replaces(folder, name string, m record.Machine) error {
	file := filepath.Join(folder, filepath.FromSlash(findings.FileOf(name)))
	owner, err := findings.Owner(file)
	if err != nil {
		return &failure{exitUsage, err}
	}
	if owner == nil {
		return nil
	}
	why := owner.Same(m)
	switch {
	case why == "":
		return nil
	case name == findings.First:
		return usage("%s has the findings of another machine, %s; these are of %s (%s): "+
			"`interleave findings --as NAME RUN` writes them beside the first machine's, and "+
			"--out FOLDER pages of this machine alone", file, findings.NameOf(*owner),
			findings.NameOf(m), why)
	}
	return usage("%s has the findings of another machine, %s; these are of %s (%s): choose "+
		"another name", file, findings.NameOf(*owner), findings.NameOf(m), why)
}

// samePath says whether two paths name one folder, as far as their words tell.
func samePath(a, b string) bool {
	x, err := filepath.Abs(a)
	y, otherErr := filepath.Abs(b)
	return errors.Join(err, otherErr) == nil && x == y
}

// findingsDir is the folder of the committed pages.
func findingsDir(root string) string { return filepath.Join(root, "docs", "findings") }

// way leads from a folder, which need not be there yet, to the checkout, as a link does.
func way(folder, root string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	path, err := filepath.Rel(folder, root)
	return filepath.ToSlash(path), err
}
