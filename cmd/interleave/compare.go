package main

// Comparisons with figures that are committed, or lie in a file: of those there is no record.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"interleave/internal/findings"
	"interleave/internal/report"
)

// isFindings says whether a word names figures in place of a run: those of the checkout, or a file.
func isFindings(word string) bool {
	return isCommitted(word) || strings.HasSuffix(word, ".json")
}

// isCommitted says whether a word names the findings of this checkout: "findings", or
// "findings:NAME" for those of one machine.
func isCommitted(word string) bool {
	return word == committed || strings.HasPrefix(word, committed+":")
}

// compareFindings holds two machines against each other, of which one has only its figures here.
func (l *laboratory) compareFindings(w io.Writer, args []string, asJSON bool) error {
	var both [2]*findings.Figures
	var names [2]string
	note := ""
	for i, word := range args {
		if isCommitted(word) {
			continue
		}
		f, err := l.side(word)
		if err != nil {
			return err
		}
		both[i], names[i] = f, f.Run
		if isFindings(word) {
			names[i] = word + " (" + f.Run + ")"
		}
	}
	runs := both // without the findings of this checkout
	for i, word := range args {
		if !isCommitted(word) {
			continue
		}
		o, choice, err := l.committedMachine(word, runs[1-i])
		if err != nil {
			return err
		}
		both[i], note = o.Figures, choice
		names[i] = fmt.Sprintf("findings (%s on %s)", o.Run, findings.NameOf(o.Machine))
	}
	c := findings.Compare(both[0], both[1])
	c.A, c.B, c.Note = names[0], names[1], note
	if asJSON {
		return c.JSON(w)
	}
	width, _ := terminal(w)
	return c.Text(w, width)
}

// committedMachine picks a machine of the checkout's findings: that of the word, or the nearest to
// the other side of a comparison. The note says so where there are several.
func (l *laboratory) committedMachine(word string, other *findings.Figures) (o findings.Other,
	note string, err error) {
	root, err := l.root()
	if err != nil {
		return o, "", err
	}
	set, err := findings.ReadSet(findingsDir(root))
	if errors.Is(err, findings.ErrNone) {
		err = &failure{exitUsage, err}
	}
	if err != nil {
		return o, "", err
	}
	name, isNamed := strings.CutPrefix(word, committed+":")
	switch {
	case isNamed:
		if o, err = set.Named(name); err != nil {
			err = &failure{exitUsage, err}
		}
		return o, "", err
	case other == nil: // the other side are findings of this checkout, too
		return set.All()[0], "", nil
	}
	o = set.Nearest(other.Machine)
	return o, nearestNote(set, o), nil
}

// nearestNote says which machines there are to compare with; empty for one.
func nearestNote(set *findings.Set, chosen findings.Other) string {
	if len(set.Others) == 0 {
		return ""
	}
	var names []string
	for _, o := range set.All() {
		names = append(names, fmt.Sprintf("%s (%s)", o.Name, findings.NameOf(o.Machine)))
	}
	return fmt.Sprintf("The findings are of %d machines: %s. Compared with the nearest, %s; "+
		"%s:NAME compares with another one.", len(names), strings.Join(names, ", "), chosen.Name,
		committed)
}

// side reads the figures of one side of a comparison: a run, or a file of figures.
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
	if _, err := os.Stat(word); err != nil {
		return nil, &failure{exitUsage, err}
	}
	return findings.Read(word)
}
