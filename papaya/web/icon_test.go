package web

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"reflect"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"interleave/internal/browser"
)

// drawn returns an icon as the server sends it.
func drawn(t *testing.T, name string) image.Image {
	t.Helper()
	r := get(t, "GET", "/"+name, nil)
	if r.Code != 200 || r.Header().Get("Content-Type") != "image/png" {
		t.Fatalf("%s: got %d %s", name, r.Code, r.Header().Get("Content-Type"))
	}
	m, err := png.Decode(bytes.NewReader(r.Body.Bytes()))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return m
}

// TestIcons: the PNGs have their sizes, show the papaya in the middle, and have a ground where they
// are cut to a shape.
func TestIcons(t *testing.T) {
	const inside = .3 // of the side: a point in the flesh, left of the middle
	for name, want := range icons {
		m := drawn(t, name)
		if b := m.Bounds(); b.Dx() != want.size || b.Dy() != want.size {
			t.Errorf("%s: got %v, want %d pixels", name, b, want.size)
		}
		at := func(x, y float32) color.NRGBA {
			side := float32(want.size)
			part := func(v float32) int { return int(side * (.5 + (v-.5)*want.part)) }
			return color.NRGBAModel.Convert(m.At(part(x), part(y))).(color.NRGBA)
		}
		if got, skin := at(.5, .92), (color.NRGBA{0x3f, 0x7d, 0x3a, 0xff}); got != skin {
			t.Errorf("%s: the skin is %v, want %v", name, got, skin)
		}
		if got, flesh := at(inside, .6), (color.NRGBA{0xff, 0x9d, 0x4d, 0xff}); got != flesh {
			t.Errorf("%s: the flesh is %v, want %v", name, got, flesh)
		}
		if got, seed := at(31./64, 39./64), (color.NRGBA{0x2b, 0x1c, 0x14, 0xff}); got != seed {
			t.Errorf("%s: a seed is %v, want %v", name, got, seed)
		}
		corner := color.NRGBAModel.Convert(m.At(0, 0)).(color.NRGBA)
		if ground := want.ground != nil; ground && corner != paper || !ground && corner.A != 0 {
			t.Errorf("%s: the corner is %v", name, corner)
		}
	}
}

// TestMaskableIcon: nothing of the picture is outside of the circle that every system shows.
func TestMaskableIcon(t *testing.T) {
	m := drawn(t, "icon-maskable.png")
	side := m.Bounds().Dx()
	for y := range side {
		for x := range side {
			dx, dy := x-side/2, y-side/2
			c := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
			if 100*(dx*dx+dy*dy) > 16*side*side && c != paper {
				t.Fatalf("at %d,%d there is %v", x, y, c)
			}
		}
	}
}

func TestParsePath(t *testing.T) {
	p := func(x, y float32) point { return point{x, y} }
	tests := []struct {
		text string
		want []step // nil: it is refused
	}{
		{"M1 2c.5-1 2,3 4 5z", []step{{moves: true, to: p(1, 2)},
			{a: p(1.5, 1), b: p(3, 5), to: p(5, 7)}}},
		{"M1 2C1 2 3 4 5 6s1 1 2 2S9 9 8 8", []step{{moves: true, to: p(1, 2)},
			{a: p(1, 2), b: p(3, 4), to: p(5, 6)}, {a: p(7, 8), b: p(6, 7), to: p(7, 8)},
			{a: p(8, 9), b: p(9, 9), to: p(8, 8)}}},
		{"M0 0C1 1 2 2 3 3 4 4 5 5 6 6", []step{{moves: true},
			{a: p(1, 1), b: p(2, 2), to: p(3, 3)}, {a: p(4, 4), b: p(5, 5), to: p(6, 6)}}},
		{"M1 2 3 4", nil}, {"M1", nil}, {"1 2", nil}, {"M1 2h5", nil}, {"M1 2c1 2 3", nil},
		{"M1 2!", nil}, {"Mz z", nil}, {"M1e9 2", nil},
		{strings.Repeat("M1 2", maxSteps+1), nil},
	}
	for _, tt := range tests {
		got, err := parsePath(tt.text)
		if (err == nil) != (tt.want != nil) || err == nil && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%.40s: got %v, %v, want %v", tt.text, got, err, tt.want)
		}
	}
	for _, bad := range []string{"", "<svg/>", `<svg viewBox="0 0 0 0"/>`,
		`<svg viewBox="0 0 8 8"><path d="M1 2" fill="red"/></svg>`,
		`<svg viewBox="0 0 8 8"><circle cx="x" cy="1" r="1" fill="#000000"/></svg>`,
		`<svg viewBox="0 0 8 8"><path d="M1" fill="#000000"/></svg>`, `<svg viewBox="0 0 8 8">`} {
		if d, err := parseSVG([]byte(bad)); err == nil {
			t.Errorf("%s: got %v", bad, d)
		}
	}
}

