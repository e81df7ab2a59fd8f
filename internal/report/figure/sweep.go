package figure

// A sweep shows a metric over an experiment's axis, a line for each model, with the published curve
// behind where the source gives its numbers.

import (
	"cmp"
	"math"
	"slices"

	"interleave/internal/quantity"
)

// A SweepPoint is one model at one place of the axis.
type SweepPoint struct {
	X, Y      float64
	Low, High float64 // 95 % interval of Y
}

// A Series is one line.
type Series struct {
	Name   string
	Style  Style
	Points []SweepPoint // in order of X; a gap in the data is a point that is not there
	Strong bool         // a claim is about it
}

// Sweep is a figure of lines.
type Sweep struct {
	Frame
	XName, YName string
	XUnit, YUnit string
	LogX, LogY   bool
	Series       []Series
	Published    []Series
}

// A plot is the inside of a figure with two axes.
type plot struct {
	left, right, top, bottom float64
	x, y                     scale
	// the names of lines stand below: beside them they would leave no room
	below bool
}

// SVG draws it.
func (p Sweep) SVG(w Width) string {
	height := 400.
	if w < Wide {
		height = 380
	}
	height = max(height, 13*float64(len(p.Series)+len(p.Published))+90)
	c := newCanvas(w, height)
	a := p.plot(w, height)
	c.text("name", "start", 0, 12, p.YName)
	c.axes(a, p.xTicks(a), p.XUnit, a.y.ticks(6, p.YUnit), p.YUnit, p.XName)
	for _, s := range p.Published {
		c.open("published " + hueClass(s.Style))
		c.path("wide", "", a.points(s.Points))
		for _, q := range s.Points {
			c.marker(Box, a.x.at(q.X), a.y.at(q.Y), 2.6)
		}
		c.close()
	}
	// Series that claims are about are drawn last, above the others.
	for _, strong := range []bool{false, true} {
		for _, s := range p.Series {
			if s.Strong == strong {
				c.series(a, s)
			}
		}
	}
	p.names(c, a)
	return c.svg(p.Frame)
}

func (p Sweep) plot(w Width, height float64) plot {
	a := plot{top: 26, bottom: height - 46}
	widest := 0.
	for _, s := range slices.Concat(p.Series, p.Published) {
		widest = max(widest, endWidth(s.Name, s.Strong))
	}
	ex, ey := newExtent(p.LogX), newExtent(p.LogY)
	for _, s := range slices.Concat(p.Series, p.Published) {
		for _, q := range s.Points {
			ex.add(q.X)
			ey.add(q.Y, q.Low, q.High)
		}
	}
	if p.LogY {
		a.y = ey.scale(.05, a.bottom, a.top)
	} else {
		a.y = ey.fromZero(a.bottom, a.top)
	}
	a.left = besideTicks(a.y.ticks(6, p.YUnit), p.YUnit)
	a.makeRoom(w, widest)
	a.x = ex.scale(.02, a.left+4, a.right-4)
	return a
}

// xTicks are the places of the axis that were measured, where they are few and apart; else round
// values.
func (p Sweep) xTicks(a plot) []float64 {
	var at []float64
	for _, s := range p.Series {
		for _, q := range s.Points {
			if !slices.Contains(at, q.X) {
				at = append(at, q.X)
			}
		}
	}
	slices.Sort(at)
	for i := 1; i < len(at); i++ {
		if a.x.at(at[i])-a.x.at(at[i-1]) < 20 {
			return a.x.fittingTicks(6, p.XUnit)
		}
	}
	if len(at) == 0 {
		return a.x.fittingTicks(6, p.XUnit)
	}
	return at
}

func (a plot) points(points []SweepPoint) [][2]float64 {
	at := make([][2]float64, 0, len(points))
	for _, q := range points {
		if !math.IsNaN(q.X) && !math.IsNaN(q.Y) {
			at = append(at, [2]float64{a.x.at(q.X), a.y.at(q.Y)})
		}
	}
	return at
}

// axes draws the grid, the ticks and the name of the x axis.
func (c *canvas) axes(a plot, xs []float64, xUnit string, ys []float64, yUnit, xName string) {
	for _, t := range ys {
		c.line("grid", a.left, a.y.at(t), a.right, a.y.at(t))
		c.text("tick", "end", a.left-6, a.y.at(t)+4, quantity.Tick(t, yUnit))
	}
	for _, t := range xs {
		c.line("axis", a.x.at(t), a.bottom, a.x.at(t), a.bottom+4)
	}
	c.tickLabels(a.x, xs, xUnit, a.bottom+17)
	c.line("axis", a.left, a.bottom, a.right, a.bottom)
	c.height += c.axisName((a.left+a.right)/2, a.bottom+36, xName)
}

