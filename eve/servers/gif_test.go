package servers_test

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asGIF is a picture of four colours, one of them transparent, at a place on a screen.
func asGIF(t testing.TB, width, height int, at image.Rectangle) []byte {
	t.Helper()
	p := image.NewPaletted(at, color.Palette{red, green, blue, color.NRGBA{}})
	for i := range p.Pix {
		p.Pix[i] = uint8(i * 7 % 4)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{p}, Delay: []int{0},
		Config: image.Config{Width: width, Height: height}}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// onScreen is what Go sees of the first picture.
func onScreen(t testing.TB, data []byte) *image.NRGBA {
	t.Helper()
	all, err := gif.DecodeAll(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	screen := image.NewNRGBA(image.Rect(0, 0, all.Config.Width, all.Config.Height))
	first := all.Image[0]
	draw.Draw(screen, first.Bounds(), first, first.Bounds().Min, draw.Src)
	return screen
}

// Eve sees what Go sees: with a palette of its own or a common one, interlaced, transparent, with
// many colours and with few, and on a part of the screen.
func TestImageGIF(t *testing.T) {
	t.Parallel()
	exe := example(t, "image")
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)),
		"src/image/testdata/*.gif"))
	pictures := map[string][]byte{
		"a part":   asGIF(t, 200, 100, image.Rect(20, 30, 180, 90)),
		"a pixel":  asGIF(t, 1, 1, image.Rect(0, 0, 1, 1)),
		"the rest": asGIF(t, 4, 3, image.Rect(3, 2, 4, 3)),
	}
	for _, file := range files {
		if pictures[filepath.Base(file)], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range pictures {
		said, got := pictured(t, exe, data, 1<<20, 0, 0, 0, "png")
		if want := onScreen(t, data); got == nil || far(got, want) != 0 {
			t.Errorf("%s: said %q", name, said)
		}
	}
}

// A GIF that is wrong, that ends early, or that is a bomb.
func TestImageGIFHostile(t *testing.T) {
	t.Parallel()
	exe := example(t, "image")
	good := asGIF(t, 20, 10, image.Rect(0, 0, 20, 10))
	at := bytes.IndexByte(good, 0x2c) // the colours are from at + 10 on, the codes from at + 22
	with := func(place int, more ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[place:], more)
		return b
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"the start", good[:6], "error 2 the data ends early"},
		{"half a head", good[:11], "error 2 the data ends early"},
		{"half the colours", good[:at+15], "error 2 the data ends early"},
		{"no picture", append(bytes.Clone(good[:at]), ';'), "error 1 there is no picture"},
		{"half a place", good[:at+5], "error 2 the data ends early"},
		{"half the pixels", good[:len(good)-9], "error 2 the data ends early"},
		{"no width", with(6, 0, 0), "error 1 the picture has no pixels"},
		{"no height of the picture", with(at+7, 0, 0), "error 1 the picture has no pixels"},
		{"a screen that is too large", with(6, 0xff, 0xff, 0xff, 0xff), "error 3 the picture is"},
		{"a picture that is too large", with(at+5, 0xff, 0xff, 0xff, 0xff),
			"error 3 the picture is"},
		{"no bits", with(at+22, 0), "error 1 colours have 1 to 8 bits"},
		{"a wrong code", with(at+24, 0xff, 0xff), "error 1 a code stands for nothing"},
		{"an unknown block", with(at, 0x2d), "error 1 a block is unknown"},
		{"no colours", with(at+9, 0), "error 1 there are no colours"},
	} {
		if said, got := pictured(t, exe, c.data, 1<<20, 0, 0, 0, "png"); got != nil ||
			!strings.HasPrefix(said, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, said, c.want)
		}
	}
}
