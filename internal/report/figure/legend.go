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

// legend draws keys from the left, wrapping, and returns the height that they took.
func (c *canvas) legend(keys []key, left float64) float64 { return c.legendFrom(0, keys, left) }

// legendFrom draws them from a height down, and returns where they end.
func (c *canvas) legendFrom(top float64, keys []key, left float64) float64 {
	x, y := left, top+10
	for i, k := range keys {
		w := keyWidth + .94*textWidth(k.text)
		if i > 0 && x+w > c.width {
			x, y = left, y+legendLine
		}
		k.draw(c, x+8, y)
		c.text("tm", "start", x+keyWidth-2, y+4, k.text)
		x += w + keyDistance
	}
	return y + 12
}
