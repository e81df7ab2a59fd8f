package images

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// known are the large pictures, by what they are made of. Each model gets the same ones: to make
// them takes up to a tenth of a second.
var known sync.Map

// once returns the picture of this key, which encode makes once. Nobody may change it.
func once(key any, encode func() []byte) []byte {
	made, ok := known.Load(key)
	if !ok {
		made, _ = known.LoadOrStore(key, slices.Clip(encode()))
	}
	return made.([]byte)
}

// paint makes a picture that compresses badly, the same for the same seed.
func paint(width, height int, seed uint64) *image.NRGBA {
	random := rand.New(rand.NewPCG(seed, 1))
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range m.Pix {
		m.Pix[i] = byte(random.Uint32())
		if i%4 == 3 {
			m.Pix[i] = 255
		}
	}
	return m
}

func pngOf(t testing.TB, m image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegOf(t testing.TB, m image.Image) []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gifOf(t testing.TB, width, height int) []byte {
	m := image.NewPaletted(image.Rect(0, 0, width, height), palette.Plan9)
	for i := range m.Pix {
		m.Pix[i] = byte(i)
	}
	var b bytes.Buffer
	if err := gif.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// grayJPEG is the JPEG of gray.
func grayJPEG(t testing.TB, width, height int) []byte {
	return once([2]int{width, height}, func() []byte { return jpegOf(t, gray(width, height)) })
}

// gray is a plain picture of any size, which compresses well.
func gray(width, height int) image.Image {
	m := image.NewGray(image.Rect(0, 0, width, height))
	for i := range m.Pix {
		m.Pix[i] = 128
	}
	m.Set(0, 0, color.White)
	return m
}

// resized is a PNG that claims another size, with a valid checksum: a bomb for a decoder that
// allocates that size.
func resized(content []byte, width, height uint32) []byte {
	b := bytes.Clone(content)
	binary.BigEndian.PutUint32(b[16:], width)
	binary.BigEndian.PutUint32(b[20:], height)
	binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
	return b
}

// resizedJPEG is a JPEG that claims another size in its frame header.
func resizedJPEG(t testing.TB, content []byte, width, height uint16) []byte {
	b := bytes.Clone(content)
	i := bytes.Index(b, []byte{0xff, 0xc0})
	if i < 0 {
		t.Fatal("the JPEG has no baseline frame header")
	}
	binary.BigEndian.PutUint16(b[i+5:], height)
	binary.BigEndian.PutUint16(b[i+7:], width)
	return b
}

// chunk appends a part of a PNG.
func chunk(b []byte, name string, content []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(content)))
	begin := len(b)
	b = append(append(b, name...), content...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[begin:]))
}

// padded is a PNG with so many bytes in all, by a chunk of text before its end.
func padded(t testing.TB, content []byte, size int) []byte {
	type key struct {
		content string
		size    int
	}
	return once(key{string(content), size}, func() []byte {
		const end = 12 // bytes of IEND, and of any other chunk without its content
		spare := size - len(content) - end
		if spare < 0 {
			t.Fatalf("a PNG of %d bytes cannot be padded to %d", len(content), size)
		}
		b := append(make([]byte, 0, size), content[:len(content)-end]...)
		b = chunk(b, "teXt", bytes.Repeat([]byte("x"), spare))
		return append(b, content[len(content)-end:]...)
	})
}
