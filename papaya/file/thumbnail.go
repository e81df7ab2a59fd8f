package file

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // decoders register themselves
	"image/jpeg"
	_ "image/png"
	"io"
	"math"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp"
)

// The largest thumbnail in pixels: twice what the page shows, for screens of a high density.
const (
	maxWidth  = 640
	maxHeight = 480
)

// quality is that of JPEG; 80 is what image editors propose for pages.
const quality = 80

// A Thumbnail is a JPEG, with its size in pixels.
type Thumbnail struct {
	Data          []byte
	Width, Height int
}

// Shrink makes the thumbnail of an image that is no file of the Store. While another one is made it
// waits: a decoder takes much memory.
func (s *Store) Shrink(ctx context.Context, from io.ReaderAt) (Thumbnail, error) {
	select {
	case s.shrinking <- struct{}{}:
		defer func() { <-s.shrinking }()
	case <-ctx.Done():
		return Thumbnail{}, errBusy
	}
	return shrink(from, s.limits().Pixels)
}

// shrink makes the thumbnail of an image. It returns a refusal if the image has more than pixels,
// before it decodes any: a small file may claim to have billions. One that would be decoded again
// and again is no image.
func shrink(f io.ReaderAt, pixels int) (t Thumbnail, err error) {
	defer func() {
		if p := recover(); p != nil { // a mistake of a decoder must not end the chat
			err = fmt.Errorf("decoding: %v", p)
		}
	}()
	config, kind, err := image.DecodeConfig(whole(f))
	if err != nil {
		return t, err
	}
	if config.Width <= 0 || config.Height <= 0 {
		return t, image.ErrFormat
	}
	if config.Width > pixels/config.Height {
		return t, tooManyPixels(config.Width, config.Height, pixels)
	}
	if kind == "jpeg" && scans(bufio.NewReader(whole(f))) > maxScans {
		return t, errScans
	}
	from, _, err := image.Decode(whole(f))
	if err != nil {
		return t, err
	}
	turn := upright
	if kind == "jpeg" {
		turn = orientation(bufio.NewReader(whole(f)))
	}
	to := turn.apply(scale(from))
	var out bytes.Buffer
	if err := jpeg.Encode(&out, to, &jpeg.Options{Quality: quality}); err != nil {
		return t, err
	}
	return Thumbnail{out.Bytes(), to.Bounds().Dx(), to.Bounds().Dy()}, nil
}

// whole reads a file from its beginning.
func whole(f io.ReaderAt) io.Reader { return io.NewSectionReader(f, 0, math.MaxInt64) }

// scale makes an image as small as a thumbnail, on white. A small image stays as large as it is.
func scale(from image.Image) *image.RGBA {
	w, h := float64(from.Bounds().Dx()), float64(from.Bounds().Dy())
	by := min(1, maxWidth/w, maxHeight/h)
	to := image.NewRGBA(image.Rect(0, 0, max(1, int(math.Round(w*by))),
		max(1, int(math.Round(h*by)))))
	draw.Draw(to, to.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.BiLinear.Scale(to, to.Bounds(), from, from.Bounds(), draw.Over, nil)
	return to
}
