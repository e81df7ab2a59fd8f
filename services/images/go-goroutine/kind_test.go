package main

import (
	"bytes"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzLook looks at any bytes: it must not fail, and an image that the standard library decodes
// must have the same size.
func FuzzLook(f *testing.F) {
	m := image.NewGray(image.Rect(0, 0, 5, 3))
	var a, b, c bytes.Buffer
	if png.Encode(&a, m) != nil || jpeg.Encode(&b, m, nil) != nil || gif.Encode(&c, m, nil) != nil {
		f.Fatal("the seeds cannot be made")
	}
	for _, seed := range [][]byte{a.Bytes(), b.Bytes(), c.Bytes(), a.Bytes()[:20], b.Bytes()[:20],
		[]byte("\xff\xd8\xff\xff\xff\xc0\x00\x09"), nil} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		p, err := look(content)
		if err != nil {
			return
		}
		if p.width <= 0 || p.height <= 0 || p.width > mostPixels/p.height {
			t.Fatalf("got %+v", p)
		}
		if config, _, err := image.DecodeConfig(bytes.NewReader(content)); err == nil &&
			(config.Width != p.width || config.Height != p.height) {
			t.Errorf("got %d x %d, the decoder sees %d x %d", p.width, p.height, config.Width,
				config.Height)
		}
	})
}

// FuzzClean makes names of any text: short, without controls and slashes, and the same
// when made again.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"tea.png", "../../x", `a\b`, "\xff", " . ", "a\x00\u0085b",
		"ä/ö"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name := clean(text)
		if name == "" || name == "." || name == ".." || utf8.RuneCountInString(name) > mostName ||
			!utf8.ValidString(name) || clean(name) != name {
			t.Errorf("%q: got %q", text, name)
		}
		for _, r := range name {
			if r == '/' || r == '\\' || unicode.IsControl(r) {
				t.Errorf("%q: got %q", text, name)
			}
		}
		for _, c := range []byte(disposition(name)) {
			if c < 0x20 || c > 0x7e {
				t.Errorf("%q: got %q", name, disposition(name))
			}
		}
	})
}
