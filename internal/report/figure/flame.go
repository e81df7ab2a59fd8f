package figure

// A flame graph, hanging: what the CPU was busy with, each function below the one that called it
// and as wide as its share.

import (
	"fmt"
	"strings"

	"interleave/internal/quantity"
)

// A Call is a function, its share of all samples, and what it called.
type Call struct {
	Name  string
	Share float64 // 0 to 1
	Calls []Call
}

// Flame is the figure of one server.
type Flame struct {
	Frame
	Style Style
	Roots []Call
}

const (
	flameRow   = 17.
	leastWidth = 1.2 // pixels: what is narrower is not drawn
)

// SVG draws it.
func (p Flame) SVG(w Width) string {
	c := newCanvas(w, 0)
	c.open(hueClass(p.Style))
	p.row(c, p.Roots, 0, 0)
	c.close()
	c.height += 4
	return c.svg(p.Frame)
}

// row draws calls beside each other from x on, and what they call below.
func (p Flame) row(c *canvas, calls []Call, x float64, depth int) {
	y := flameRow * float64(depth)
	for i, call := range calls {
		width := call.Share * c.width
		if width >= leastWidth {
			c.height = max(c.height, y+flameRow)
			c.open("call")
			c.title(fmt.Sprintf("%s, %s %%", call.Name, quantity.Trim(100*call.Share, 3)))
			c.rect(fmt.Sprintf("f%d", (depth+i)%3), x, y, width, flameRow)
			if text := fitting(call.Name, width-6); text != "" {
				c.text("tick ink", "start", x+3, y+12.5, text)
			}
			c.close()
			p.row(c, call.Calls, x, depth+1)
		}
		x += width
	}
}

// fitting is as much of a name as there is room for, its end first: of a class and a method the
// latter says more.
func fitting(name string, room float64) string {
	if textWidth(name) <= room {
		return name
	}
	for {
		_, rest, found := strings.Cut(name, ".")
		if !found {
			break
		}
		if name = rest; textWidth(name) <= room {
			return name
		}
	}
	text := []rune(name)
	for len(text) > 3 {
		text = text[:len(text)-1]
		if textWidth(string(text)+"…") <= room {
			return string(text) + "…"
		}
	}
	return ""
}
