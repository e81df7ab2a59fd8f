package figure

// A legend is one line of keys above a figure, or several where the figure is narrow.

// A key is a small drawing and its words.
type key struct {
	text string
	draw func(c *canvas, x, y float64) // in a box 18 wide, centred at (x, y)
}

const (
	legendLine  = 18 // pixels from one line of keys to the next
	keyWidth    = 24 // of the drawing, with the space after it
	keyDistance = 18
)

// legend draws keys from a height down, wrapping, and returns where they end.
func (c *canvas) legend(top float64, keys []key) float64 {
	x, y := 0., top+10
	for i, k := range keys {
		w := keyWidth + .94*textWidth(k.text)
		if i > 0 && x+w > c.width {
			x, y = 0, y+legendLine
		}
		k.draw(c, x+8, y)
		c.text("tm", "start", x+keyWidth-2, y+4, k.text)
		x += w + keyDistance
	}
	return y + 12
}
