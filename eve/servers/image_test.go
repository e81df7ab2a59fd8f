package servers_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pictured runs testdata/server/image.eve on a picture, and returns what it says and the picture
// that it has written: nil if it has written none. more are words behind the usual ones.
func pictured(t testing.TB, exe string, data []byte, most, enough, width, height int, kind string,
	more ...string) (said string, got image.Image) {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, append([]string{in, fmt.Sprint(most),
		fmt.Sprint(enough), fmt.Sprint(width), fmt.Sprint(height), kind, out}, more...)...)
	var trouble bytes.Buffer
	cmd.Stderr = &trouble
	text, err := cmd.Output()
	if err != nil || trouble.Len() > 0 {
		t.Fatalf("%v: %s", err, trouble.String())
	}
	said = strings.TrimSuffix(string(text), "\n")
	if !strings.HasSuffix(said, "written") {
		return said, nil
	}
	written, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	got, form, err := image.Decode(bytes.NewReader(written))
	if err != nil || (form == "png") != (kind == "png") {
		t.Fatalf("%s is written as %s: %v", kind, form, err)
	}
	return strings.TrimSuffix(said, "\nwritten"), got
}

// far is the mean distance of the channels of two pictures, in steps of 8 bits; large if their
// sizes differ.
func far(a, b image.Image) float64 {
	if a.Bounds().Size() != b.Bounds().Size() {
		return 256
	}
	x, y := image.NewNRGBA(a.Bounds()), image.NewNRGBA(a.Bounds())
	draw.Draw(x, x.Bounds(), a, a.Bounds().Min, draw.Src)
	draw.Draw(y, y.Bounds(), b, b.Bounds().Min, draw.Src)
	sum := 0
	for i := range x.Pix {
		sum += max(int(x.Pix[i])-int(y.Pix[i]), int(y.Pix[i])-int(x.Pix[i]))
	}
	return float64(sum) / float64(len(x.Pix))
}

// realPictures are the JPEG and PNG pictures that Go's own tests read: many forms of two frames of
// a film.
func realPictures(t testing.TB) []string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(strings.TrimSpace(string(root)), "src/image/testdata")
	jpegs, _ := filepath.Glob(filepath.Join(dir, "*.jpeg"))
	pngs, _ := filepath.Glob(filepath.Join(dir, "*.png"))
	if len(jpegs) == 0 {
		t.Skip("SKIP: this Go comes without its tests' pictures")
	}
	return append(jpegs, pngs...)
}

// Eve sees what Go sees, in JPEG of every form, and in PNG.
func TestImageReads(t *testing.T) {
	t.Parallel()
	exe := example(t, "image")
	for _, file := range realPictures(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		said, got := pictured(t, exe, data, 1<<20, 0, 0, 0, "png")
		want, _, err := image.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		size := want.Bounds().Size()
		if line := fmt.Sprintf("%d x %d opaque", size.X, size.Y); said != line {
			t.Errorf("%s: got %q, want %q", name, said, line)
		} else if d := far(got, want); d > 4 { // decoders interpolate colours in their own ways
			t.Errorf("%s: the distance is %.2f", name, d)
		}
	}
}

// A checked picture: four quarters of one colour each.
func quarters(width, height int, colours ...color.NRGBA) *image.NRGBA {
	p := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			p.SetNRGBA(x, y, colours[y*2/height*2+x*2/width])
		}
	}
	return p
}

var (
	red    = color.NRGBA{255, 0, 0, 255}
	green  = color.NRGBA{0, 255, 0, 255}
	blue   = color.NRGBA{0, 0, 255, 255}
	white  = color.NRGBA{255, 255, 255, 255}
	hidden = color.NRGBA{255, 0, 0, 0}
)

func asPNG(t testing.TB, p image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asJPEG(t testing.TB, p image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, p, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// turned is a JPEG picture with an orientation of EXIF.
func turned(jpeg []byte, order binary.AppendByteOrder, mark string, orientation uint16) []byte {
	tiff := order.AppendUint32(order.AppendUint16([]byte(mark), 42), 8)
	tiff = order.AppendUint16(tiff, 2)
	for _, entry := range [][2]uint16{{0x100, 77}, {0x112, orientation}} {
		tiff = order.AppendUint16(order.AppendUint16(tiff, entry[0]), 3)
		tiff = order.AppendUint16(order.AppendUint32(tiff, 1), entry[1])
		tiff = order.AppendUint16(tiff, 0)
	}
	body := append([]byte("Exif\x00\x00"), tiff...)
	marker := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(body)+2))
	return bytes.Join([][]byte{jpeg[:2], marker, body, jpeg[2:]}, nil)
}

