// Package live shows the progress of a run: a few repainted lines on a terminal, plain lines
// elsewhere. It draws only outside of measuring windows, since a scrolling terminal uses CPU that
// belongs to the servers.
package live

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"interleave/internal/manifest"
	"interleave/internal/record"
	"interleave/internal/run"
	"interleave/internal/stats"
	"interleave/internal/verdict"
)

// A View is a watcher that must be closed before anything else is printed.
type View interface {
	run.Watcher
	Close()
}

// New returns the view that fits w. On a terminal it reads the keyboard, and Ctrl-C calls stop.
func New(w io.Writer, stop func()) View {
	f, ok := w.(*os.File)
	if ok && term.IsTerminal(int(f.Fd())) && term.IsTerminal(int(os.Stdin.Fd())) &&
		os.Getenv("TERM") != "dumb" {
		return newScreen(f, stop)
	}
	return &lines{w: w}
}

// statusEvery is how much of a budget is spent between two lines that tell how far the run is.
const statusEvery = 30 * time.Second

// lines prints a line for each note, each broken cell and each claim that is decided. At the end of
// a round, or every half minute of a budget, it prints how many cells the gates voided, and how far
// the run is.
type lines struct {
	w     io.Writer
	voids []voided
	news  news
	next  time.Duration // of a budget: spent, when the next status is due
}

// A voided is the cells since the last status that the same gates have voided.
type voided struct {
	gates string
	first *record.Cell
	cells int
}

func (l *lines) Close() { l.tellVoids("") }

// Watch prints an event if it is worth a line. A writer that fails is no reason to stop measuring.
func (l *lines) Watch(e run.Event) {
	switch e.Kind {
	case run.Note:
		fmt.Fprintln(l.w, e.Text)
	case run.CellEnds:
		switch e.Cell.Status {
		case record.Broken:
			fmt.Fprintln(l.w, fault(e.Cell))
		case record.Void:
			l.void(e.Cell)
		}
	case run.Begins, run.Ends:
		l.tellNews(e.Verdicts)
	case run.RoundEnds:
		if e.Turn != nil {
			l.turnEnds(e)
			return
		}
		l.tellVoids(fmt.Sprintf("of round %d", e.Round))
		l.tellNews(e.Verdicts)
		fmt.Fprintf(l.w, "round %d of %d: %d of %d cells, %s left; %s\n", e.Round, e.Rounds, e.Done,
			e.Total, spell(e.Left), tally(e.Verdicts))
	}
}

// void counts a cell by the gates that voided it.
func (l *lines) void(c *record.Cell) {
	gates := reasons(c)
	for i := range l.voids {
		if l.voids[i].gates == gates {
			l.voids[i].cells++
			return
		}
	}
	l.voids = append(l.voids, voided{gates, c, 1})
}

// turnEnds tells of a turn of a budget what is new, and now and then how far the run is.
func (l *lines) turnEnds(e run.Event) {
	l.tellNews(e.Verdicts)
	if e.Spent < l.next {
		return
	}
	l.next = e.Spent + statusEvery
	l.tellVoids("")
	fmt.Fprintf(l.w, "%s, %s left; measured %s\n", standing(e.Verdicts), spell(e.Left),
		purpose(e.Turn))
}

// purpose is what a turn is for: "eve-echo, shared cores, for E1a E1b".
func purpose(t *run.Turn) string {
	if len(t.Claims) == 0 {
		return fmt.Sprintf("%s, %s cores, for its figures", t.Experiment, t.Condition)
	}
	return fmt.Sprintf("%s, %s cores, for %s", t.Experiment, t.Condition,
		strings.Join(t.Claims, " "))
}

// tellVoids prints the void cells since the last status, a line for the same gates.
func (l *lines) tellVoids(since string) {
	for _, v := range l.voids {
		if v.cells == 1 {
			fmt.Fprintln(l.w, fault(v.first))
			continue
		}
		fmt.Fprintln(l.w, strings.Join(strings.Fields(fmt.Sprintf("void: %d cells %s", v.cells,
			since)), " ")+": "+v.gates)
	}
	l.voids = nil
}

// tellNews prints each claim that is decided, or decided otherwise than before.
func (l *lines) tellNews(all []verdict.Verdict) {
	for _, v := range l.news.of(all) {
		fmt.Fprintln(l.w, answer(&v))
	}
}

// fault is the line of a cell that does not count: a broken cell's fault in words, or the names of
// the gates that voided it. The report has their sentences.
func fault(c *record.Cell) string {
	return fmt.Sprintf("%s: %s, %s, round %d: %s", c.Status, c.Model, c.Point, c.Round, reasons(c))
}

// reasons are a broken cell's faults in words, or a void one's gates by name.
func reasons(c *record.Cell) string {
	var why []string
	for _, r := range c.Reasons {
		if c.Status == record.Broken {
			why = append(why, r.Text)
		} else {
			why = append(why, r.Gate)
		}
	}
	return strings.Join(why, "; ")
}

// figures are those that one line about a cell shows, the first two that it has.
var figures = []manifest.Metric{manifest.Deliveries, manifest.CPUPerDelivery, manifest.Throughput,
	manifest.CPUPerRequest, manifest.LatencyP99, manifest.CPU}

// result is the line of a cell that counts.
func result(c *record.Cell) string {
	var shown []string
	for _, m := range figures {
		if c.Load.Shape == manifest.Paced && (m == manifest.Throughput ||
			m == manifest.CPUPerRequest) {
			continue // the load decides the first, and the second follows from CPU
		}
		v, ok := c.Metric(m)
		if ok && len(shown) < 2 {
			shown = append(shown, fmt.Sprintf("%s %s", number(v), manifest.Metrics[m].Unit))
		}
	}
	return fmt.Sprintf("%s, %s: %s", c.Model, c.Point, strings.Join(shown, ", "))
}

// number has three significant digits, and thousands as k.
func number(v float64) string {
	if v >= 10_000 {
		return fmt.Sprintf("%.3g k", v/1000)
	}
	return fmt.Sprintf("%.3g", v)
}

// words in the order in which they are counted.
var words = []stats.Word{stats.Reproduced, stats.NotReproduced, stats.Inconclusive,
	stats.NotMeasured, stats.NotComparable}

// tally counts the verdicts by word.
func tally(all []verdict.Verdict) string {
	count := map[stats.Word]int{}
	for _, v := range all {
		count[v.Word]++
	}
	var out []string
	for _, w := range words {
		if count[w] > 0 {
			out = append(out, fmt.Sprintf("%d %s", count[w], w))
		}
	}
	if len(out) == 0 {
		return "no claim to judge"
	}
	return strings.Join(out, ", ") + " so far"
}

// spell rounds a remaining time for people.
func spell(d time.Duration) string {
	switch {
	case d >= time.Hour:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	case d >= time.Minute:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d s", int(d.Round(time.Second).Seconds()))
}
