package load

// The images that are uploaded: valid JPEG and PNG of exactly the size that is asked for, made from
// a seed. How much of an image is noise decides how long it is; what is missing then is filled up
// by a comment that decoders skip.

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
)

const (
	pictureWidth  = 512
	pictureHeight = 384
	// pictures of each kind: so many that a server which looks at contents never meets the same
	// one twice in a row.
	picturesOfKind = 3
	// The least is enough for an image without noise; the most is the size of a JPEG of these
	// dimensions that is all noise.
	leastPicture = 10_000
	mostPicture  = 150_000
)

// A picture is a file and what to call it.
type picture struct {
	kind  string // "image/jpeg"
	bytes []byte
}

// picturesFor is makePictures, but for tests, which make them once.
var picturesFor = makePictures

// makePictures makes JPEG and PNG by turns, each of so many bytes.
func makePictures(size int, seed uint64) ([]picture, error) {
	if size < leastPicture || size > mostPicture {
		return nil, fmt.Errorf("an image of %d bytes cannot be made: %d to %d can", size,
			leastPicture, mostPicture)
	}
	var out []picture
	var inJPEG, inPNG growth
	for i := range uint64(picturesOfKind) {
		j, err := makeJPEG(size, seed+i, &inJPEG)
		if err != nil {
			return nil, err
		}
		p, err := makePNG(size, seed+i, &inPNG)
		if err != nil {
			return nil, err
		}
		out = append(out, picture{"image/jpeg", j}, picture{"image/png", p})
	}
	return out, nil
}

// A canvas is a soft gradient, the first blocks of which are noise.
type canvas struct {
	*image.RGBA
	seed uint64
	rng  *rand.Rand
	side int // of a block
	done int // blocks that are noise
}

func newCanvas(seed uint64, side int) *canvas {
	c := &canvas{image.NewRGBA(image.Rect(0, 0, pictureWidth, pictureHeight)), seed,
		rand.New(rand.NewPCG(seed, 0)), side, 0}
	tint := uint8(c.rng.Uint32())
	for y := range pictureHeight {
		for x := range pictureWidth {
			c.SetRGBA(x, y, color.RGBA{uint8(y / 2), tint, uint8(x / 4), 255})
		}
	}
	return c
}

func (c *canvas) blocks() int { return pictureWidth / c.side * (pictureHeight / c.side) }

// noise makes noise of the first n blocks, and the gradient of the others.
func (c *canvas) noise(n int) {
	across := pictureWidth / c.side
	if c.done > n {
		*c = *newCanvas(c.seed, c.side)
	}
	for ; c.done < min(n, c.blocks()); c.done++ {
		x0, y0 := c.done%across*c.side, c.done/across*c.side
		for y := y0; y < y0+c.side; y++ {
			for x := x0; x < x0+c.side; x++ {
				v := c.rng.Uint32()
				c.SetRGBA(x, y, color.RGBA{uint8(v), uint8(v >> 8), uint8(v >> 16), 255})
			}
		}
	}
}

// bytesOfNoise is what a pixel of noise takes in a PNG. In a JPEG it takes a quarter: there the
// first guess is too small, and the second right.
const bytesOfNoise = 3.2

// A growth tells how the length of the images of one kind and size grows with noise, as the images
// that were encoded so far have shown.
type growth struct {
	least    int     // bytes without noise
	perBlock float64 // bytes; a first guess is bytesOfNoise for each pixel
	blocks   int     // of the last image
}

// grow adds noise until the encoded image is nearly as long as it may be. The first of a kind is
// encoded some four times, the next ones begin with as many blocks as it ended with.
func (c *canvas) grow(size int, g *growth, encode func(image.Image) ([]byte,
	error)) ([]byte, error) {
	// a deflater ends a block near 64 KiB: a few per cent there are not to be had
	const near, steps = .91, 8
	if g.least == 0 {
		least, err := encode(c)
		if err != nil {
			return nil, err
		}
		if len(least) > size {
			return nil, fmt.Errorf("without any noise it has %d bytes, more than %d", len(least),
				size)
		}
		g.least, g.perBlock = len(least), bytesOfNoise*float64(c.side*c.side)
		g.blocks = int(float64(size-g.least) * .98 / g.perBlock)
	}
	var best []byte
	for range steps {
		c.noise(g.blocks)
		data, err := encode(c)
		if err != nil {
			return nil, err
		}
		if len(data) <= size {
			best = data
		}
		if len(best) > int(near*float64(size)) || g.blocks == c.blocks() && best != nil {
			break
		}
		if c.done > 0 {
			g.perBlock = float64(len(data)-g.least) / float64(c.done)
		}
		g.blocks = min(max(0, int(float64(size-g.least)*.98/g.perBlock)), c.blocks())
	}
	if best == nil {
		return nil, fmt.Errorf("no image of %d bytes came near enough in %d attempts", size, steps)
	}
	return best, nil
}

const (
	jpegBlock   = 16        // pixels: a unit of 4:2:0
	jpegQuality = 88        // noise all over is 160 kB then
	comLeast    = 4         // bytes of an empty comment
	comMost     = 2 + 65535 // a segment's length is two bytes and counts itself
)

func makeJPEG(size int, seed uint64, g *growth) ([]byte, error) {
	data, err := newCanvas(seed, jpegBlock).grow(size-comLeast, g, func(i image.Image) ([]byte,
		error) {
		var b bytes.Buffer
		err := jpeg.Encode(&b, i, &jpeg.Options{Quality: jpegQuality})
		return b.Bytes(), err
	})
	if err != nil {
		return nil, fmt.Errorf("making a JPEG: %w", err)
	}
	const soi = 2 // bytes of the marker that an image begins with; comments may follow
	out := append(make([]byte, 0, size), data[:soi]...)
	for missing := size - len(data); missing > 0; {
		n := min(missing, comMost)
		if rest := missing - n; rest > 0 && rest < comLeast {
			n -= comLeast
		}
		out = append(out, 0xff, 0xfe)
		out = binary.BigEndian.AppendUint16(out, uint16(n-2))
		out = append(out, make([]byte, n-4)...)
		missing -= n
	}
	return append(out, data[soi:]...), nil
}

const (
	pngBlock   = 1          // pixels: rows of noise, for each row has a filter of its own
	chunkLeast = 12         // bytes of an empty chunk: its length, type and sum
	pngEnd     = chunkLeast // IEND, which comes last
)

func makePNG(size int, seed uint64, g *growth) ([]byte, error) {
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	data, err := newCanvas(seed, pngBlock).grow(size-chunkLeast, g, func(i image.Image) ([]byte,
		error) {
		var b bytes.Buffer
		err := encoder.Encode(&b, i)
		return b.Bytes(), err
	})
	if err != nil {
		return nil, fmt.Errorf("making a PNG: %w", err)
	}
	end := len(data) - pngEnd
	out := append(make([]byte, 0, size), data[:end]...)
	// An ancillary, private chunk that need not be copied: PNG, section 5.4.
	fill := make([]byte, len("laBs")+size-len(data)-chunkLeast)
	copy(fill, "laBs")
	out = binary.BigEndian.AppendUint32(out, uint32(len(fill)-len("laBs")))
	out = append(out, fill...)
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(fill))
	return append(out, data[end:]...), nil
}