func FuzzParseSVG(f *testing.F) {
	whole, err := files.ReadFile("page/icon.svg")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`<svg viewBox="0 0 8 8"><g fill="#010203"><path d="M1 2s.5-1 2,3z"/></g></svg>`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if d, err := parseSVG(data); err == nil {
			for _, s := range d.shapes {
				if len(s.steps) > maxSteps {
					panic("a path has too many steps")
				}
			}
		}
	})
}

// TestInstallable: browsers find a manifest without an error, with icons that are what they say.
// Where Chromium can say why a page cannot be installed, it says nothing.
func TestInstallable(t *testing.T) {
	p := newPapaya(t, false)
	ann := newPerson(t, 390, 800)
	ann.open(p.url())
	found, err := chromedp.Call(ann.Context(), page.GetAppManifest, page.GetAppManifestParams{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found.Errors {
		t.Errorf("the manifest: %s in line %d", e.Message, e.Line)
	}
	var manifest struct {
		Name, Display string
		StartURL      string `json:"start_url"`
		Icons         []struct{ Src, Sizes, Type, Purpose string }
	}
	if err := json.Unmarshal([]byte(found.Data), &manifest); err != nil {
		t.Fatalf("%v: %s", err, found.Data)
	}
	if manifest.Name == "" || manifest.StartURL == "" || manifest.Display != "standalone" {
		t.Errorf("the manifest is %+v", manifest)
	}
	has := map[string]bool{}
	for _, i := range manifest.Icons {
		has[i.Sizes+" "+i.Purpose] = true
		if i.Type != "image/png" {
			continue
		}
		got := browser.Eval[string](ann.Page, `fetch("`+i.Src+`").then((r) => r.blob())
			.then((b) => createImageBitmap(b)).then((m) => m.width + "x" + m.height)`)
		if got != i.Sizes {
			t.Errorf("%s has %s, and the manifest says %s", i.Src, got, i.Sizes)
		}
	}
	for _, want := range []string{"192x192 any", "512x512 any", "512x512 maskable"} {
		if !has[want] {
			t.Errorf("the manifest has no icon %s", want)
		}
	}
	touch := browser.Eval[string](ann.Page,
		`document.querySelector("link[rel=apple-touch-icon]").href`)
	if touch != p.url()+"apple-touch-icon.png" {
		t.Errorf("the icon for iOS is %s", touch)
	}
	why, err := chromedp.Call(ann.Context(), page.GetInstallabilityErrors, cdp.Empty{})
	if err != nil { // the headless shell has no part that installs pages
		t.Logf("this browser does not judge whether the page can be installed: %v", err)
		return
	}
	for _, e := range why.InstallabilityErrors {
		// pages of tests have no profile, and so install nothing whatever they are
		if e.ErrorID != "in-incognito" {
			t.Errorf("the page cannot be installed: %s", e.ErrorID)
		}
	}
}