// series is a line with its markers and a light bar for each interval; a strong one has a band.
func (c *canvas) series(a plot, s Series) {
	class := "line " + hueClass(s.Style)
	if s.Strong {
		class += " strong"
	}
	c.open(class)
	c.title(s.Name)
	if s.Strong && len(s.Points) > 1 {
		var high, low [][2]float64
		for _, q := range s.Points {
			high = append(high, [2]float64{a.x.at(q.X), a.y.at(q.High)})
			low = append(low, [2]float64{a.x.at(q.X), a.y.at(q.Low)})
		}
		c.area("band", high, low)
	}
	for _, q := range s.Points {
		if q.High > q.Low {
			c.line("bar", a.x.at(q.X), a.y.at(q.Low), a.x.at(q.X), a.y.at(q.High))
		}
	}
	points := a.points(s.Points)
	c.path("ln", s.Style.Dash, points)
	for _, q := range points {
		c.marker(s.Style.Marker, q[0], q[1], 3.2)
	}
	c.close()
}

// A named end is where a line stops and what it is called.
type namedEnd struct {
	name      string
	style     Style
	x, y      float64
	strong    bool
	published bool
}

// names writes each line's name at its end, moved apart where they would touch.
func (p Sweep) names(c *canvas, a plot) {
	var ends []namedEnd
	add := func(s Series, published bool) {
		if at := a.points(s.Points); len(at) > 0 {
			last := at[len(at)-1]
			ends = append(ends, namedEnd{s.Name, s.Style, last[0], last[1], s.Strong, published})
		}
	}
	for _, s := range p.Series {
		add(s, false)
	}
	for _, s := range p.Published {
		add(s, true)
	}
	c.endNames(a, ends)
}

// endRoom is what a name at the end of a line has in front of it, with what is left behind it.
const endRoom = 30

// endWidth is that of the name at the end of a line; bold names are wider.
func endWidth(name string, strong bool) float64 {
	if strong {
		return 1.04 * textWidth(name)
	}
	return .92 * textWidth(name)
}

// makeRoom leaves room for names on the right, or below if the lines would have less than four
// tenths of the width (a guess: the eye finds a line's name faster beside it).
func (a *plot) makeRoom(w Width, widest float64) {
	a.right = float64(w) - widest - endRoom
	if a.below = a.right-a.left < .4*float64(w); a.below {
		a.right = float64(w) - 10
	}
}

// namesBelow are in the order in which the lines end, from the top.
func (c *canvas) namesBelow(ends []namedEnd) {
	slices.SortStableFunc(ends, func(a, b namedEnd) int { return cmp.Compare(a.y, b.y) })
	var keys []key
	for _, e := range ends {
		keys = append(keys, key{e.name, func(c *canvas, x, y float64) {
			c.open("name-end " + hueClass(e.style))
			if e.published {
				c.marker(Box, x, y, 2.6)
			} else {
				c.marker(e.style.Marker, x, y, 3.2)
			}
			c.close()
		}})
	}
	c.height = c.legend(c.height, keys)
}

func (c *canvas) endNames(a plot, ends []namedEnd) {
	if a.below {
		c.namesBelow(ends)
		return
	}
	labels := make([]label, len(ends))
	for i, e := range ends {
		labels[i] = label{text: e.name, want: e.y}
	}
	spread(labels, 13.5, a.top+2, a.bottom-2)
	for i, e := range ends {
		y := labels[i].at
		class := "name-end " + hueClass(e.style)
		c.open(class)
		c.path("lead", "", [][2]float64{{e.x + 5, e.y}, {a.right + 3, e.y}, {a.right + 11, y},
			{a.right + 14, y}})
		text := "label"
		switch {
		case e.published:
			c.marker(Box, a.right+19, y, 2.6)
			text = "label it"
		default:
			c.marker(e.style.Marker, a.right+19, y, 3.2)
		}
		if e.strong {
			text += " strong"
		}
		c.text(text, "start", a.right+26, y+4, e.name)
		c.close()
	}
}