// A picture is turned as its EXIF says.
func TestImageOrientation(t *testing.T) {
	t.Parallel()
	exe := example(t, "image")
	plain := asJPEG(t, quarters(64, 32, red, green, blue, white))
	for orientation, want := range map[uint16][]color.NRGBA{
		0: {red, green, blue, white}, 1: {red, green, blue, white}, 9: {red, green, blue, white},
		2: {green, red, white, blue}, 3: {white, blue, green, red}, 4: {blue, white, red, green},
		5: {red, blue, green, white}, 6: {blue, red, white, green}, 7: {white, green, blue, red},
		8: {green, white, red, blue},
	} {
		width, height := 64, 32
		if orientation >= 5 && orientation <= 8 {
			width, height = 32, 64
		}
		for mark, order := range map[string]binary.AppendByteOrder{
			"II": binary.LittleEndian, "MM": binary.BigEndian} {
			_, got := pictured(t, exe, turned(plain, order, mark, orientation), 1<<20, 0, 0, 0,
				"png")
			if got == nil || far(got, quarters(width, height, want...)) > 3 {
				t.Errorf("orientation %d, %s: it is %v", orientation, mark, got)
			}
			_, got = pictured(t, exe, turned(plain, order, mark, orientation), 1<<20, 0, 0, 0,
				"png", "as it is")
			if got == nil || far(got, quarters(64, 32, red, green, blue, white)) > 3 {
				t.Errorf("orientation %d, %s, not looked at: it is %v", orientation, mark, got)
			}
		}
	}
}

// Colours stay where they are, the mean of all is what it was, and what is invisible does not
// shine through.
func TestImageResized(t *testing.T) {
	t.Parallel()
	exe := example(t, "image")
	for _, c := range []struct{ width, height, to, down int }{
		{64, 64, 16, 16}, {100, 60, 33, 20}, {40, 40, 120, 80}, {500, 2, 1, 1}, {1, 300, 7, 9},
	} {
		said, got := pictured(t, exe, asPNG(t, quarters(c.width, c.height, red, red, red, red)),
			1<<20, 0, c.to, c.down, "png")
		want := fmt.Sprintf("%d x %d opaque\n%d x %d opaque", c.width, c.height, c.to, c.down)
		if said != want || far(got, quarters(c.to, c.down, red, red, red, red)) != 0 {
			t.Errorf("red in %+v: said %q", c, said)
		}
	}
	_, got := pictured(t, exe, asPNG(t, quarters(400, 400, red, green, blue, white)), 1<<20, 0, 40,
		40, "png")
	if d := far(got, quarters(40, 40, red, green, blue, white)); d > 4 {
		t.Errorf("the quarters are %.2f away", d)
	}
	said, got := pictured(t, exe, asPNG(t, quarters(200, 200, hidden, green, hidden, green)), 1<<20,
		0, 50, 50, "png")
	if !strings.HasSuffix(said, "50 x 50 transparent") {
		t.Errorf("said %q", said)
	}
	for x := range 50 {
		if c := color.NRGBAModel.Convert(got.At(x, 20)).(color.NRGBA); c.A > 0 && c.R > 2 ||
			(x < 20 && c.A > 4) || (x > 30 && c.A < 251) {
			t.Errorf("column %d is %v", x, c)
		}
	}
	_, got = pictured(t, exe, asPNG(t, quarters(64, 64, hidden, green, blue, white)), 1<<20, 0, 0,
		0, "90")
	if d := far(got, quarters(64, 64, white, green, blue, white)); d > 3 {
		t.Errorf("as JPEG it is %.2f away", d)
	}
}

// A JPEG picture comes in as few pixels as are enough.
func TestImageEnough(t *testing.T) {
	t.Parallel()
	exe := example(t, "image")
	data := asJPEG(t, quarters(800, 400, red, green, blue, white))
	for enough, want := range map[int]string{0: "800 x 400", 801: "800 x 400", 800: "800 x 400",
		401: "800 x 400", 400: "400 x 200", 199: "200 x 100", 100: "100 x 50", 1: "100 x 50",
		-5: "800 x 400"} {
		said, got := pictured(t, exe, data, 1<<20, enough, 0, 0, "png")
		if said != want+" opaque" {
			t.Errorf("enough is %d: got %q, want %q", enough, said, want)
		}
		size := got.Bounds().Size()
		if d := far(got, quarters(size.X, size.Y, red, green, blue, white)); d > 4 {
			t.Errorf("enough is %d: it is %.2f away", enough, d)
		}
	}
}

