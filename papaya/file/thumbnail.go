package file

import (
	"bufio"
	"bytes"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // decoders register themselves
	"image/jpeg"
	_ "image/png"
	"io"
	"math"
	"os"

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

// A thumbnail is a JPEG.
type thumbnail struct {
	data          []byte
	width, height int
}

// shrink makes the thumbnail of an image. It returns a refusal if the image has more than pixels,
// before it decodes any: a small file may claim to have billions. One that would be decoded again
// and again is no image.
func shrink(f *os.File, pixels int) (t thumbnail, err error) {
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
	return thumbnail{out.Bytes(), to.Bounds().Dx(), to.Bounds().Dy()}, nil
}

// whole reads a file from its beginning.
func whole(f *os.File) io.Reader { return io.NewSectionReader(f, 0, math.MaxInt64) }

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
