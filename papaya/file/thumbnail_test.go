package file

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// halves is an image whose left half is red and whose right half is blue.
func halves(width, height int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := color.RGBA{255, 0, 0, 255}
			if x >= width/2 {
				c = color.RGBA{0, 0, 255, 255}
			}
			m.SetRGBA(x, y, c)
		}
	}
	return m
}

func pngOf(width, height int) []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, halves(width, height)) // a Buffer takes everything
	return b.Bytes()
}

func gifOf(width, height int) []byte {
	var b bytes.Buffer
	_ = gif.Encode(&b, halves(width, height), nil)
	return b.Bytes()
}

// jpegOf makes a JPEG with an orientation, in one of the two orders of bytes.
func jpegOf(width, height int, t turn, order binary.ByteOrder) []byte {
	var b bytes.Buffer
	_ = jpeg.Encode(&b, halves(width, height), &jpeg.Options{Quality: 95})
	return withSegment(b.Bytes(), exifOf(t, order))
}

// exifOf makes an EXIF part with two tags.
func exifOf(t turn, order binary.ByteOrder) []byte {
	intro := "MM"
	if order == binary.LittleEndian {
		intro = "II"
	}
	out := []byte("Exif\x00\x00" + intro)
	short16 := func(values ...uint16) {
		for _, v := range values {
			out = append(out, 0, 0)
			order.PutUint16(out[len(out)-2:], v)
		}
	}
	long := func(values ...uint32) {
		for _, v := range values {
			out = append(out, 0, 0, 0, 0)
			order.PutUint32(out[len(out)-4:], v)
		}
	}
	short16(42)
	long(8)               // where the directory begins
	short16(2, 0x010f, 2) // two entries: the maker, as text
	long(0, 0)            // of no bytes
	short16(orientationTag, short)
	long(1)
	short16(uint16(t), 0)
	return out
}

// withSegment puts a segment APP1 behind the start of a JPEG.
func withSegment(image, segment []byte) []byte {
	size := len(segment) + 2
	out := append([]byte{0xff, startOfImage, 0xff, app1, byte(size >> 8), byte(size)}, segment...)
	return append(out, image[2:]...)
}

// fileOf makes a file of bytes.
func fileOf(t *testing.T, data []byte) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestThumbnails(t *testing.T) {
	for name, test := range map[string]struct {
		data          []byte
		width, height int
	}{
		"png":   {pngOf(1280, 480), 640, 240},
		"tall":  {pngOf(100, 960), 50, 480},
		"small": {pngOf(32, 16), 32, 16},
		"line":  {pngOf(2000, 1), 640, 1},
		"gif":   {gifOf(64, 32), 64, 32},
		"jpeg":  {jpegOf(64, 32, upright, binary.BigEndian), 64, 32},
	} {
		small, err := shrink(fileOf(t, test.data), 1<<20)
		if err != nil || small.Width != test.width || small.Height != test.height {
			t.Errorf("%s: %d × %d, %v; want %d × %d", name, small.Width, small.Height, err,
				test.width, test.height)
			continue
		}
		m, err := jpeg.Decode(bytes.NewReader(small.Data))
		if err != nil || m.Bounds().Dx() != test.width || m.Bounds().Dy() != test.height {
			t.Errorf("%s: it is %v, %v", name, m, err)
			continue
		}
		if r, _, b, _ := m.At(0, 0).RGBA(); r < 0x8000 || b > 0x8000 {
			t.Errorf("%s: its left is not red", name)
		}
	}
}

// TestTransparentIsWhite: JPEG has no transparency.
func TestTransparentIsWhite(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	small, err := shrink(fileOf(t, b.Bytes()), 100)
	if err != nil {
		t.Fatal(err)
	}
	m, err := jpeg.Decode(bytes.NewReader(small.Data))
	if err != nil {
		t.Fatal(err)
	}
	if r, g, b, _ := m.At(4, 4).RGBA(); min(r, g, b) < 0xf000 {
		t.Errorf("it is %x %x %x", r, g, b)
	}
}

