// Package figure draws the report's figures as SVG: interval plots, sweeps, strips of models,
// quantile plots and time series.
//
// The trade: no chart library and no script, so a figure prints, diffs, and is the same bytes for
// the same data; what is lost is zooming, which only the time series needs. A figure is drawn for a
// width, because scaled-down text is text nobody reads: the page holds one for paper and one for a
// phone. Colours come from CSS classes (figure.css), so that dark and light are one drawing.
package figure

import (
	_ "embed"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// Width is that of a drawing, in CSS pixels.
type Width float64

// The two widths that a page needs.
const (
	Wide   Width = 736
	Narrow Width = 344
)

// Styles are the rules that the classes of a figure refer to; a page holds them once.
//
//go:embed figure.css
var Styles string

// A Frame is what all figures have in common.
type Frame struct {
	ID    string // of the element; unique in a page
	Title string // what it shows, for a reader who hears it
	Desc  string // what is to be seen, in a sentence or two
}

// canvas collects the elements of one drawing.
type canvas struct {
	b             strings.Builder
	width, height float64
}

func newCanvas(w Width, height float64) *canvas {
	return &canvas{width: float64(w), height: height}
}

// svg closes the drawing.
func (c *canvas) svg(f Frame) string {
	size := "wide"
	if c.width < float64(Wide) {
		size = "narrow"
	}
	id := html.EscapeString(f.ID) + "-" + size
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="fig %s" id="%s" viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-labelledby="%s-t %s-d">`+
		"\n<title id=\"%s-t\">%s</title>\n<desc id=\"%s-d\">%s</desc>\n%s</svg>\n",
		size, id, num(c.width), num(c.height), num(c.width), num(c.height), id, id,
		id, html.EscapeString(f.Title), id, html.EscapeString(f.Desc), c.b.String())
}

// num writes a coordinate with at most one decimal: a tenth of a pixel is not seen.
func num(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	s := strconv.FormatFloat(v, 'f', 1, 64)
	s = strings.TrimSuffix(s, ".0")
	if s == "-0" {
		return "0"
	}
	return s
}

func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(&c.b, format, args...) }

func (c *canvas) open(class string) { c.printf("<g class=\"%s\">\n", class) }
func (c *canvas) close()            { c.printf("</g>\n") }

// title names the group that was just opened, for a pointer that rests on it.
func (c *canvas) title(s string) { c.printf("<title>%s</title>\n", html.EscapeString(s)) }

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.printf("<line class=\"%s\" x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"/>\n", class, num(x1),
		num(y1), num(x2), num(y2))
}

func (c *canvas) rect(class string, x, y, w, h float64) {
	c.printf("<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n", class, num(x),
		num(y), num(max(w, 0)), num(max(h, 0)))
}

// text anchors at start, middle or end of (x, y).
func (c *canvas) text(class, anchor string, x, y float64, s string) {
	if anchor != "start" {
		class += " " + anchor
	}
	c.printf("<text class=\"%s\" x=\"%s\" y=\"%s\">%s</text>\n", class, num(x), num(y),
		html.EscapeString(s))
}

// nameLine is the height of a line of an axis' name.
const nameLine = 14

// axisName writes the name of an x axis around its middle, in two lines where the drawing is too
// narrow for one, and returns the height of the second.
func (c *canvas) axisName(middle, y float64, s string) float64 {
	fits := func(s string) float64 {
		half := .49 * textWidth(s)
		return min(max(middle, half), max(c.width-half, half))
	}
	if .98*textWidth(s) <= c.width {
		c.text("name", "middle", fits(s), y, s)
		return 0
	}
	words := strings.Fields(s)
	first := words[0]
	for len(words) > 2 && textWidth(first) < textWidth(s)/2 {
		words = words[1:]
		first += " " + words[0]
	}
	rest := strings.TrimSpace(strings.TrimPrefix(s, first))
	c.text("name", "middle", fits(first), y, first)
	c.text("name", "middle", fits(rest), y+nameLine, rest)
	return nameLine
}

// path draws through points; dash is an SVG dash pattern or empty.
func (c *canvas) path(class, dash string, points [][2]float64) {
	if len(points) == 0 {
		return
	}
	var d strings.Builder
	for i, p := range points {
		letter := byte('L')
		if i == 0 {
			letter = 'M'
		}
		d.WriteByte(letter)
		d.WriteString(num(p[0]) + " " + num(p[1]))
	}
	if dash != "" {
		dash = ` stroke-dasharray="` + dash + `"`
	}
	c.printf("<path class=\"%s\"%s d=\"%s\"/>\n", class, dash, d.String())
}

// area fills the space between an upper and a lower edge.
func (c *canvas) area(class string, upper, lower [][2]float64) {
	if len(upper) == 0 {
		return
	}
	var d strings.Builder
	for i, p := range upper {
		letter := byte('L')
		if i == 0 {
			letter = 'M'
		}
		d.WriteByte(letter)
		d.WriteString(num(p[0]) + " " + num(p[1]))
	}
	for i := len(lower) - 1; i >= 0; i-- {
		d.WriteString("L" + num(lower[i][0]) + " " + num(lower[i][1]))
	}
	c.printf("<path class=\"%s\" d=\"%sZ\"/>\n", class, d.String())
}

// textWidth guesses the width of a text at 12 pixels in a wide sans-serif face: what fits by this
// guess fits in any common one.
func textWidth(s string) float64 {
	w := 0.0
	for _, r := range s {
		switch {
		case strings.ContainsRune("ijlI.,:;|'!()[]ft \u202f\u2009", r):
			w += 4.4
		case strings.ContainsRune("mwMW@%–→←", r):
			w += 10.4
		case r >= 'A' && r <= 'Z':
			w += 8.4
		default:
			w += 7.4
		}
	}
	return w
}
