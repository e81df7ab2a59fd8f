package report

// The figure of streams, which their source has: CPU of each kernel thread and memory over the
// logarithm of time.

import (
	"fmt"
	"math"
	"time"

	"interleave/internal/manifest"
	"interleave/internal/quantity"
	"interleave/internal/record"
	"interleave/internal/report/figure"
	"interleave/internal/sample"
)

// intervals of the plot, alike on a logarithmic axis.
const (
	perDecade    = 24
	leastSeconds = .05 // where the axis begins, at the earliest
)

// ofStreams draws each model of a claim, at the last point at which it was measured.
func (s *study) ofStreams(e *experiment, c manifest.Condition) []drawn {
	var out []drawn
	for _, r := range e.courses(c) {
		id := anchor("fig", e.Name, r.cell.Model, "threads", string(c))
		r.Frame = figure.Frame{ID: id,
			Title: fmt.Sprintf("CPU of the threads of %s, and its memory", r.cell.Model),
			Desc:  said(r.Threads)}
		caption := fmt.Sprintf("CPU of each kernel thread of %s, one upon the other, over the "+
			"logarithm of time, at %s, round %d, %s. "+
			"The dashed line reaches the top when all connections stand. %s",
			r.cell.Model, r.cell.Point, r.cell.Round, where(c), said(r.Threads))
		out = append(out, draw(id, caption, r.Threads, threadTable(r.Threads)))
	}
	return out
}

// A course is one cell's CPU and memory over time.
type course struct {
	figure.Threads
	cell *record.Cell
}

// courses are those that are shown: of the baseline, and of each model that a claim is about.
func (e *experiment) courses(c manifest.Condition) []course {
	var out []course
	for _, model := range e.Models {
		if !e.about(model) && model != e.Baseline {
			continue
		}
		if cell := e.lastStream(c, model); cell != nil {
			if f, ok := threadsOf(cell); ok {
				out = append(out, course{f, cell})
			}
		}
	}
	return out
}

// lastStream is a cell at the last point: measured if there is one, or void all the same, for it
// shows a course and no figure.
func (e *experiment) lastStream(c manifest.Condition, model string) *record.Cell {
	var found *record.Cell
	last := 0
	for i := range e.cells {
		cell := &e.cells[i]
		if cell.Model != model || cell.Condition != c || cell.Load.Shape != manifest.Streams ||
			cell.Result == nil || cell.Server == nil || cell.Twin {
			continue
		}
		n := cell.Load.Connections
		if found == nil || n > last || n == last && found.Status != record.Measured &&
			cell.Status == record.Measured {
			found, last = cell, n
		}
	}
	return found
}

// threadsOf cuts a cell's samples into intervals.
func threadsOf(cell *record.Cell) (f figure.Threads, ok bool) {
	series := cell.Server
	idle, ok1 := series.Mark(sample.MarkIdle)
	ramp, ok2 := series.Mark(sample.MarkRamp)
	open, ok3 := series.Mark(sample.MarkOpen)
	closed, ok4 := series.Mark(sample.MarkClosed)
	if !ok1 || !ok2 || !ok3 || !ok4 || len(series.Traced) == 0 {
		return f, false
	}
	since := func(m sample.Sample) float64 { return (m.At - idle.At).Seconds() }
	f.Ramp, f.Span = since(ramp), [2]float64{since(open), since(closed)}
	for _, t := range series.Traced {
		f.Names = append(f.Names, fmt.Sprintf("%s (%d)", t.Name, t.TID))
	}
	f.Names = append(f.Names, "other threads")
	f.Bands = make([][]float64, len(f.Names))
	from, next := idle, leastSeconds
	for _, m := range series.Samples {
		if m.At <= idle.At || m.At > closed.At || m.Ran == nil {
			continue
		}
		at := since(m)
		if at < next && m.Mark != sample.MarkClosed {
			continue
		}
		addInterval(&f, from, m, at)
		if f.First == 0 {
			f.First = min(leastSeconds, at/2)
		}
		from, next = m, at*math.Pow(10, 1./perDecade)
	}
	return f, len(f.X) > 1
}

// addInterval adds the interval between two samples. CPU that no traced thread has used counts as
// that of the other threads.
func addInterval(f *figure.Threads, from, to sample.Sample, at float64) {
	wall, rest := to.At-from.At, to.User+to.System-from.User-from.System
	last := len(f.Bands) - 1
	for n := range last {
		var used time.Duration
		if n < len(to.Ran) {
			used = to.Ran[n]
			if n < len(from.Ran) {
				used -= from.Ran[n]
			}
		}
		rest -= used
		f.Bands[n] = append(f.Bands[n], share(used, wall))
	}
	f.Bands[last] = append(f.Bands[last], share(rest, wall))
	f.X, f.Memory = append(f.X, at), append(f.Memory, float64(to.RSS))
}

// said tells the figure in a sentence, for a reader who does not see it. Streams tick by the
// second, so the CPU of a thread is a mean over the window.
func said(f figure.Threads) string {
	busy, most, all := 0, 0.0, 0.0
	for n := range f.Bands {
		mean := meanIn(f, n)
		if all += mean; mean > most {
			busy, most = n, mean
		}
	}
	return fmt.Sprintf("In the window it uses %s %% of a core, %s of it %s %%; at the end "+
		"memory is %s, and it was %s when the last of the connections stood.",
		quantity.Significant(all, 2), f.Names[busy], quantity.Significant(most, 2),
		quantity.Of(f.Memory[len(f.Memory)-1], "bytes"), quantity.Of(memoryAt(f, f.Ramp), "bytes"))
}

// meanIn is a thread's CPU over the measuring window.
func meanIn(f figure.Threads, n int) float64 {
	sum, wall, from := 0.0, 0.0, f.First
	for i, x := range f.X {
		if x > f.Span[0] && x <= f.Span[1] {
			sum += f.Bands[n][i] * (x - from)
			wall += x - from
		}
		from = x
	}
	if wall == 0 {
		return 0
	}
	return sum / wall
}

func memoryAt(f figure.Threads, seconds float64) float64 {
	for i, x := range f.X {
		if x >= seconds {
			return f.Memory[i]
		}
	}
	return f.Memory[len(f.Memory)-1]
}

// threadTable is the course in a few lines.
func threadTable(f figure.Threads) table {
	t := table{Caption: "The course in figures.", Head: []string{"seconds", "CPU (% of a core)",
		"busiest thread", "memory (RSS)"}}
	every := max(1, len(f.X)/10)
	for i := every - 1; i < len(f.X); i += every {
		sum, busiest := 0.0, 0
		for n, band := range f.Bands {
			if sum += band[i]; band[i] > f.Bands[busiest][i] {
				busiest = n
			}
		}
		name := f.Names[busiest]
		if sum == 0 {
			name = quantity.Missing
		}
		t.Rows = append(t.Rows, []string{quantity.Significant(f.X[i], 3),
			quantity.Significant(sum, 3), name, quantity.Of(f.Memory[i], "bytes")})
	}
	return t
}

// share is the CPU of an interval in percent of a core.
func share(used, wall time.Duration) float64 { return max(0, 100*float64(used)/float64(wall)) }