// bomb is a PNG that says it is of this size, and has little data.
func bomb(t testing.TB, width, height uint32) []byte {
	data := asPNG(t, quarters(2, 2, red, green, blue, white))
	binary.BigEndian.PutUint32(data[16:], width)
	binary.BigEndian.PutUint32(data[20:], height)
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	return data
}

// Data that is wrong, that ends early, or that is a bomb.
func TestImageHostile(t *testing.T) {
	t.Parallel()
	exe := example(t, "image")
	plain := quarters(64, 64, red, green, blue, white)
	p, j := asPNG(t, plain), asJPEG(t, plain)
	wide := bytes.Clone(j)
	at := bytes.Index(wide, []byte{0xff, 0xc0}) + 5 // the height and the width in SOF0
	copy(wide[at:], "\xff\xdc\xff\xdc")
	bad := bytes.Clone(p)
	bad[len(bad)-20] ^= 0xff // within the data
	for _, c := range []struct {
		name string
		data []byte
		most int
		want string
	}{
		{"nothing", nil, 1 << 20, "error 4 this is no JPEG, PNG or GIF"},
		{"a text", []byte("GIF89 and more"), 1 << 20, "error 4 this is no JPEG, PNG or GIF"},
		{"half a JPEG", j[:len(j)/2], 1 << 20, "error 2 the data ends early"},
		{"a JPEG without end", j[:len(j)-2], 1 << 20, "error 2 the data ends early"},
		{"the start of a JPEG", j[:3], 1 << 20, "error 2 the data ends early"},
		{"a JPEG of 65500 x 65500", wide, 16_000_000,
			"error 3 the picture is larger than is allowed"},
		{"a JPEG one pixel too large", j, 4095, "error 3 the picture is larger than is allowed"},
		{"half a PNG", p[:len(p)/2], 1 << 20, "error"},
		{"the start of a PNG", p[:8], 1 << 20, "error"},
		{"a PNG with a wrong sum", bad, 1 << 20, "error 1 "},
		{"a PNG one pixel too large", p, 4095, "error 3 the picture is larger than is allowed"},
		{"a PNG of a gigapixel", bomb(t, 40_000, 40_000), 16_000_000,
			"error 3 the picture is larger than is allowed"},
		{"a PNG of nearly all pixels", bomb(t, 1<<31-1, 1<<31-1), 16_000_000, "error"},
		{"a PNG with too little data", bomb(t, 4000, 4000), 16_000_000, "error"},
		{"no pixels allowed", p, -1, "error 3 the picture is larger than is allowed"},
	} {
		if said, got := pictured(t, exe, c.data, c.most, 0, 0, 0, "png"); got != nil ||
			!strings.HasPrefix(said, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, said, c.want)
		}
	}
	for _, size := range [][2]int{{-1, 5}, {5, 0}, {65501, 1}, {1, 65501}} {
		said, _ := pictured(t, exe, p, 1<<20, 0, size[0], size[1], "png")
		if !strings.HasSuffix(said, "error 3 a side has 1 to 65500 pixels") {
			t.Errorf("%v: got %q", size, said)
		}
	}
}

// FuzzImage decodes any bytes: it ends with a picture, whose size is within the limit, or with an
// error.
func FuzzImage(f *testing.F) {
	exe := example(f, "image")
	plain := quarters(16, 8, red, green, blue, white)
	p, j := asPNG(f, plain), asJPEG(f, plain)
	g := asGIF(f, 20, 10, image.Rect(2, 3, 18, 9))
	for _, data := range [][]byte{nil, p, j, p[:len(p)-5], j[:len(j)-5], bomb(f, 3000, 3000), g,
		g[:len(g)-9],
		turned(j, binary.BigEndian, "MM", 6), turned(j, binary.LittleEndian, "II", 3)} {
		f.Add(data, 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, enough int) {
		const most = 1 << 16
		said, got := pictured(t, exe, data, most, enough, 5, 4, "80")
		if got == nil {
			if !strings.HasPrefix(said, "error ") {
				t.Errorf("said %q", said)
			}
			return
		}
		var width, height int
		if n, err := fmt.Sscanf(said, "%d x %d", &width, &height); n != 2 || width*height > most ||
			got.Bounds().Size() != image.Pt(5, 4) {
			t.Errorf("said %q, %v; its thumbnail is %v", said, err, got.Bounds())
		}
	})
}
