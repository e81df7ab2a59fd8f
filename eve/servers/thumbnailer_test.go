package servers_test

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"io"
	"mime/multipart"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// asForm is a form with a text and a file, and its content type.
func asForm(t *testing.T, picture []byte) (body io.Reader, kind string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.WriteField("title", "a \"title\"\r\n--"); err != nil {
		t.Fatal(err)
	}
	file, err := w.CreateFormFile("picture", `../"cat".jpeg`)
	if err != nil {
		t.Fatal(err)
	}
	file.Write(picture)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b, w.FormDataContentType()
}

// thumbnail asks for one, and checks its form and its size.
func (b browser) thumbnail(query string, body io.Reader, kind, form string,
	width, height int) (image.Image, string) {
	b.t.Helper()
	a, text := b.ask("POST", "/thumbnails"+query, body, "Content-Type", kind)
	got, is, err := image.Decode(strings.NewReader(text))
	if err != nil || a.StatusCode != 200 || is != form ||
		a.Header.Get("Content-Type") != "image/"+form ||
		got.Bounds().Size() != image.Pt(width, height) {
		b.t.Fatalf("%s: got %d %q, %v; want %s of %d x %d", query, a.StatusCode, head(text), err,
			form, width, height)
	}
	return got, a.Header.Get("ETag")
}

func (b browser) mustCounts(made, found int) {
	b.t.Helper()
	var got struct{ Made, Found int }
	if _, text := b.ask("GET", "/counts", nil); json.Unmarshal([]byte(text), &got) != nil ||
		got.Made != made || got.Found != found {
		b.t.Errorf("the counts are %q, want %d made and %d found", text, made, found)
	}
}

// The thumbnailer with real pictures, as clients of net/http send them.
func TestPageOfThumbnailer(t *testing.T) {
	t.Parallel()
	p := start(t, page(t, "thumbnailer"), "EVE_WORKERS=2")
	b := newBrowser(t, p.port())
	const raw = "application/octet-stream"
	made := 0
	for _, file := range realPictures(t) { // all are 150 x 103
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, form, err := image.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		size := want.Bounds().Size()
		got, _ := b.thumbnail("?width=1024", bytes.NewReader(data), raw, form, size.X, size.Y)
		if d := far(got, want); d > 8 {
			t.Errorf("%s: the distance is %.2f", file, d)
		}
		made++
	}
	b.mustCounts(made, 0)

	wide := asPNG(t, quarters(1200, 600, red, green, hidden, white))
	got, tag := b.thumbnail("", bytes.NewReader(wide), raw, "png", 160, 80)
	if d := far(got, quarters(160, 80, red, green, color.NRGBA{}, white)); d > 4 {
		t.Errorf("the quarters are %.2f away", d)
	}
	body, kind := asForm(t, wide)
	if _, again := b.thumbnail("?width=160", body, kind, "png", 160, 80); again != tag {
		t.Errorf("the tags are %s and %s", tag, again)
	}
	b.mustCounts(made+1, 1) // a form with the same picture is found
	_, other := b.thumbnail("?width=50&height=10", bytes.NewReader(wide), raw, "png", 20, 10)
	if other == tag {
		t.Errorf("two thumbnails have the tag %s", tag)
	}
	if a, text := b.ask("POST", "/thumbnails", bytes.NewReader(wide), "If-None-Match",
		tag); a.StatusCode != 304 || text != "" {
		t.Errorf("a known thumbnail: %d %q", a.StatusCode, head(text))
	}
	if a, text := b.ask("GET", "/", nil); a.StatusCode != 200 || !strings.Contains(text, "<form") {
		t.Errorf("the page: %d %q", a.StatusCode, text)
	}

	cut := asJPEG(t, quarters(64, 64, red, green, blue, white))
	cut = cut[:len(cut)-100]
	for _, c := range []struct {
		query, kind string
		body        []byte
		status      int
		want        string
	}{
		{"", raw, nil, 415, "a picture in JPEG, PNG or GIF is wanted\n"},
		{"", raw, []byte("GIF89"), 415, "a picture in JPEG, PNG or GIF is wanted\n"},
		{"", raw, []byte("GIF89a"), 422, "the data ends early\n"},
		{"?width=0", raw, wide, 400, "width is from 1 to 1024\n"},
		{"?height=1025", raw, wide, 400, "height is from 1 to 1024\n"},
		{"?width=x", raw, wide, 400, "width is from 1 to 1024\n"},
		{"?depth=5", raw, wide, 400, "there is no parameter depth\n"},
		{"?width=%", raw, wide, 400, "an escape is cut off\n"},
		{"", raw, cut, 422, "the data ends early\n"},
		{"", raw, bomb(t, 40_000, 40_000), 413, "the picture is larger than is allowed\n"},
		{"", "multipart/form-data; boundary=x", []byte("--x--"), 400, "the form has no file\n"},
		{"", "multipart/form-data; boundary=x", wide, 400, "the form has no end\n"},
	} {
		if a, text := b.ask("POST", "/thumbnails"+c.query, bytes.NewReader(c.body), "Content-Type",
			c.kind); a.StatusCode != c.status || text != c.want {
			t.Errorf("%s, %s: got %d %q, want %d %q", c.query, head(string(c.body)), a.StatusCode,
				head(text), c.status, c.want)
		}
	}
	thumbnailsAtOnce(t, p)
	p.signal(syscall.SIGTERM)
	p.mustExit(0)
}

// Clients at once get their own thumbnails, or are told to come again.
func thumbnailsAtOnce(t *testing.T, p *process) {
	port := p.port()
	var wait sync.WaitGroup
	for i := range 30 {
		b := newBrowser(t, port)
		data := asPNG(t, quarters(200+i, 100, red, green, blue, white))
		wait.Go(func() {
			a, text := b.ask("POST", "/thumbnails?width=100", bytes.NewReader(data))
			got, _, err := image.Decode(strings.NewReader(text))
			want := image.Pt(100, (100*100+(200+i)/2)/(200+i))
			if a.StatusCode == 503 && text == "too many pictures are waiting\n" {
				return
			}
			if a.StatusCode != 200 || err != nil || got.Bounds().Size() != want {
				t.Errorf("picture %d: %d %q, want %v", i, a.StatusCode, head(text), want)
			}
		})
	}
	wait.Wait()
}
