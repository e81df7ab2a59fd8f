package figure

// How a model looks: the colour says its concurrency model, marker and dash tell the models of one
// colour apart. Never colour alone: every line also bears its name.

import (
	"maps"
	"slices"
)

// A Style is how one model is drawn in every figure of a report.
type Style struct {
	Hue    int    // class h0 .. h9 of figure.css
	Marker Marker //
	Dash   string // SVG dash pattern; empty = solid
}

// Marker is a shape.
type Marker int

// The shapes, in the order in which they are given out.
const (
	Circle Marker = iota
	Square
	Diamond
	Triangle
	Ring
	Box
	Cross
	Down
	numMarkers
)

// hues are the Okabe-Ito colours by the word of docs/models.md. A word that is not here is grey.
var hues = map[string]int{
	"process": 1, "thread": 2, "loop": 3, "prefork": 4, "goroutine": 5,
	"actor": 6, "virtual": 7, "async": 8, "green": 9, "task": 9,
}

var dashes = []string{"", "7 3", "2 3", "8 3 2 3", "12 4", "4 2 1 2"}

// StylesFor gives each model its style, the same for the same set of models: name -> word of the
// concurrency model.
func StylesFor(words map[string]string) map[string]Style {
	styles := map[string]Style{}
	used := map[int]int{} // models so far of a hue
	for i, name := range slices.Sorted(maps.Keys(words)) {
		hue := hues[words[name]]
		n := used[hue]
		used[hue]++
		styles[name] = Style{Hue: hue, Marker: Marker((i + n) % int(numMarkers)),
			Dash: dashes[n%len(dashes)]}
	}
	return styles
}

// marker draws a shape of about r pixels around (x, y).
func (c *canvas) marker(m Marker, x, y, r float64) {
	switch m {
	case Circle:
		c.printf("<circle class=\"mk\" cx=\"%s\" cy=\"%s\" r=\"%s\"/>\n", num(x), num(y), num(r))
	case Ring:
		c.printf("<circle class=\"mo\" cx=\"%s\" cy=\"%s\" r=\"%s\"/>\n", num(x), num(y), num(r))
	case Square:
		c.rect("mk", x-.9*r, y-.9*r, 1.8*r, 1.8*r)
	case Box:
		c.rect("mo", x-.9*r, y-.9*r, 1.8*r, 1.8*r)
	case Diamond:
		c.shape("mk", x, y, [][2]float64{{0, -1.3 * r}, {1.3 * r, 0}, {0, 1.3 * r}, {-1.3 * r, 0}})
	case Triangle:
		c.shape("mk", x, y, [][2]float64{{0, -1.2 * r}, {1.2 * r, .9 * r}, {-1.2 * r, .9 * r}})
	case Down:
		c.shape("mk", x, y, [][2]float64{{0, 1.2 * r}, {1.2 * r, -.9 * r}, {-1.2 * r, -.9 * r}})
	case Cross:
		c.printf("<path class=\"mx\" d=\"M%s %sL%s %sM%s %sL%s %s\"/>\n",
			num(x-r), num(y-r), num(x+r), num(y+r), num(x-r), num(y+r), num(x+r), num(y-r))
	}
}

func (c *canvas) shape(class string, x, y float64, corners [][2]float64) {
	points := make([][2]float64, len(corners))
	for i, p := range corners {
		points[i] = [2]float64{x + p[0], y + p[1]}
	}
	c.area(class, points, nil)
}
