package report

// The run for a terminal, and for a file where no terminal is: verdicts first, then a table
// for each metric.

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/record"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

// minWidth is the least of a terminal that tables are laid out for.
const minWidth = 60

// A screen writes lines of a width, with colours or without.
type screen struct {
	w     *bufio.Writer
	width int
	color bool
}

// Terminal writes the answers, then a section of compact tables for each experiment. Without colour
// there are no escape codes and no block characters either: that form is for files and pipes.
func Terminal(w io.Writer, run Run, width int, color bool) error {
	return onScreen(w, run, width, color, func(out *screen, s *study) {
		for _, e := range s.experiments {
			out.head(e)
			for _, v := range e.verdicts {
				out.verdict(v, s.name(v))
			}
			out.matrix(e)
			out.tables(e)
		}
	})
}

// Summary is what stands at the end of a run: the answers without the tables. An experiment that
// has no claim shows its tables, for they are its result.
func Summary(w io.Writer, run Run, width int, color bool) error {
	return onScreen(w, run, width, color, func(out *screen, s *study) {
		for _, e := range s.experiments {
			if len(e.verdicts) == 0 {
				out.head(e)
				out.tables(e)
			}
		}
	})
}

// onScreen writes the abstract, the answers, what follows, the claims that are open, and what
// was lost.
func onScreen(w io.Writer, run Run, width int, color bool, rest func(*screen, *study)) error {
	s := examine(run)
	out := &screen{bufio.NewWriter(w), max(width, minWidth), color}
	out.line(out.bold("Run "+run.Header.ID) + unfinishedMark(run))
	out.wrap("", strings.Join(s.abstract(), " "))
	groups := s.bySource()
	out.answers(groups)
	rest(out, s)
	out.open(groups)
	out.losses(s)
	if err := out.w.Flush(); err != nil {
		return fmt.Errorf("writing the tables: %w", err)
	}
	return nil
}

// head begins the section of an experiment.
func (s *screen) head(e *experiment) {
	s.line("")
	s.line(s.bold(e.title()) + "  " + s.dim(e.Name+" · "+e.Source))
}

// answers writes a line for each claim that is decided, by source: our figure, what is claimed, and
// the claim's sentence below.
func (s *screen) answers(groups []answerGroup) {
	for _, g := range groups {
		if g.Decided == 0 {
			continue
		}
		s.line("")
		s.line(s.bold(g.Source) + "  " + s.dim(fmt.Sprintf("%d of %d decided", g.Decided, g.All)))
		for _, w := range g.Words {
			for _, a := range w.Rows {
				s.answer(a)
			}
		}
	}
}

func (s *screen) answer(a answer) {
	word := fmt.Sprintf("%-14s", a.Word)
	if s.color {
		word = s.escape(signs[a.Word].color, word)
	}
	id := s.bold(fmt.Sprintf("%-4s", a.Name))
	text := fmt.Sprintf("  %s %s  %s", s.sign(a.Word), word, id)
	if a.Here != "" {
		text += "  " + a.Here
		if a.Claimed != "" {
			text += s.dim("  claimed: " + a.Claimed)
		}
	}
	s.line(strings.TrimRight(text, " "))
	s.wrap("      ", a.Claim.Sentence)
}

// open writes the claims that are not decided, each with what it would take.
func (s *screen) open(groups []answerGroup) {
	first := true
	for _, g := range groups {
		for _, a := range g.Open {
			if first {
				s.line("")
				s.line(s.bold("Not decided, and what it would take"))
				first = false
			}
			s.wrap("      ", fmt.Sprintf("  %s %s  %s", s.sign(a.Word), a.Name, a.Takes))
		}
	}
}

// tables writes the experiment's, condition after condition.
func (s *screen) tables(e *experiment) {
	for _, c := range e.conditions {
		s.metrics(e, c)
	}
}

