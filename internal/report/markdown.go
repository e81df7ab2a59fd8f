package report

// The run as Markdown that can be pasted into an issue: the verdicts as a table, the
// figures folded.

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/record"
)

// Markdown writes the run for an issue or a wiki.
func Markdown(w io.Writer, run Run) error {
	s := examine(run)
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "## Interleave: run %s\n\n%s\n", run.Header.ID,
		plainSpaces(strings.Join(s.abstract(), " ")))
	groups := s.bySource()
	markdownAnswers(b, groups)
	for _, e := range s.experiments {
		fmt.Fprintf(b, "\n### %s\n\n`%s`, %s\n", e.title(), e.Name, e.Source)
		if len(e.verdicts) > 0 {
			fmt.Fprintf(b, "\n| | claim | here |\n|---|---|---|\n")
		}
		for _, v := range e.verdicts {
			fmt.Fprintf(b, "| %s&nbsp;%s | **%s** %s | %s |\n", signs[v.Word].sign,
				strings.ReplaceAll(string(v.Word), " ", "&nbsp;"),
				s.name(v), cell(v.Claim.Sentence), cell(v.Sentence))
		}
		if t := e.matrix(); t != nil {
			t.markdown(b)
		}
		for _, c := range e.conditions {
			s.markdownTables(b, e, c)
		}
	}
	markdownOpen(b, groups)
	s.markdownLosses(b)
	if command := command(run.Header.Command); command != "" {
		fmt.Fprintf(b, "\nReproduce with `%s` (seed %d).\n", command, run.Header.Seed)
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("writing the Markdown: %w", err)
	}
	return nil
}

// markdownAnswers writes a table of the decided claims of each source.
func markdownAnswers(b *bufio.Writer, groups []answerGroup) {
	for _, g := range groups {
		if g.Decided == 0 {
			continue
		}
		fmt.Fprintf(b, "\n### %s: %d of %d decided\n", g.Source, g.Decided, g.All)
		fmt.Fprint(b, "\n| | claim | here (95 %) | claimed |\n|---|---|--:|--:|\n")
		for _, w := range g.Words {
			for _, a := range w.Rows {
				fmt.Fprintf(b, "| %s&nbsp;%s | **%s** %s | %s | %s |\n", signs[a.Word].sign,
					strings.ReplaceAll(string(a.Word), " ", "&nbsp;"), a.Name,
					cell(a.Claim.Sentence), cell(a.Here), cell(a.Claimed))
			}
		}
	}
}

// markdownOpen lists the claims that are not decided, each with what it would take.
func markdownOpen(b *bufio.Writer, groups []answerGroup) {
	first := true
	for _, g := range groups {
		for _, a := range g.Open {
			if first {
				fmt.Fprint(b, "\n### Not decided, and what it would take\n\n")
				first = false
			}
			fmt.Fprintf(b, "- %s **%s** (%s): %s\n", signs[a.Word].sign, a.Name, a.Word,
				cell(a.Takes))
		}
	}
}

// cell keeps a text within its column of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(plainSpaces(text))
}

func (s *study) markdownTables(b *bufio.Writer, e *experiment, c manifest.Condition) {
	var tables []table
	for _, m := range e.metrics() {
		rows := e.rows(c, m)
		if m.Rate() {
			rows = slices.DeleteFunc(slices.Clone(rows), e.offered)
		}
		sweep, single := split(rows)
		if len(sweep) > 0 {
			tables = append(tables, sweepTable(sweep, m))
		}
		for _, rows := range byPoint(single) {
			t := stripTable(ranked(rows, manifest.Metrics[m].MoreIsBetter), m, e.Baseline)
			t.Caption = fmt.Sprintf("At %q. %s", rows[0].Point, t.Caption)
			tables = append(tables, t)
		}
	}
	for _, d := range s.ofStreams(e, c) {
		d.Table.Caption = d.Caption
		tables = append(tables, d.Table)
	}
	if len(tables) == 0 {
		return
	}
	fmt.Fprintf(b, "\n<details><summary>Measured, %s</summary>\n", s.cores(c))
	for _, t := range tables {
		t.markdown(b)
	}
	fmt.Fprintf(b, "\n</details>\n")
}

func (t table) markdown(b *bufio.Writer) {
	fmt.Fprintf(b, "\n%s\n\n|", cell(t.Caption))
	for _, h := range t.Head {
		fmt.Fprintf(b, " %s |", cell(h))
	}
	fmt.Fprint(b, "\n|---|", strings.Repeat("--:|", len(t.Head)-1), "\n")
	for _, row := range t.Rows {
		fmt.Fprint(b, "|")
		for _, text := range row {
			fmt.Fprintf(b, " %s |", cell(text))
		}
		fmt.Fprintln(b)
	}
}

func (s *study) markdownLosses(b *bufio.Writer) {
	skipped := record.Servers(s.Header.Skipped)
	if len(skipped) > 0 {
		fmt.Fprintf(b, "\n### Skipped\n\n")
	}
	for _, skip := range skipped {
		fmt.Fprintf(b, "- `%s/%s`: %s\n", skip.Service, skip.Model, cell(skip.Reason))
	}
	gates := s.gates()
	if len(gates) > 0 {
		fmt.Fprintf(b, "\n### Cells that no figure rests on\n\n")
	}
	for _, g := range gates {
		fmt.Fprintf(b, "- %s: %s, the first: %s\n", g.Name, quantity.Many(g.Cells, "cell"),
			cell(g.Example))
	}
}
