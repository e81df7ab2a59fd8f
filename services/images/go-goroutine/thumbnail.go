package main

import (
	"bytes"
	"image"
	_ "image/gif" // decoders register themselves
	"image/jpeg"
	"image/png"
	"math"

	"golang.org/x/image/draw"
)

const (
	side   = 160 // pixels, at most
	makers = 2   // thumbnails made at once: a decoder may lay out 400 MB for the largest image
)

// shrink makes the thumbnail of an image of a type.
func shrink(kind string, content []byte) (string, []byte, error) {
	from, _, err := image.Decode(bytes.NewReader(content))
	if err != nil {
		return "", nil, err
	}
	w, h := float64(from.Bounds().Dx()), float64(from.Bounds().Dy())
	scale := min(1, side/w, side/h)
	to := image.NewNRGBA(image.Rect(0, 0, max(1, int(math.Round(w*scale))),
		max(1, int(math.Round(h*scale)))))
	draw.BiLinear.Scale(to, to.Bounds(), from, from.Bounds(), draw.Src, nil)
	var out bytes.Buffer
	if kind == "image/jpeg" {
		err = jpeg.Encode(&out, to, &jpeg.Options{Quality: 80})
		return kind, out.Bytes(), err
	}
	err = png.Encode(&out, to)
	return "image/png", out.Bytes(), err
}
