package figure

// A strip plot compares models at one point: a row for each, a dot for each round.

import "math"

// A StripRow is one model.
type StripRow struct {
	Name      string
	Style     Style
	Note      string // "4.31 (4.25–4.40)"
	Dots      []float64
	Centre    float64 // the estimate over the rounds
	Low, High float64 // 95 % interval of it
	Twin      bool    // the baseline again: A against A
	Strong    bool    // a claim is about it
}

// Strip is a figure of rows, in the order given.
type Strip struct {
	Frame
	Axis string
	Unit string
	Log  bool
	Rows []StripRow
}

// SVG draws it.
func (p Strip) SVG(w Width) string {
	const rowHeight = 24.
	c := newCanvas(w, 0)
	left, right := p.sides(w)
	top := c.legend(0, []key{
		{"a round", func(c *canvas, x, y float64) { c.marker(Circle, x, y, 2.4) }},
		{"estimate with 95 % interval", func(c *canvas, x, y float64) { c.centre(x-9, x, x+9, y) }},
	}) + 6
	bottom := top + rowHeight*float64(len(p.Rows))
	c.height = bottom + 44
	e := newExtent(p.Log)
	for _, r := range p.Rows {
		e.add(r.Dots...)
		e.add(r.Centre)
	}
	x := e.fromZero(left, right)
	if p.Log {
		x = e.scale(.05, left, right)
	}
	ticks := x.fittingTicks(max(3, int((right-left)/70)), p.Unit)
	for _, t := range ticks {
		c.line("grid", x.at(t), top, x.at(t), bottom)
	}
	c.tickLabels(x, ticks, p.Unit, bottom+16)
	c.line("axis", left, bottom, right, bottom)
	c.height += c.axisName((left+right)/2, bottom+36, p.Axis)
	for i, r := range p.Rows {
		c.stripRow(x, r, top+rowHeight*(float64(i)+.5), w)
	}
	return c.svg(p.Frame)
}

// sides leaves room for names on the left and, where the drawing is wide, for figures on the right.
func (p Strip) sides(w Width) (left, right float64) {
	name, note := 0., 0.
	for _, r := range p.Rows {
		name, note = max(name, textWidth(r.Name)), max(note, textWidth(r.Note))
	}
	left, right = min(name, 190)+22, float64(w)-10
	if w >= Wide {
		right = float64(w) - min(note, 210) - 12
	}
	return left, right
}

func (c *canvas) stripRow(x scale, r StripRow, y float64, w Width) {
	class := hueClass(r.Style)
	if r.Twin {
		class += " twin"
	}
	c.open(class)
	c.marker(r.Style.Marker, 6, y, 3.6)
	name := "label"
	if r.Strong {
		name = "label strong"
	}
	if r.Twin {
		name = "tm"
	}
	c.text(name, "start", 16, y+4, r.Name)
	c.line("row", x.from, y, x.to, y)
	at := make([]float64, len(r.Dots))
	for i, d := range r.Dots {
		at[i] = x.at(d)
	}
	c.dots(at, swarm(at, 2.5, 7), y)
	if !math.IsNaN(r.Centre) {
		c.centre(x.at(r.Low), x.at(r.Centre), x.at(r.High), y)
	}
	if w >= Wide {
		c.text("note", "end", c.width-2, y+4, r.Note)
	}
	c.close()
}

// dots are drawn as the round ends of lines without length: a tenth of the bytes of circles.
func (c *canvas) dots(x, offsets []float64, y float64) {
	if len(x) == 0 {
		return
	}
	c.printf("<path class=\"rd\" d=\"")
	for i := range x {
		c.printf("M%s %sh0", num(x[i]), num(y+offsets[i]))
	}
	c.printf("\"/>\n")
}

// centre is a bar at the estimate and a line over its interval.
func (c *canvas) centre(low, at, high, y float64) {
	c.line("ci", low, y, high, y)
	c.line("est", at, y-7, at, y+7)
}

func hueClass(s Style) string { return "h" + string(rune('0'+s.Hue)) }