// matrix writes the rows of an experiment that builds, the remarks below those that have some.
func (s *screen) matrix(e *experiment) {
	t := e.matrix()
	if t == nil {
		return
	}
	lines := [][]string{t.Head[:3]}
	for _, row := range t.Rows {
		lines = append(lines, row[:3])
	}
	s.line("")
	widths := columns(lines)
	for i, line := range lines {
		text := "  " + align(line, widths)
		if i == 0 {
			s.line(s.dim(text))
			continue
		}
		s.line(text)
		if note := t.Rows[i-1][3]; note != "" {
			s.wrap("      ", note)
		}
	}
}

func unfinishedMark(run Run) string {
	if run.Header.Finished == nil {
		return "  (stopped before its end)"
	}
	return ""
}

func (s *screen) line(text string) { fmt.Fprintln(s.w, plainSpaces(text)) }

// plainSpaces replaces thin spaces by plain ones, which people search for and scripts split at.
func plainSpaces(text string) string { return strings.ReplaceAll(text, quantity.Thin, " ") }

func (s *screen) escape(code, text string) string {
	if !s.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s *screen) bold(text string) string { return s.escape("1", text) }
func (s *screen) dim(text string) string  { return s.escape("2", text) }

// wrap writes a paragraph behind an indent.
func (s *screen) wrap(indent, text string) {
	line := indent
	for word := range strings.FieldsSeq(plainSpaces(text)) {
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > s.width && line != indent {
			s.line(line)
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	s.line(line)
}

// signs stand before the words, for the eye that runs down a list.
var signs = map[stats.Word]struct{ sign, plain, color string }{
	stats.Reproduced:    {"✔", "+", "32"},
	stats.NotReproduced: {"✘", "x", "31"},
	stats.Inconclusive:  {"◇", "?", "36"},
	stats.NotMeasured:   {"…", ".", "2"},
	stats.NotComparable: {"≠", "-", "2"},
}

func (s *screen) sign(w stats.Word) string {
	sign := signs[w]
	if !s.color {
		return sign.plain
	}
	return s.escape(sign.color, sign.sign)
}

func (s *screen) verdict(v verdict.Verdict, name string) {
	word := fmt.Sprintf("%-14s", v.Word)
	if s.color {
		word = s.escape(signs[v.Word].color, word)
	}
	s.line(fmt.Sprintf("  %s %s  %s", s.sign(v.Word), word, s.bold(name)))
	s.wrap("      ", v.Claim.Sentence)
	s.wrap("      ", v.Sentence)
	for _, c := range v.Cautions {
		s.wrap("      ", "Caution: "+c+".")
	}
}

// metrics writes a table for each metric under a condition.
func (s *screen) metrics(e *experiment, c manifest.Condition) {
	shown := false
	for _, m := range e.metrics() {
		rows := e.rows(c, m)
		if m.Rate() {
			rows = slices.DeleteFunc(slices.Clone(rows), e.offered)
		}
		sweep, single := split(rows)
		if slices.ContainsFunc(sweep, measured) {
			shown = true
			s.line("")
			s.line(fmt.Sprintf("  %s over %s, %s cores; estimates over rounds", capital(unit(m)),
				cmp.Or(e.Axis.Label, e.Axis.Over), c))
			s.sweep(sweep, m)
			s.note(sweep)
		}
		for _, rows := range byPoint(single) {
			if !slices.ContainsFunc(rows, measured) {
				continue
			}
			shown = true
			s.line("")
			s.line(fmt.Sprintf("  %s at %s, %s cores; estimate (95 %% interval), rounds",
				capital(unit(m)), rows[0].Point, c))
			s.strip(ranked(rows, manifest.Metrics[m].MoreIsBetter), m)
			s.note(rows)
		}
	}
	for _, r := range e.courses(c) {
		s.line("")
		s.wrap("  ", fmt.Sprintf("Course of %s at %s, %s cores: %s", r.cell.Model, r.cell.Point, c,
			said(r.Threads)))
	}
	if !shown {
		s.wrap("  ", fmt.Sprintf("On %s cores no cell counts of %s.", c,
			strings.Join(e.Models, ", ")))
	}
}

// note is the footnote of a table that needs one.
func (s *screen) note(rows []verdict.Row) {
	if text := footnote(rows); text != "" {
		s.wrap("  ", text)
	}
}

// measured says whether a row has a figure; a table without any says nothing that the list of lost
// cells does not.
func measured(r verdict.Row) bool { return len(r.Values) > 0 }

// sweep is a matrix of models and points; points that do not fit are left out from the middle.
func (s *screen) sweep(rows []verdict.Row, m manifest.Metric) {
	t := sweepMatrix(rows, m)
	widths := columns(t)
	for len(t[0]) > 3 && 2+total(widths) > s.width {
		at := len(t[0]) / 2
		for i := range t {
			t[i] = slices.Delete(t[i], at, at+1)
		}
		widths = columns(t)
	}
	for i, line := range t {
		text := "  " + align(line, widths)
		if i == 0 {
			text = s.dim(text)
		}
		s.line(text)
	}
}

// sweepMatrix is the head and a line for each model, figures only.
func sweepMatrix(rows []verdict.Row, m manifest.Metric) [][]string {
	full := sweepTable(rows, m)
	t := [][]string{{""}}
	for _, p := range full.Head[1:] {
		_, value, found := strings.Cut(p, " = ")
		if !found {
			value = p
		}
		t[0] = append(t[0], value)
	}
	for _, line := range full.Rows {
		short := []string{line[0]}
		for _, p := range full.Head[1:] {
			text := quantity.Missing
			for _, r := range rows {
				if name(r) == line[0] && r.Point == p {
					text = quantity.Short(centre(r).Estimate, manifest.Metrics[m].Unit) +
						disturbed(r)
				}
			}
			short = append(short, plainSpaces(text))
		}
		t = append(t, short)
	}
	return t
}

func columns(t [][]string) []int {
	widths := make([]int, len(t[0]))
	for _, line := range t {
		for i, text := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	return widths
}

func total(widths []int) int {
	sum := 0
	for _, w := range widths {
		sum += w + 2
	}
	return sum
}

// align puts the first column to the left and the others to the right.
func align(line []string, widths []int) string {
	var b strings.Builder
	for i, text := range line {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
		switch i {
		case 0:
			b.WriteString(text + pad)
		default:
			b.WriteString("  " + pad + text)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// strip is a line for each model with a bar as long as its figure.
func (s *screen) strip(rows []verdict.Row, m manifest.Metric) {
	most := 0.
	for _, r := range rows {
		if known(centre(r)) {
			most = max(most, centre(r).Estimate)
		}
	}
	var t [][]string
	for _, r := range rows {
		t = append(t, []string{name(r), plainSpaces(absolute(r, m)), rounds(len(r.Values), r.Void)})
	}
	widths := columns(t)
	room := s.width - total(widths) - 4
	for i, line := range t {
		text := "  " + align(line, widths)
		if v := centre(rows[i]).Estimate; room >= 8 && most > 0 && v > 0 {
			pad := strings.Repeat(" ", 2+total(widths)-2-utf8.RuneCountInString(text))
			text += pad + "  " + s.bar(v/most, min(room, 40))
		}
		s.line(text)
	}
}

// bar is a share of a width, in eighths of a character where a terminal shows them.
func (s *screen) bar(share float64, width int) string {
	if !s.color {
		return strings.Repeat("#", max(1, int(math.Round(share*float64(width)))))
	}
	eighths := max(1, int(math.Round(share*float64(width)*8)))
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return s.escape("34", text)
}

// losses are told in one line for each gate; the record and the page have them all.
func (s *screen) losses(run *study) {
	for _, skip := range record.Servers(run.Header.Skipped) {
		s.line("")
		s.wrap("  ", fmt.Sprintf("Skipped: %s/%s: %s", skip.Service, skip.Model, skip.Reason))
	}
	gates := run.gates()
	if len(gates) == 0 {
		return
	}
	s.line("")
	s.line(s.bold("Cells that no figure rests on"))
	for _, g := range gates {
		s.wrap("  ", fmt.Sprintf("%s: %s, the first: %s", g.Name, quantity.Many(g.Cells, "cell"),
			g.Example))
	}
}
