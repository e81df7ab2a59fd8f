package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"interleave/internal/findings"
	"interleave/internal/report"
)

// committed is the word for the findings of this checkout, where a run is asked for.
const committed = "findings"

func findingsCommand(lab *laboratory) *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use:   "findings [RUN...]",
		Short: "write docs/findings: a page for each source, from runs and from what people wrote",
		Long: `Findings writes a page over all claims and one for each source, with every verdict, its figures
and its cause, and the figures that they show (figures.json), which "interleave compare last
findings" holds your own run against. The paragraphs on causes are in the folder's why/, and no
command changes them. Several runs count as one, if they are of the same machine and of the same
servers. Without a RUN the pages are written again from figures.json: do so after a change of a
paragraph.`,
		Example: `  interleave findings last
  interleave findings 20260101 20260102
  interleave findings                      after a change in docs/findings/why
  interleave findings last --out /tmp/pages`,
		ValidArgsFunction: lab.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return lab.writeFindings(cmd.OutOrStdout(), folder, args)
		},
	}
	cmd.Flags().StringVarP(&folder, "out", "o", "",
		"the folder of the pages (default: docs/findings of the checkout)")
	return cmd
}

func (l *laboratory) writeFindings(stdout io.Writer, folder string, args []string) error {
	root, err := l.root()
	if err != nil {
		return err
	}
	home := findingsDir(root)
	if folder == "" {
		folder = home
	}
	f, err := l.figures(home, args)
	if err != nil {
		return err
	}
	whys, err := findings.ReadWhys(home, f)
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
	pages, err := findings.Pages(f, whys, summary, base)
	if err != nil {
		return &failure{exitUsage, err}
	}
	if err := findings.Write(folder, pages); err != nil {
		return err
	}
	for _, text := range findings.Warnings(f, whys, summary) {
		fmt.Fprintln(stdout, "warning:", text)
	}
	_, err = fmt.Fprintf(stdout, "findings: %s\n", filepath.Join(folder, "README.md"))
	return err
}

// figures are those of the runs, or those that the checkout has.
func (l *laboratory) figures(home string, args []string) (*findings.Figures, error) {
	if len(args) == 0 {
		f, err := findings.Read(home)
		if errors.Is(err, findings.ErrNone) {
			err = &failure{exitUsage, err}
		}
		return f, err
	}
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
	return findings.Of(run, tree), nil
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

// isFindings says whether a word names figures in place of a run: those of the checkout, or a file.
func isFindings(word string) bool {
	return word == committed || strings.HasSuffix(word, ".json")
}

// compareFindings holds two machines against each other, of which one has only its figures here.
func (l *laboratory) compareFindings(w io.Writer, args []string, asJSON bool) error {
	var both [2]*findings.Figures
	for i, word := range args {
		var err error
		if both[i], err = l.side(word); err != nil {
			return err
		}
	}
	c := findings.Compare(both[0], both[1])
	for i, name := range []*string{&c.A, &c.B} {
		if isFindings(args[i]) {
			*name = args[i] + " (" + *name + ")"
		}
	}
	if asJSON {
		return c.JSON(w)
	}
	width, _ := terminal(w)
	return c.Text(w, width)
}

// side reads the figures of one side of a comparison.
func (l *laboratory) side(word string) (*findings.Figures, error) {
	if !isFindings(word) {
		dir, err := l.find(word)
		if err != nil {
			return nil, err
		}
		var run report.Run
		if run, err = openRun(dir); err != nil {
			return nil, err
		}
		tree, err := l.tree()
		if err != nil {
			tree = nil // outside of a checkout, the run's own experiments are all
		}
		return findings.Of(run, tree), nil
	}
	path := word
	if word == committed {
		root, err := l.root()
		if err != nil {
			return nil, err
		}
		path = filepath.Join(findingsDir(root), findings.File)
	} else if _, err := os.Stat(path); err != nil {
		return nil, &failure{exitUsage, err}
	}
	f, err := findings.Read(path)
	if errors.Is(err, findings.ErrNone) {
		err = &failure{exitUsage, err}
	}
	return f, err
}