// TestTurns: a picture that a camera has taken lying on a side is shown upright. The red half shows
// where its left has gone.
func TestTurns(t *testing.T) {
	for i, red := range []image.Point{{0, 16}, {63, 16}, {63, 16}, {0, 16}, {16, 0}, {16, 0},
		{16, 63}, {16, 63}} {
		for _, order := range []binary.ByteOrder{binary.BigEndian, binary.LittleEndian} {
			way := turn(i + 1)
			small, err := shrink(fileOf(t, jpegOf(64, 32, way, order)), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			m, err := jpeg.Decode(bytes.NewReader(small.Data))
			if err != nil {
				t.Fatal(err)
			}
			if r, _, b, _ := m.At(red.X, red.Y).RGBA(); r < 0x8000 || b > 0x8000 {
				t.Errorf("turn %d, %v: red is not at %v of %v", way, order, red, m.Bounds())
			}
		}
	}
	// The top of what is not square tells one turn from its mirror image.
	square := image.NewRGBA(image.Rect(0, 0, 2, 2))
	corner := color.RGBA{9, 9, 9, 255}
	square.SetRGBA(0, 0, corner)
	for i, want := range []image.Point{{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}, {1, 0}, {1, 1},
		{0, 1}} {
		if got := turn(i+1).apply(square).RGBAAt(want.X, want.Y); got != corner {
			t.Errorf("turn %d: the first corner is not at %v", i+1, want)
		}
	}
}

// claim is a PNG of a few bytes that claims to be of a size, and has no pixels.
func claim(width, height uint32) []byte {
	header := binary.BigEndian.AppendUint32([]byte("IHDR"), width)
	header = append(binary.BigEndian.AppendUint32(header, height), 8, 6, 0, 0, 0)
	out := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), header...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(header))
}

