package figure

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"interleave/internal/quantity"
)

// rates is a sweep over magnitudes whose labels are long.
func rates(styles map[string]Style) Sweep {
	p := Sweep{Frame: Frame{ID: "rate", Title: "Bit rate over clients", Desc: "It grows."},
		YName: "bit rate", YUnit: "bit/s",
		XName: "clients that connect, send, half-close and wait for the end", LogX: true,
		LogY: true}
	for i, name := range []string{"c-epoll", "c-process", "go-goroutine-gvisor-fdbased"} {
		s := Series{Name: name, Style: styles[name], Strong: i == 2}
		for _, x := range []float64{1, 10, 100} {
			y := 4e6 * math.Pow(x, 1.5+.3*float64(i))
			s.Points = append(s.Points, SweepPoint{X: x, Y: y, Low: y, High: y})
		}
		p.Series = append(p.Series, s)
	}
	return p
}

// memory is a strip over magnitudes of bytes.
func memory(styles map[string]Style) Strip {
	p := Strip{Frame: Frame{ID: "memory", Title: "Memory", Desc: "All models."},
		Axis: "memory (PSS)", Unit: "bytes", Log: true}
	for i, name := range names {
		v := 250e3 * math.Pow(1.6, float64(i))
		p.Rows = append(p.Rows, StripRow{Name: name, Style: styles[name], Note: "250 KiB",
			Dots: []float64{v}, Centre: v, Low: v, High: v})
	}
	return p
}

func threads() Threads {
	p := Threads{Frame: Frame{ID: "threads", Title: "CPU by thread", Desc: "One is busy."},
		Ramp: .6, Span: [2]float64{1, 4}, First: .05,
		Names: []string{"stream (1)", "stream (2)", "idle (3)", "other threads"},
		Bands: make([][]float64, 4)}
	for i, x := range []float64{.1, .2, .4, .8, 1.6, 3.2} {
		p.X, p.Memory = append(p.X, x), append(p.Memory, float64(4+i)*1e6)
		for n, v := range []float64{5, 40 - 5*float64(i), 0, 2} {
			p.Bands[n] = append(p.Bands[n], v)
		}
	}
	return p
}

func TestBytesAreRoundInTwos(t *testing.T) {
	for _, s := range []scale{
		{200 << 10, 30 << 20, 0, 160, true}, {1 << 10, 3 << 30, 0, 500, true},
		{3e6, 12e6, 0, 500, true}, {4 << 20, 5 << 20, 0, 500, true},
		{0, 37e6, 0, 500, false}, {90, 2000, 0, 500, true},
	} {
		ticks := s.fittingTicks(5, "bytes")
		if len(ticks) < 2 {
			t.Errorf("%v to %v has %d ticks", s.low, s.high, len(ticks))
		}
		for _, v := range ticks {
			if !s.inside(v) {
				t.Errorf("%v to %v has a tick at %s", s.low, s.high, quantity.Tick(v, "bytes"))
			}
			size := 1.
			for v/size >= 1<<10 {
				size *= 1 << 10
			}
			if hundredths := 100 * v / size; math.Abs(hundredths-math.Round(hundredths)) > 1e-6 {
				t.Errorf("%v to %v has a tick at %v bytes, want one that is round in KiB or MiB",
					s.low, s.high, v)
			}
		}
	}
}

var tickLabel = regexp.MustCompile(`<text class="tick( middle| end)?" x="([^"]*)" y="([^"]*)">([^<]*)<`)

// TestTickLabelsAreWhole: within the drawing, and none of a line upon another.
func TestTickLabelsAreWhole(t *testing.T) {
	for name, d := range drawings() {
		for _, w := range []Width{Wide, Narrow} {
			ends := map[string]float64{} // of the labels so far, by height
			for _, m := range tickLabel.FindAllStringSubmatch(d.SVG(w), -1) {
				x, err := strconv.ParseFloat(m[2], 64)
				if err != nil {
					t.Fatal(err)
				}
				width := .92 * textWidth(m[4])
				from := x - map[string]float64{"": 0, " middle": width / 2, " end": width}[m[1]]
				if from < -.1 || from+width > float64(w)+.1 {
					t.Errorf("%s, %v wide: %q reaches from %.0f to %.0f", name, w, m[4], from,
						from+width)
				}
				if end, found := ends[m[3]]; found && m[1] == " middle" && from < end {
					t.Errorf("%s, %v wide: %q begins at %.0f, where the one before it ends at %.0f",
						name, w, m[4], from, end)
				}
				ends[m[3]] = from + width
			}
		}
	}
}

// TestNamesAtEndsAreWhole: bold ones too; on a phone long ones stand below, so that the lines keep
// half of the width.
func TestNamesAtEndsAreWhole(t *testing.T) {
	name := regexp.MustCompile(`<text class="(label|label strong|tm)" x="([^"]*)" y="([^"]*)">([^<]*)<`)
	for _, w := range []Width{Wide, Narrow} {
		p := rates(StylesFor(words))
		plot := p.plot(w, 380)
		if plot.right-plot.left < float64(w)/2 {
			t.Errorf("%v wide: the lines have %.0f", w, plot.right-plot.left)
		}
		found := name.FindAllStringSubmatch(p.SVG(w), -1)
		if len(found) != 3 {
			t.Fatalf("%v wide: got %d names, want 3", w, len(found))
		}
		for _, m := range found {
			x, errX := strconv.ParseFloat(m[2], 64)
			y, errY := strconv.ParseFloat(m[3], 64)
			if errX != nil || errY != nil {
				t.Fatal(errX, errY)
			}
			if end := x + endWidth(m[4], m[1] == "label strong"); end > float64(w) ||
				(y > plot.bottom) != (w == Narrow) {
				t.Errorf("%v wide: %q ends at %.0f, at the height %.0f", w, m[4], end, y)
			}
		}
	}
}

// TestThreadsAreNamed: whoever sees a colour finds its thread, the busiest first; who does
// nothing is not named.
func TestThreadsAreNamed(t *testing.T) {
	svg := threads().SVG(Narrow)
	at := -1
	for _, want := range []string{"stream (2)", "stream (1)", "other threads", "memory",
		"connections made", "measuring window"} {
		i := strings.Index(svg, fmt.Sprintf(">%s</text>", want))
		if i < at {
			t.Errorf("%q is not named, or not in its place", want)
		}
		at = max(at, i)
	}
	if strings.Contains(svg, ">idle (3)</text>") {
		t.Error("a thread that does nothing is named")
	}
}
