package figure

// The figure of a claim: what each round said, the interval they make together, and the region in
// which it reproduces the claim.

import "math"

// An IntervalRow is one comparison of a claim.
type IntervalRow struct {
	Label               string    // "64"
	Note                string    // the figures: "1.42 (1.38–1.47)"
	Dots                []float64 // one for each round
	Estimate            float64   //
	Low, High           float64   // 95 % interval; infinite = the data do not bound it
	InnerLow, InnerHigh float64   // 90 % interval
	Published           float64   // NaN if the source gives none
	Accept              [2]float64
	Noise               [2]float64 // 95 % interval of A against A at the same point; NaN = none
}

// Intervals is an interval plot of one claim.
type Intervals struct {
	Frame
	Axis        string // what the axis shows: "mean CPU, c-process by go-goroutine"
	Unit        string
	Log         bool    // ratios
	Reference   float64 // a line all the way down: 1 for ratios; NaN = none
	Less, More  string  // what lies to the left and to the right of it
	LabelHead   string  // above the labels: "connections"
	Rows        []IntervalRow
	NoiseLegend string // "go-goroutine against itself"
}

type intervalLayout struct {
	row, head                float64 // the height of a row, and of the line of text in it
	dots, bar, noise         float64 // from a row's top to its parts
	left, right, top, bottom float64
	stacked                  bool // labels above the rows
	x                        scale
}

// SVG draws it.
func (p Intervals) SVG(w Width) string {
	c := newCanvas(w, 0)
	l := p.layout(w)
	l.top += c.legend(0, p.keys())
	l.bottom = l.top + l.row*float64(len(p.Rows))
	c.height = l.bottom + 46
	p.region(c, l)
	p.axis(c, l)
	for i, r := range p.Rows {
		p.row(c, l, r, l.top+float64(i)*l.row)
	}
	return c.svg(p.Frame)
}

func (p Intervals) layout(w Width) intervalLayout {
	l := intervalLayout{row: 40, dots: 13, bar: 27, noise: 34, top: 22, left: 8,
		right: float64(w) - 8}
	if w < Wide {
		l.stacked = true
		l.row, l.head, l.dots, l.bar, l.noise = 62, 20, 33, 48, 55
		l.left, l.right = 6, float64(w)-6
	} else {
		widest := textWidth(p.LabelHead)
		note := 0.
		for _, r := range p.Rows {
			widest = max(widest, textWidth(r.Label))
			note = max(note, textWidth(r.Note))
		}
		l.left = min(widest, 210) + 14
		l.right = float64(w) - min(note, 210) - 14
	}
	if math.IsNaN(p.Reference) && (p.LabelHead == "" || l.stacked) {
		l.top = 8 // nothing is written above the rows
	}
	e := newExtent(p.Log)
	e.add(p.Reference)
	for _, r := range p.Rows {
		e.add(r.Dots...)
		e.add(r.Estimate, r.Low, r.High, r.Published, r.Noise[0], r.Noise[1])
		if r.Accept[0] > 0 {
			e.add(r.Accept[0])
		}
		e.add(r.Accept[1])
	}
	l.x = e.scale(.06, l.left, l.right)
	return l
}

func (p Intervals) keys() []key {
	keys := []key{
		{"a round", func(c *canvas, x, y float64) {
			c.printf("<circle class=\"dot\" cx=\"%s\" cy=\"%s\" r=\"2.6\"/>\n", num(x), num(y))
		}},
		{"estimate, 90 % and 95 % interval",
			func(c *canvas, x, y float64) { c.interval(x-9, x-6, x, x+6, x+9, y) }},
	}
	published, noise, region := false, false, false
	for _, r := range p.Rows {
		published = published || !math.IsNaN(r.Published)
		noise = noise || !math.IsNaN(r.Noise[0])
		region = region || r.Accept[0] > 0 || !math.IsInf(r.Accept[1], 1)
	}
	if published {
		keys = append(keys, key{"published", func(c *canvas, x, y float64) { c.published(x, y+4) }})
	}
	if region {
		keys = append(keys, key{"reproduces the claim",
			func(c *canvas, x, y float64) { c.rect("accept", x-9, y-6, 18, 12) }})
	}
	if noise {
		text := "noise floor: A against A"
		if p.NoiseLegend != "" {
			text = "noise floor: " + p.NoiseLegend
		}
		keys = append(keys, key{text,
			func(c *canvas, x, y float64) { c.rect("noise", x-9, y-1.5, 18, 3) }})
	}
	return keys
}

// region shades what reproduces the claim, row by row.
func (p Intervals) region(c *canvas, l intervalLayout) {
	for i, r := range p.Rows {
		low, high := r.Accept[0], r.Accept[1]
		if low <= 0 && math.IsInf(high, 1) {
			continue
		}
		from, to := l.left, l.right
		if low > 0 {
			from = l.x.at(low)
		}
		if !math.IsInf(high, 1) {
			to = l.x.at(high)
		}
		y, end := l.top+float64(i)*l.row+l.head, l.top+float64(i+1)*l.row
		c.rect("accept", from, y, to-from, end-y)
		for _, side := range []float64{low, high} {
			if side > 0 && !math.IsInf(side, 1) {
				c.line("edge", l.x.at(side), y, l.x.at(side), end)
			}
		}
	}
}

