package web

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/image/vector"
)

// Systems on which the page is installed want its icon as PNG. The PNGs are drawn from icon.svg,
// which has paths and circles only.

// An icon is a PNG of the page.
type icon struct {
	size int     // pixels of a side
	part float32 // of the side that the picture takes
	// ground is what is behind the picture; nil: nothing. A system that cuts icons to a shape of
	// its own, as iOS and Android do, needs one.
	ground color.Color
}

// paper is the ground of the page in light colours (style.css, --side).
var paper = color.NRGBA{0xfb, 0xf5, 0xec, 0xff}

// icons are the PNGs by their names. In a maskable one a circle with 40 % of the side as its radius
// is always seen (W3C, Web Application Manifest, "Icon masks and safe zone").
var icons = map[string]icon{
	"icon-192.png":         {192, 1, nil},
	"icon-512.png":         {512, 1, nil},
	"icon-maskable.png":    {512, .74, paper},
	"apple-touch-icon.png": {180, .8, paper},
}

// A drawing is what an SVG shows, in units of its square.
type drawing struct {
	side   float32
	shapes []shape
}

// A shape is what a path encloses, in one colour.
type shape struct {
	fill  color.NRGBA
	steps []step
}

// A step goes to a point: by a cubic Bézier curve with two control points, or without drawing.
type step struct {
	moves    bool
	a, b, to point
}

type point struct{ x, y float32 }

func (p point) plus(q point) point { return point{p.x + q.x, p.y + q.y} }

// png draws an icon.
func (d *drawing) png(i icon) []byte {
	out := image.NewRGBA(image.Rect(0, 0, i.size, i.size))
	if i.ground != nil {
		draw.Draw(out, out.Bounds(), image.NewUniform(i.ground), image.Point{}, draw.Src)
	}
	scale := float32(i.size) * i.part / d.side
	edge := float32(i.size) * (1 - i.part) / 2
	at := func(p point) (x, y float32) { return p.x*scale + edge, p.y*scale + edge }
	for _, s := range d.shapes {
		r := vector.NewRasterizer(i.size, i.size)
		for _, step := range s.steps {
			x, y := at(step.to)
			if step.moves {
				r.ClosePath()
				r.MoveTo(x, y)
				continue
			}
			ax, ay := at(step.a)
			bx, by := at(step.b)
			r.CubeTo(ax, ay, bx, by, x, y)
		}
		r.ClosePath()
		r.Draw(out, out.Bounds(), image.NewUniform(s.fill), image.Point{})
	}
	var b bytes.Buffer
	_ = png.Encode(&b, out) // a Buffer takes all
	return b.Bytes()
}

// parseSVG parses a picture of paths and circles with one colour each.
func parseSVG(data []byte) (*drawing, error) {
	d := &drawing{}
	fills := []string{""} // of the elements around, which those within have, too
	for decoder := xml.NewDecoder(bytes.NewReader(data)); ; {
		token, err := decoder.Token()
		switch {
		case errors.Is(err, io.EOF) && d.side > 0:
			return d, nil
		case err != nil:
			return nil, err
		}
		switch e := token.(type) {
		case xml.StartElement:
			words := map[string]string{"fill": fills[len(fills)-1]}
			for _, a := range e.Attr {
				words[a.Name.Local] = a.Value
			}
			fills = append(fills, words["fill"])
			if err := d.add(e.Name.Local, words); err != nil {
				return nil, fmt.Errorf("<%s>: %w", e.Name.Local, err)
			}
		case xml.EndElement:
			fills = fills[:len(fills)-1]
		}
	}
}

// add adds what an element shows.
func (d *drawing) add(name string, words map[string]string) (err error) {
	var s shape
	switch name {
	case "svg":
		_, err := fmt.Sscanf(words["viewBox"], "0 0 %f", &d.side)
		if err == nil && !(d.side > 0) {
			err = errors.New("it has no size")
		}
		return err
	case "path":
		s.steps, err = parsePath(words["d"])
	case "circle":
		s.steps, err = circle(words["cx"], words["cy"], words["r"])
	default:
		return nil
	}
	if err != nil {
		return err
	}
	fill, c := words["fill"], &s.fill
	if _, err = fmt.Sscanf(fill, "#%2x%2x%2x", &c.R, &c.G, &c.B); err != nil {
		return fmt.Errorf("the colour %q: %w", fill, err)
	}
	s.fill.A = 0xff
	d.shapes = append(d.shapes, s)
	return nil
}

// round is how far the control points of a quarter of a circle are from its ends, in radii.
const round = 0.5522848

func circle(cx, cy, radius string) ([]step, error) {
	var n [3]float32
	for i, word := range []string{cx, cy, radius} {
		f, err := strconv.ParseFloat(word, 32)
		if err != nil {
			return nil, err
		}
		n[i] = float32(f)
	}
	c, r := point{n[0], n[1]}, n[2]
	at := func(x, y float32) point { return c.plus(point{x * r, y * r}) }
	return []step{
		{moves: true, to: at(1, 0)},
		{a: at(1, round), b: at(round, 1), to: at(0, 1)},
		{a: at(-round, 1), b: at(-1, round), to: at(-1, 0)},
		{a: at(-1, -round), b: at(-round, -1), to: at(0, -1)},
		{a: at(round, -1), b: at(1, -round), to: at(1, 0)},
	}, nil
}

// pathWord is a command or a number of a path.
var pathWord = regexp.MustCompile(`[a-zA-Z]|-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)`)

// parsePath parses the commands M, C, S and Z of a path (SVG 2, section 9.3), absolute and
// relative.
func parsePath(text string) (steps []step, err error) {
	if rest := pathWord.ReplaceAllString(text, ""); strings.Trim(rest, " ,\t\r\n") != "" {
		return nil, fmt.Errorf("%q is no path", text)
	}
	words := pathWord.FindAllString(text, -1)
	var here, first, last point // last is the second control point of the last curve
	var command byte
	for len(words) > 0 {
		if c := words[0][0]; c >= 'A' {
			command, words = c, words[1:]
			if command == 'z' || command == 'Z' {
				here, last = first, first
				continue
			}
		}
		n := map[byte]int{'m': 1, 's': 2, 'c': 3}[command|0x20]
		var p []point
		if p, words, err = points(words, n); err != nil {
			return nil, fmt.Errorf("the path %q: %w", text, err)
		}
		if command >= 'a' {
			for i := range p {
				p[i] = p[i].plus(here)
			}
		}
		s := step{moves: n == 1, to: p[n-1]}
		switch n {
		case 1:
			first = s.to
		case 2: // the first control point mirrors the last one
			s.a, s.b = point{2*here.x - last.x, 2*here.y - last.y}, p[0]
		case 3:
			s.a, s.b = p[0], p[1]
		}
		if steps = append(steps, s); len(steps) > maxSteps {
			return nil, errors.New("the path is too long")
		}
		if here, last = s.to, s.b; s.moves {
			last = s.to
			command = 0 // lines, which would follow, are not known
		}
	}
	return steps, nil
}

// maxSteps bounds a path. A guess.
const maxSteps = 1000

// points takes n points from the words of a path.
func points(words []string, n int) (out []point, rest []string, err error) {
	if n == 0 || len(words) < 2*n {
		return nil, nil, errors.New("it has a command that is not known, or ends within one")
	}
	for i := range n {
		var p point
		for k, into := range []*float32{&p.x, &p.y} {
			f, err := strconv.ParseFloat(words[2*i+k], 32)
			if err != nil {
				return nil, nil, err
			}
			*into = float32(f)
		}
		out = append(out, p)
	}
	return out, words[2*n:], nil
}
