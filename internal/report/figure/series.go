package figure

// CPU over time of one cell, for paper and for those without script; the page's own is zoomable.

// A TimeSeries is a line over seconds.
type TimeSeries struct {
	Frame
	YName string
	YUnit string
	Style Style
	X, Y  []float64  // seconds since the start, and the value up to then
	Span  [2]float64 // the measuring window, shaded
}

// SVG draws it.
func (p TimeSeries) SVG(w Width) string {
	const height = 240.
	c := newCanvas(w, height)
	a := plot{top: 26, bottom: height - 46, left: 44, right: float64(w) - 8}
	ex, ey := newExtent(false), newExtent(false)
	ex.add(0)
	ex.add(p.X...)
	ey.add(p.Y...)
	a.x = scale{low: ex.low, high: max(ex.high, ex.low+1e-3), from: a.left, to: a.right}
	a.y = ey.fromZero(a.bottom, a.top)
	c.rect("accept", a.x.at(p.Span[0]), a.top, a.x.at(p.Span[1])-a.x.at(p.Span[0]), a.bottom-a.top)
	c.text("name", "start", 0, 12, p.YName)
	c.axes(a, a.x.fittingTicks(int(float64(w)/80), ""), "", a.y.ticks(4, p.YUnit), p.YUnit,
		"seconds since the server was ready")
	points := make([][2]float64, len(p.X))
	for i := range p.X {
		points[i] = [2]float64{a.x.at(p.X[i]), a.y.at(p.Y[i])}
	}
	c.open("line strong " + hueClass(p.Style))
	c.path("ln", "", points)
	c.close()
	return c.svg(p.Frame)
}