func (p Intervals) axis(c *canvas, l intervalLayout) {
	ticks := l.x.fittingTicks(max(3, int((l.right-l.left)/70)), p.Unit)
	for _, t := range ticks {
		p.down(c, l, "grid", l.x.at(t))
	}
	c.tickLabels(l.x, ticks, p.Unit, l.bottom+16)
	for i := range len(p.Rows) + 1 {
		y := l.top + float64(i)*l.row
		c.line("grid", 0, y, c.width, y)
	}
	c.line("axis", l.left, l.bottom, l.right, l.bottom)
	c.height += c.axisName((l.left+l.right)/2, l.bottom+36, p.Axis)
	if !math.IsNaN(p.Reference) && l.x.inside(p.Reference) {
		x := l.x.at(p.Reference)
		p.down(c, l, "one", x)
		p.sides(c, l, x)
	}
	if !l.stacked && p.LabelHead != "" {
		c.text("head", "start", 2, l.top-8, p.LabelHead)
	}
}

// down draws a line through all rows that leaves the text in them free.
func (p Intervals) down(c *canvas, l intervalLayout, class string, x float64) {
	if l.head == 0 {
		c.line(class, x, l.top, x, l.bottom)
		return
	}
	for i := range p.Rows {
		c.line(class, x, l.top+float64(i)*l.row+l.head, x, l.top+float64(i+1)*l.row)
	}
}

// sides says what lies on either side of the reference, where there is room.
func (p Intervals) sides(c *canvas, l intervalLayout, x float64) {
	if less := "← " + p.Less; p.Less != "" && x-l.left > .94*textWidth(less)+8 {
		c.text("tm", "end", x-8, l.top-8, less)
	}
	if more := p.More + " →"; p.More != "" && l.right-x > .94*textWidth(more)+8 {
		c.text("tm", "start", x+8, l.top-8, more)
	}
}

func (p Intervals) row(c *canvas, l intervalLayout, r IntervalRow, y float64) {
	if l.stacked {
		c.text("label", "start", 4, y+15, r.Label)
		c.text("note", "end", c.width-4, y+15, r.Note)
	} else {
		c.text("label", "start", 2, y+l.row/2+4, r.Label)
		c.text("note", "end", c.width-2, y+l.row/2+4, r.Note)
	}
	if !math.IsNaN(r.Noise[0]) && !math.IsNaN(r.Noise[1]) {
		from, to := l.x.at(r.Noise[0]), l.x.at(r.Noise[1])
		c.rect("noise", from, y+l.noise-1.5, max(to-from, 1.5), 3)
	}
	at := make([]float64, len(r.Dots))
	for i, d := range r.Dots {
		at[i] = l.x.at(d)
	}
	for i, offset := range swarm(at, 2.8, 8) {
		c.printf("<circle class=\"dot\" cx=\"%s\" cy=\"%s\" r=\"2.6\"/>\n", num(at[i]),
			num(y+l.dots+offset))
	}
	if !math.IsNaN(r.Published) {
		c.published(l.x.at(r.Published), y+l.bar-2)
	}
	if !math.IsNaN(r.Estimate) {
		c.interval(l.x.at(r.Low), l.x.at(r.InnerLow), l.x.at(r.Estimate), l.x.at(r.InnerHigh),
			l.x.at(r.High), y+l.bar)
		c.beyond(l, r, y+l.bar)
	}
}

// beyond marks ends that lie outside: the data do not bound that side.
func (c *canvas) beyond(l intervalLayout, r IntervalRow, y float64) {
	if !l.x.inside(r.Low) {
		c.shape("arrow", l.left, y, [][2]float64{{0, 0}, {7, -4}, {7, 4}})
	}
	if !l.x.inside(r.High) {
		c.shape("arrow", l.right, y, [][2]float64{{0, 0}, {-7, -4}, {-7, 4}})
	}
}

// interval is a thin line for 95 %, a thick one for 90 %, and a bar at the estimate.
func (c *canvas) interval(low, innerLow, estimate, innerHigh, high, y float64) {
	c.line("ci", low, y, high, y)
	c.line("ci", low, y-3, low, y+3)
	c.line("ci", high, y-3, high, y+3)
	if innerHigh > innerLow {
		c.line("ci90", innerLow, y, innerHigh, y)
	}
	c.line("est", estimate, y-6.5, estimate, y+6.5)
}

// published is a triangle that points down to the figure of the source.
func (c *canvas) published(x, y float64) {
	c.shape("pub", x, y, [][2]float64{{0, 0}, {-5, -9}, {5, -9}})
}
