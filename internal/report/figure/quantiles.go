package figure

// A quantile plot shows a whole distribution of latencies: the share of requests along the x axis,
// stretched towards the slow end, and how long they took on a logarithmic y axis.

import (
	"math"
)

// A QuantileSeries is the distribution of one model, merged over its rounds.
type QuantileSeries struct {
	Name   string
	Style  Style
	Points [][2]float64 // share of requests 0 .. 1, microseconds; rising
	Strong bool
}

// Quantiles is a figure of distributions.
type Quantiles struct {
	Frame
	YName  string
	Series []QuantileSeries
}

// nines stretches a share towards 1: .9 is 1, .99 is 2, .999 is 3.
func nines(share float64) float64 { return -math.Log10(1 - share) }

// SVG draws it.
func (p Quantiles) SVG(w Width) string {
	height := max(380, 13*float64(len(p.Series))+90)
	c := newCanvas(w, height)
	a := plot{top: 26, bottom: height - 46}
	widest := 0.
	ex, ey := newExtent(false), newExtent(true)
	ex.add(0, 2)
	for _, s := range p.Series {
		widest = max(widest, endWidth(s.Name, s.Strong))
		for _, q := range s.Points {
			ex.add(nines(q[0]))
			ey.add(q[1])
		}
	}
	a.y = ey.scale(.05, a.bottom, a.top)
	a.left = besideTicks(a.y.ticks(7, "µs"), "µs")
	a.makeRoom(w, widest)
	a.x = scale{low: 0, high: ex.high * 1.02, from: a.left, to: a.right}
	c.text("name", "start", 0, 12, p.YName)
	c.axes(a, nil, "", a.y.ticks(7, "µs"), "µs", "share of requests that were at most as slow")
	p.shares(c, a)
	var ends []namedEnd
	for _, strong := range []bool{false, true} {
		for _, s := range p.Series {
			if s.Strong == strong && len(s.Points) > 0 {
				ends = append(ends, c.distribution(a, s))
			}
		}
	}
	c.endNames(a, ends)
	return c.svg(p.Frame)
}

// shares labels the x axis: 0, 50 %, 90 %, 99 %, and a nine more for each step.
func (p Quantiles) shares(c *canvas, a plot) {
	labels := []struct {
		share float64
		text  string
	}{{0, "0"}, {.5, "50 %"}, {.9, "90 %"}, {.99, "99 %"}, {.999, "99.9 %"}, {.9999, "99.99 %"},
		{.99999, "99.999 %"}}
	last := math.Inf(-1) // where the label before ends
	for _, l := range labels {
		at := nines(l.share)
		x, half := a.x.at(at), .46*textWidth(l.text)
		if at > a.x.high || x-half < last+6 {
			continue
		}
		last = x + half
		c.line("grid", x, a.top, x, a.bottom)
		c.text("tick", "middle", x, a.bottom+17, l.text)
	}
}

func (c *canvas) distribution(a plot, s QuantileSeries) namedEnd {
	class := "line " + hueClass(s.Style)
	if s.Strong {
		class += " strong"
	}
	c.open(class)
	c.title(s.Name)
	points := make([][2]float64, len(s.Points))
	for i, q := range s.Points {
		points[i] = [2]float64{a.x.at(nines(q[0])), a.y.at(q[1])}
	}
	c.path("ln", s.Style.Dash, points)
	for i, q := range s.Points {
		for _, mark := range []float64{.5, .9, .99, .999, .9999} {
			if math.Abs(q[0]-mark) < 1e-9 {
				c.marker(s.Style.Marker, points[i][0], points[i][1], 3)
			}
		}
	}
	c.close()
	last := points[len(points)-1]
	return namedEnd{name: s.Name, style: s.Style, x: last[0], y: last[1], strong: s.Strong}
}

// Shares are where a distribution is read: dense enough for a curve, each mark among them. Beyond
// the share where fewer than ten samples are left, there is nothing to read.
func Shares(samples uint64) []float64 {
	var shares []float64
	for i := 0; i <= 100; i++ {
		left := math.Pow(10, -float64(i)/20)
		share := 1 - left
		switch i {
		case 6: // 1 - 10^-.3 is .4988
			share = .5
		case 20, 40, 60, 80, 100:
			share = math.Round(share*1e5) / 1e5
		}
		if float64(samples)*(1-share) < 10 {
			break
		}
		shares = append(shares, share)
	}
	return shares
}
