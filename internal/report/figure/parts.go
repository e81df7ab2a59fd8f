package figure

// Parts are bars of which each is a sum: where the time of a response goes, a row for each model.

// A PartsRow is one model.
type PartsRow struct {
	Name   string
	Style  Style
	Parts  []float64 // one for each of the figure's names
	Note   string    // "183 µs"
	Strong bool      // a claim is about it
}

// Parts is a figure of rows, in the order given. The parts are told apart by how full
// their colour is.
type Parts struct {
	Frame
	Axis  string
	Unit  string
	Names []string // of the parts, from the left: five at most
	Rows  []PartsRow
}

// SVG draws it.
func (p Parts) SVG(w Width) string {
	const rowHeight, barHeight = 26., 14.
	c := newCanvas(w, 0)
	left, right := p.sides(w)
	var keys []key
	for i, name := range p.Names {
		keys = append(keys, key{name,
			func(c *canvas, x, y float64) { c.rect(partClass(i), x-8, y-6, 16, 12) }})
	}
	c.open("h7")
	top := c.legend(0, keys) + 6
	c.close()
	bottom := top + rowHeight*float64(len(p.Rows))
	c.height = bottom + 44
	e := newExtent(false)
	for _, r := range p.Rows {
		e.add(sum(r.Parts))
	}
	x := e.fromZero(left, right)
	ticks := x.fittingTicks(max(3, int((right-left)/70)), p.Unit)
	for _, t := range ticks {
		c.line("grid", x.at(t), top, x.at(t), bottom)
	}
	c.tickLabels(x, ticks, p.Unit, bottom+16)
	c.line("axis", left, bottom, right, bottom)
	c.height += c.axisName((left+right)/2, bottom+36, p.Axis)
	for i, r := range p.Rows {
		y := top + rowHeight*(float64(i)+.5)
		c.open(hueClass(r.Style))
		c.marker(r.Style.Marker, 6, y, 3.6)
		name := "label"
		if r.Strong {
			name += " strong"
		}
		c.text(name, "start", 16, y+4, r.Name)
		from := 0.
		for j, v := range r.Parts {
			c.rect(partClass(j), x.at(from), y-barHeight/2, x.at(from+v)-x.at(from), barHeight)
			from += v
		}
		if w >= Wide {
			c.text("note", "end", c.width-2, y+4, r.Note)
		}
		c.close()
	}
	return c.svg(p.Frame)
}

// sides leaves room for names on the left and, where the drawing is wide, for figures on the right.
func (p Parts) sides(w Width) (left, right float64) {
	name, note := 0., 0.
	for _, r := range p.Rows {
		name, note = max(name, textWidth(r.Name)), max(note, textWidth(r.Note))
	}
	left, right = min(1.07*name, 190)+24, float64(w)-10 // bold names are wider
	if w >= Wide {
		right = float64(w) - min(note, 210) - 12
	}
	return left, right
}

func partClass(i int) string { return "part p" + string(rune('0'+i%5)) }

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}