// TestBombs: an image of too many pixels is refused before anything is decoded.
func TestBombs(t *testing.T) {
	limits := plenty
	limits.Pixels = 10_000
	s := openStore(t, t.TempDir(), &limits)
	for name, data := range map[string][]byte{
		"huge.png": claim(50_000, 50_000), "wide.png": claim(1<<31-1, 1),
		"more.png": pngOf(101, 100),
		"gif":      append([]byte("GIF89a\xff\xff\xff\xff\x00\x00\x00"), 0x3b),
	} {
		_, _, err := put(t.Context(), s, "ann", name, data)
		if known, ok := errors.AsType[refusal](err); !ok || known.status != 413 ||
			!strings.Contains(known.why, "the limit is 0.01 million") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n, size := s.Usage(); n != 0 || size != 0 || len(names(t, s)) != 0 {
		t.Errorf("%d files of %d bytes are left", n, size)
	}
	if i, _, err := put(t.Context(), s, "ann", "x.png", pngOf(100, 100)); err != nil ||
		i.Width != 100 || i.Height != 100 {
		t.Errorf("as many pixels as are allowed: %+v, %v", i, err)
	}
}

// TestScans: an image with many scans is not decoded. Marks of scans in a segment, and behind the
// image, where phones put films, are none.
func TestScans(t *testing.T) {
	whole := jpegOf(8, 8, upright, binary.BigEndian)
	at := bytes.LastIndex(whole, []byte{0xff, startOfScan})
	head, scan, end := whole[:at], whole[at:len(whole)-2], whole[len(whole)-2:]
	marks := bytes.Repeat([]byte{0xff, startOfScan}, 2*maxScans)
	for name, test := range map[string]struct {
		data []byte
		want error
	}{
		"one":      {whole, nil},
		"many":     {slices.Concat(head, bytes.Repeat(scan, maxScans), end), nil},
		"too many": {slices.Concat(head, bytes.Repeat(scan, maxScans+1), end), errScans},
		"behind junk": {slices.Concat(head, bytes.Repeat(append([]byte("junk"), scan...),
			maxScans+1), end), errScans},
		"in a segment":   {withSegment(whole, marks), nil},
		"behind the end": {append(slices.Clone(whole), marks...), nil},
	} {
		small, err := shrink(fileOf(t, test.data), 100)
		if !errors.Is(err, test.want) || err == nil && (small.Width != 8 || small.Height != 8) {
			t.Errorf("%s: %d × %d, %v, want %v", name, small.Width, small.Height, err, test.want)
		}
	}
	s := newStore(t)
	i, _ := mustPut(t, s, "ann", "x.jpg", slices.Concat(head, bytes.Repeat(scan, maxScans+1), end))
	if i.Type != unknown || i.Thumbnail != 0 {
		t.Errorf("it is taken as %s with a thumbnail of %d bytes", i.Type, i.Thumbnail)
	}
}

// FuzzScans holds that the count is bounded, and that no image that package image/jpeg takes has
// all of its scans hidden from it.
func FuzzScans(f *testing.F) {
	f.Add(jpegOf(8, 8, 6, binary.BigEndian))
	f.Add([]byte{0xff, startOfImage, 0xff, 0xff, startOfScan, 0, 1})
	f.Add([]byte{0xff, startOfImage, 0xff, startOfScan})
	f.Fuzz(func(t *testing.T, data []byte) {
		n := scans(bufio.NewReader(bytes.NewReader(data)))
		if n < 0 || n > maxScans+1 || n > len(data)/2 {
			t.Errorf("%x: %d scans", data, n)
		}
		config, err := jpeg.DecodeConfig(bytes.NewReader(data))
		if err != nil || config.Width*config.Height > 1<<12 {
			return
		}
		if _, err := jpeg.Decode(bytes.NewReader(data)); err == nil && n == 0 {
			t.Errorf("%x: an image without a scan", data)
		}
	})
}

// TestTypes: the content decides the type. An image that cannot be decoded is not shown.
func TestTypes(t *testing.T) {
	s := newStore(t)
	for name, test := range map[string]struct {
		data, want string
	}{
		"page.png":     {"<html><script>alert(1)</script>", unknown},
		"drawing.svg":  {`<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>`, unknown},
		"drawing.png":  {`<?xml version="1.0"?><svg onload="alert(1)"/>`, unknown},
		"script.js":    {"alert(1)", unknown},
		"paper.pdf":    {"%PDF-1.7\n", unknown},
		"both.gif":     {"GIF89a\x08\x00\x08\x00\x00\x00\x00<script>alert(1)</script>", unknown},
		"cut.png":      {string(pngOf(64, 64)[:60]), unknown},
		"archive.zip":  {"PK\x03\x04", unknown},
		"empty":        {"\x00", unknown},
		"tea.exe":      {string(pngOf(8, 8)), "image/png"},
		"tea.html":     {string(gifOf(8, 8)), "image/gif"},
		"tea":          {string(jpegOf(8, 8, upright, binary.BigEndian)), "image/jpeg"},
		"song.mp3":     {"ID3\x03", "audio/mpeg"},
		"song.ogg":     {"OggS\x00", "application/ogg"},
		"song.wav":     {"RIFF\x00\x00\x00\x00WAVE", "audio/wave"},
		"film.webm":    {"\x1a\x45\xdf\xa3", "video/webm"},
		"film.mp4":     {"\x00\x00\x00\x14ftypmp42\x00\x00\x00\x00mp42", "video/mp4"},
		"broken.webp":  {"RIFF\x00\x00\x00\x00WEBPVP8 ", unknown},
		"bitmap.bmp":   {"BM", unknown},
		"document.xml": {"<?xml version=\"1.0\"?>", unknown},
	} {
		i, _ := mustPut(t, s, "ann", name, []byte(test.data))
		if i.Type != test.want || (i.Thumbnail > 0) != isImage(test.want) {
			t.Errorf("%s: %s, a thumbnail of %d bytes; want %s", name, i.Type, i.Thumbnail,
				test.want)
		}
	}
}

func FuzzOrientation(f *testing.F) {
	f.Add(jpegOf(8, 8, 6, binary.BigEndian))
	f.Add(jpegOf(8, 8, 3, binary.LittleEndian))
	f.Add([]byte{0xff, startOfImage, 0xff, 0xff, app1, 0, 1})
	f.Add(withSegment([]byte{0xff, startOfImage}, []byte("Exif\x00\x00II*\x00\xff\xff\xff\xff")))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := orientation(bufio.NewReader(bytes.NewReader(data))); got < upright || got > 8 {
			t.Errorf("%x: turn %d", data, got)
		}
	})
}

func FuzzShrink(f *testing.F) {
	f.Add(pngOf(9, 9))
	f.Add(gifOf(9, 9))
	f.Add(jpegOf(9, 9, 6, binary.BigEndian))
	f.Add(claim(1<<31, 1<<31))
	f.Add([]byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00" +
		"\x2f\x00\x00\x00\x00\x07\x10\x11\x11"))
	f.Fuzz(func(t *testing.T, data []byte) {
		small, err := shrink(fileOf(t, data), 1<<12)
		if err == nil && (small.Width < 1 || small.Height < 1 || small.Width > maxWidth ||
			small.Height > maxHeight || len(small.Data) == 0) {
			t.Errorf("%x: %d × %d in %d bytes", data, small.Width, small.Height, len(small.Data))
		}
	})
}
