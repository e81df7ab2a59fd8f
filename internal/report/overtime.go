package report

// CPU over time: the one figure that is worth zooming into, so its samples go into the page.

import (
	"fmt"
	"math"
	"slices"
	"time"

	"interleave/internal/record"
	"interleave/internal/report/figure"
	"interleave/internal/sample"
)

// maxSamples bounds what a page carries: at about 7 bytes each, 280 kB. Rounds beyond are left out,
// the last ones first, and the page says so.
const maxSamples = 40_000

// A track is the CPU of one cell over time, as small as JSON can be: milliseconds since the server
// was ready, and tenths of a percent of a core since the sample before.
type track struct {
	Round int   `json:"round"`
	At    []int `json:"t"`
	CPU   []int `json:"c"`
	Open  int   `json:"open"`  // where the measuring window opens,
	Close int   `json:"close"` // and where it closes
}

// A timeline is what the chooser offers: one model at one point, all its rounds.
type timeline struct {
	Where  string  `json:"where"` // "papayachat-cpu · connections = 64 · own cores"
	Model  string  `json:"model"`
	Tracks []track `json:"tracks"`
}

// overTime is the section's data.
type overTime struct {
	Timelines []timeline
	First     int    // the timeline that stands there without script
	Kept      int    // rounds of each that the page carries; 0 = all
	Figure    *drawn // of the first
}

func (s *study) overTime(styles map[string]figure.Style) overTime {
	var o overTime
	at := map[string]int{}
	samples := 0
	rounds := s.rounds
	byRound := map[int][]record.Cell{}
	for _, e := range s.experiments {
		for _, c := range e.cells {
			byRound[c.Round] = append(byRound[c.Round], c)
		}
	}
	for round := 1; round <= rounds; round++ {
		var tracks []track
		size := 0
		for _, c := range byRound[round] {
			t := trackOf(c)
			tracks = append(tracks, t)
			size += len(t.At)
		}
		if samples+size > maxSamples && round > 1 {
			o.Kept = round - 1
			break
		}
		samples += size
		for i, c := range byRound[round] {
			if len(tracks[i].At) > 1 {
				o.add(at, c, tracks[i])
			}
		}
	}
	if len(o.Timelines) > 0 {
		o.First = s.firstTimeline(o.Timelines)
		o.Figure = s.trackFigure(o.Timelines[o.First], styles)
	}
	return o
}

func (o *overTime) add(at map[string]int, c record.Cell, t track) {
	where := fmt.Sprintf("%s · %s · %s", c.Experiment, c.Point, c.Condition)
	model := c.Model
	if c.Twin {
		model += " again (A/A)"
	}
	key := where + "\n" + model
	i, found := at[key]
	if !found {
		i = len(o.Timelines)
		at[key] = i
		o.Timelines = append(o.Timelines, timeline{Where: where, Model: model})
	}
	o.Timelines[i].Tracks = append(o.Timelines[i].Tracks, t)
}

// trackOf takes the CPU out of a cell's samples; those closer than a fifth of the
// interval are joined.
func trackOf(c record.Cell) track {
	t := track{Round: c.Round}
	if c.Server == nil || c.Result == nil || len(c.Server.Samples) == 0 {
		return t
	}
	last := c.Server.Samples[0]
	start := last.At
	ms := func(d time.Duration) int {
		return int(math.Round(float64(d-start) / float64(time.Millisecond)))
	}
	for _, m := range c.Server.Samples[1:] {
		if m.At-last.At < max(c.Server.Every/5, time.Millisecond) {
			continue
		}
		cpu := float64(m.User+m.System-last.User-last.System) / float64(m.At-last.At)
		t.At, t.CPU = append(t.At, ms(m.At)), append(t.CPU, int(math.Round(1000*cpu)))
		last = m
	}
	if m, ok := c.Server.Mark(sample.MarkOpen); ok {
		t.Open = ms(m.At)
	}
	if m, ok := c.Server.Mark(sample.MarkClosed); ok {
		t.Close = ms(m.At)
	}
	return t
}

// firstTimeline is that of the first claim's model at the last point of its sweep.
func (s *study) firstTimeline(all []timeline) int {
	for _, e := range s.experiments {
		for _, c := range e.Claims {
			for _, p := range slices.Backward(e.Points) {
				for i, t := range all {
					if t.Model == c.Of.Model && len(e.conditions) > 0 &&
						t.Where == fmt.Sprintf("%s · %s · %s", e.Name, p.Name, e.conditions[0]) {
						return i
					}
				}
			}
		}
	}
	return 0
}

func (s *study) trackFigure(t timeline, styles map[string]figure.Style) *drawn {
	first := t.Tracks[0]
	f := figure.TimeSeries{
		Frame: figure.Frame{ID: "fig-over-time", Title: fmt.Sprintf("CPU over time of %s, round %d",
			t.Model, first.Round),
			Desc: t.Where + "; the measuring window is shaded."},
		YName: "server CPU (% of a core)", YUnit: "% of a core", Style: styles[t.Model],
		Span: [2]float64{float64(first.Open) / 1e3, float64(first.Close) / 1e3},
	}
	for i := range first.At {
		f.X, f.Y = append(f.X, float64(first.At[i])/1e3), append(f.Y, float64(first.CPU[i])/10)
	}
	d := draw("fig-over-time",
		fmt.Sprintf("CPU of %s, round %d; %s. The measuring window is shaded.", t.Model,
			first.Round, t.Where), f, table{})
	return &d
}
