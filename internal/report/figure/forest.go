package figure

// A forest plot: many statements on one axis of ratios, a row for each.

import (
	"math"

	"interleave/internal/quantity"
)

// Shape is how an estimate is drawn in a forest: by its verdict, so that not colour alone tells it.
type Shape string

// The shapes; the page defines an element of each name.
const (
	Round    Shape = "at-round"
	Squared  Shape = "at-square"
	Hollow   Shape = "at-hollow"
	pubShape       = "at-published"
	gridName       = "at-grid"
)

// A ForestRow is one statement. Figures that are not there are NaN.
type ForestRow struct {
	Shape               Shape
	Estimate            float64
	Low, High           float64 // 95 % interval; infinite = the data do not bound it
	InnerLow, InnerHigh float64 // 90 % interval
	Published           float64
	Accept              [2]float64 // 0 and infinite are open
	Others              []float64  // estimates of comparisons that do not decide
}

// A Forest is the axis that rows share. What it draws has no width of its own: places are shares of
// the room that the page gives, so that one drawing serves a screen, a phone and paper.
type Forest struct {
	x     scale // in percent
	ticks []float64
}

// NewForest is an axis that holds all estimates, published figures and ends of margins up to a
// ratio, and down to its inverse: what lies beyond is an arrow at the edge. It has no more ticks
// than that.
func NewForest(rows []ForestRow, most float64, ticks int) *Forest {
	e := newExtent(true)
	e.add(.6, 1.7) // an axis without room around 1 makes small effects look large
	for _, r := range rows {
		for _, v := range []float64{r.Estimate, r.Published, r.Accept[0], r.Accept[1]} {
			if v > 0 && !math.IsInf(v, 1) {
				e.add(min(max(v, 1/most), most))
			}
		}
	}
	f := &Forest{x: e.scale(.04, 0, 100)}
	for _, mantissas := range [][]float64{{1, 1.5, 2, 3, 5, 7}, {1, 2, 5}, {1, 3}, {1}} {
		f.ticks = logTicks(f.x.low, f.x.high, mantissas, 1)
		if len(f.ticks) <= ticks {
			break
		}
	}
	return f
}

// Grid is the element that the strips of this axis refer to: a line at each tick, and one at 1 that
// is stronger.
func (f *Forest) Grid(id string) string {
	c := &canvas{}
	c.printf("<symbol id=\"%s-%s\">", gridName, id)
	for _, t := range f.ticks {
		color := "var(--rule)"
		if t == 1 {
			color = "var(--axis)"
		}
		c.printf(`<line x1="%s" x2="%s" y1="0" y2="100%%" stroke="%s"/>`, f.at(t), f.at(t), color)
	}
	c.printf("</symbol>\n")
	return c.b.String()
}

// at is the place of a ratio.
func (f *Forest) at(v float64) string { return num(f.x.at(v)) + "%" }

// Axis writes the labels of the ticks.
func (f *Forest) Axis() string {
	c := &canvas{}
	c.printf("<svg class=\"fig ticks\" aria-hidden=\"true\">")
	for _, t := range f.ticks {
		anchor := "middle"
		switch at := f.x.at(t); {
		case at < 4:
			anchor = "start"
		case at > 96:
			anchor = "end"
		}
		c.printf("<text class=\"tick %s\" x=\"%s\" y=\"1em\">%s</text>", anchor, f.at(t),
			quantity.Tick(t, ""))
	}
	c.printf("</svg>")
	return c.b.String()
}

// Strip draws a row above the grid of this name. It says nothing that the row's text does not, so
// readers who hear the page are spared it.
func (f *Forest) Strip(r ForestRow, grid string) string {
	c := &canvas{}
	c.printf("<svg class=\"fig strip\" aria-hidden=\"true\">")
	f.accept(c, r)
	c.printf("<use href=\"#%s-%s\" width=\"100%%\" height=\"100%%\"/>", gridName, grid)
	for _, v := range r.Others {
		if v > 0 && f.x.inside(v) {
			c.printf("<line class=\"other\" x1=\"%s\" x2=\"%s\" y1=\"38%%\" y2=\"62%%\"/>", f.at(v),
				f.at(v))
		}
	}
	if r.Published > 0 && f.x.inside(r.Published) {
		c.use(pubShape, f.at(r.Published))
	}
	if !math.IsNaN(r.Estimate) {
		f.span(c, "ci", r.Low, r.High)
		if r.InnerHigh > r.InnerLow {
			f.span(c, "ci90", r.InnerLow, r.InnerHigh)
		}
		f.beyond(c, r)
		if f.x.inside(r.Estimate) {
			c.use(string(r.Shape), f.at(r.Estimate))
		}
	}
	c.printf("</svg>")
	return c.b.String()
}

// Bare is a row without any statement.
func (f *Forest) Bare(grid string) string {
	return f.Strip(ForestRow{Estimate: math.NaN(), Accept: [2]float64{0, math.Inf(1)}}, grid)
}

// use places a shape of the page in the middle of the row.
func (c *canvas) use(name, x string) {
	c.printf("<use href=\"#%s\" x=\"%s\" y=\"50%%\"/>", name, x)
}

// accept shades what reproduces the claim.
func (f *Forest) accept(c *canvas, r ForestRow) {
	low, high := r.Accept[0], r.Accept[1]
	if !(low > 0) && !(high < math.Inf(1)) {
		return
	}
	from, to := 0., 100.
	if low > 0 {
		from = f.x.at(low)
	}
	if !math.IsInf(high, 1) {
		to = f.x.at(high)
	}
	c.printf("<rect class=\"accept\" x=\"%s%%\" width=\"%s%%\" height=\"100%%\"/>", num(from),
		num(max(to-from, 0)))
}

// span is a line over an interval.
func (f *Forest) span(c *canvas, class string, low, high float64) {
	if math.IsNaN(low) || math.IsNaN(high) || !(high > low) {
		return
	}
	c.printf("<line class=\"%s\" x1=\"%s\" x2=\"%s\" y1=\"50%%\" y2=\"50%%\"/>", class, f.at(low),
		f.at(high))
}

// beyond marks ends that lie outside of the axis.
func (f *Forest) beyond(c *canvas, r ForestRow) {
	if min(r.Estimate, orNumber(r.Low, r.Estimate)) < f.x.low {
		c.printf("<use href=\"#at-less\" x=\"0\" y=\"50%%\"/>")
	}
	if max(r.Estimate, orNumber(r.High, r.Estimate)) > f.x.high {
		c.printf("<use href=\"#at-more\" x=\"100%%\" y=\"50%%\"/>")
	}
}

// orNumber is v, or another number where v is none.
func orNumber(v, other float64) float64 {
	if math.IsNaN(v) {
		return other
	}
	return v
}
