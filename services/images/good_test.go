package images

import (
	"bytes"
	"fmt"
	"image"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// timing is the form of Server-Timing; services in a chain have a stricter one.
var timing = regexp.MustCompile(`^db;dur=[0-9.]+, (next;dur=[0-9.]+, )?all;dur=[0-9.]+$`)

// uploads stores each type, in each form.
func (c *client) uploads() {
	before := c.list()
	if len(before) != 0 {
		c.t.Fatalf("a new server has %d images", len(before))
	}
	for _, u := range []struct {
		kind          string
		content       []byte
		width, height int
	}{
		{"image/png", pngOf(c.t, paint(40, 30, 1)), 40, 30},
		{"image/jpeg", jpegOf(c.t, paint(41, 31, 2)), 41, 31},
		{"image/gif", gifOf(c.t, 300, 7), 300, 7},
		{"image/png", pngOf(c.t, gray(1, 1)), 1, 1},
		{"image/jpeg", grayJPEG(c.t, 2000, 1000), 2000, 1000},
		{"image/jpeg", append(grayJPEG(c.t, 5, 6), "what some cameras write behind it"...), 5,
			6},
		{"image/png", padded(c.t, pngOf(c.t, gray(3, 3)), largest), 3, 3},
	} {
		// the bytes say what it is
		for _, declared := range []string{u.kind, "application/octet-stream", "image/gif"} {
			if len(u.content) > 1<<20 && declared != u.kind {
				continue
			}
			i := c.upload(declared, "x", u.content)
			if i.Type != u.kind || i.Width != u.width || i.Height != u.height {
				c.t.Errorf("an upload of %s, %d x %d, as %s: got %+v", u.kind, u.width, u.height,
					declared, i)
			}
			if got := c.ask("GET", i.URL, nil, nil, 200); !bytes.Equal(got.body, u.content) ||
				got.header.Get("Content-Type") != u.kind {
				c.t.Errorf("%s: got %d bytes of %s, want the %d of %s that were sent", i.URL,
					len(got.body), got.header.Get("Content-Type"), len(u.content), u.kind)
			}
		}
		if len(u.content) > 1<<20 {
			continue
		}
		kind, body := form([3]string{"other", "", "skipped"}, [3]string{"image", "holiday.png",
			string(u.content)}, [3]string{"last", "x.txt", "skipped"})
		i := c.stored(c.ask("POST", "/images", map[string]string{"Content-Type": kind}, body, 201),
			len(u.content))
		if i.Type != u.kind || i.Name != "holiday.png" {
			c.t.Errorf("a form with %s: got %+v", u.kind, i)
		}
	}
	chunked, err := c.try("POST", "/images?name=c", map[string]string{"Content-Type": "image/gif"},
		struct{ *bytes.Reader }{bytes.NewReader(gifOf(c.t, 9, 9))})
	if err != nil || chunked.status != 201 {
		c.t.Errorf("a chunked upload: got %+v, %v", chunked, err)
	}
}

// names stores images under malicious names.
func (c *client) names() {
	content := pngOf(c.t, gray(2, 2))
	for _, n := range []struct{ sent, want string }{
		{"tea.png", "tea.png"}, {"../../etc/passwd", "passwd"},
		{`..\..\windows\win.ini`, "win.ini"}, {"/", "image"}, {"..", "image"}, {"a/..", "image"},
		{".", "image"},
		{"", "image"}, {"  a b  ", "a b"}, {"a\x00b\r\nc\x7f", "abc"},
		{"grüße 猫.png", "grüße 猫.png"}, {"\xff\xfe.png", "��.png"},
		{strings.Repeat("ä", 300), strings.Repeat("ä", 200)}, {`<script>"x"</script>`, "script>"},
		{`"; DROP TABLE image; --`, `"; DROP TABLE image; --`},
		{"%2e%2e%2f", "%2e%2e%2f"}, {"😀", "😀"},
	} {
		i := c.upload("image/png", url.QueryEscape(n.sent), content)
		if i.Name != n.want {
			c.t.Errorf("the name %q: got %q, want %q", n.sent, i.Name, n.want)
		}
		got := c.ask("GET", i.URL, nil, nil, 200).header.Get("Content-Disposition")
		if !safe.MatchString(got) {
			c.t.Errorf("the name %q: got Content-Disposition %q, want it to match %s", n.sent, got,
				safe)
		}
		if want := "filename*=UTF-8''" + strings.ReplaceAll(url.QueryEscape(n.want), "+",
			"%20"); !strings.HasSuffix(got, want) && !strings.Contains(n.want, "~") {
			c.t.Errorf("the name %q: got Content-Disposition %q, want %s", n.sent, got, want)
		}
	}
	for _, name := range []string{"../../up.png", "/etc/up.png", "up.png"} {
		kind, body := form([3]string{"image", name, string(content)})
		if i := c.stored(c.ask("POST", "/images", map[string]string{"Content-Type": kind}, body,
			201), len(content)); i.Name != "up.png" {
			c.t.Errorf("the file %q of a form: got %q, want up.png", name, i.Name)
		}
	}
	kind, body := form([3]string{"image", "grüße.png", string(content)})
	if i := c.stored(c.ask("POST", "/images", map[string]string{"Content-Type": kind}, body, 201),
		len(content)); i.Name != "grüße.png" {
		c.t.Errorf("the file grüße.png of a form: got %q", i.Name)
	}
}

// safe is a Content-Disposition in which a name is only a name.
var safe = regexp.MustCompile(`^inline; filename="[A-Za-z0-9._ -]+"; filename\*=UTF-8''[A-Za-z0-9._~%-]+$`)

// lists looks at pages and their order.
func (c *client) lists() {
	all := c.list()
	if !slices.IsSortedFunc(all, func(a, b info) int { return int(b.ID - a.ID) }) {
		c.t.Error("the list is not in the order of ids, the newest first")
	}
	if len(all) < 25 {
		c.t.Fatalf("got %d images, want the 25 and more that were stored", len(all))
	}
	usual := c.ask("GET", "/images?other=1", nil, nil, 200)
	if n := bytes.Count(usual.body, []byte(`"thumbnail"`)); n != 20 {
		c.t.Errorf("a page has %d images, want 20", n)
	}
	page := string(c.ask("GET", fmt.Sprintf("/images?limit=2&before=%d", all[1].ID), nil, nil,
		200).body)
	if want := fmt.Sprintf(`"next":"/images?limit=2&before=%d"`,
		all[3].ID); !strings.Contains(strings.ReplaceAll(page, `\u0026`, "&"), want) ||
		!strings.Contains(page, all[2].URL+`"`) {
		c.t.Errorf("got %s, want two images and %s", page, want)
	}
	last := string(c.ask("GET", fmt.Sprintf("/images?limit=100&before=%d", all[len(all)-1].ID), nil,
		nil, 200).body)
	if last != `{"images":[],"next":null}` {
		c.t.Errorf("before the first image: got %s", last)
	}
}

// fetches fetches an image with all kinds of conditions and ranges.
func (c *client) fetches() {
	content := pngOf(c.t, paint(50, 50, 3))
	i := c.upload("image/png", "f", content)
	first := c.ask("GET", i.URL, nil, nil, 200)
	tag, size := first.header.Get("ETag"), len(content)
	if !regexp.MustCompile(fmt.Sprintf(`^"%d-[0-9]{13}"$`, i.ID)).MatchString(tag) {
		c.t.Errorf("got the ETag %s, want a strong one of id and milliseconds", tag)
	}
	for name, want := range map[string]string{"Accept-Ranges": "bytes", "Cache-Control": "no-cache",
		"Content-Length": fmt.Sprint(size)} {
		if got := first.header.Get(name); got != want {
			c.t.Errorf("got %s %q, want %q", name, got, want)
		}
	}
	head := c.ask("HEAD", i.URL, nil, nil, 200)
	if head.header.Get("Content-Length") != fmt.Sprint(size) || head.header.Get("ETag") != tag ||
		len(head.body) != 0 {
		c.t.Errorf("HEAD: got %+v", head.header)
	}
	for _, known := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
		a := c.ask("GET", i.URL, map[string]string{"If-None-Match": known, "Range": "bytes=0-1"},
			nil, 304)
		if len(a.body) != 0 || a.header.Get("ETag") != tag {
			c.t.Errorf("If-None-Match %s: got %d bytes and ETag %s", known, len(a.body),
				a.header.Get("ETag"))
		}
	}
	c.ask("GET", i.URL, map[string]string{"If-None-Match": `"1-1"`}, nil, 200)
	for _, r := range []struct {
		asked    string
		from, to int // the last one included
	}{
		{"bytes=0-0", 0, 0}, {"bytes=5-99", 5, 99}, {fmt.Sprintf("bytes=%d-", size-1), size - 1,
			size - 1}, {"bytes=-7", size - 7, size - 1},
		{"bytes=3-99999999", 3, size - 1}, {"bytes=-99999999", 0, size - 1},
	} {
		a := c.ask("GET", i.URL, map[string]string{"Range": r.asked, "If-Range": tag}, nil, 206)
		if want := fmt.Sprintf("bytes %d-%d/%d", r.from, r.to, size); !bytes.Equal(a.body,
			content[r.from:r.to+1]) || a.header.Get("Content-Range") != want ||
			a.header.Get("ETag") != tag || !timing.MatchString(a.header.Get("Server-Timing")) {
			c.t.Errorf("Range %s: got %d bytes, %v, want %s", r.asked, len(a.body), a.header, want)
		}
	}
	if a := c.ask("GET", i.URL, map[string]string{"Range": "bytes=0-0", "If-Range": `"1-1"`}, nil,
		200); !bytes.Equal(a.body, content) {
		c.t.Errorf("another If-Range: got %d bytes, want all", len(a.body))
	}
	for _, beyond := range []string{fmt.Sprintf("bytes=%d-", size), "bytes=99999999-"} {
		if a := c.ask("GET", i.URL, map[string]string{"Range": beyond}, nil,
			416); a.header.Get("Content-Range") != fmt.Sprintf("bytes */%d", size) {
			c.t.Errorf("Range %s: got Content-Range %q", beyond, a.header.Get("Content-Range"))
		}
	}
}

// thumbnails checks size and type, and that each is made once.
func (c *client) thumbnails() {
	for _, u := range []struct {
		content       []byte
		kind          string
		width, height int
	}{
		{pngOf(c.t, paint(320, 240, 4)), "image/png", 160, 120}, {grayJPEG(c.t, 1000, 3000),
			"image/jpeg", 53, 160}, {gifOf(c.t, 400, 1), "image/png", 160, 1},
		{pngOf(c.t, gray(20, 10)), "image/png", 20, 10}, {grayJPEG(c.t, 2500, 2000),
			"image/jpeg", 160, 128},
	} {
		i := c.upload("image/png", "t", u.content)
		var made [4]*answer // all ask at once
		var wait sync.WaitGroup
		for n := range made {
			wait.Go(func() { made[n], _ = c.try("GET", i.Thumbnail, nil, nil) })
		}
		wait.Wait()
		last := c.ask("GET", i.Thumbnail, nil, nil, 200)
		for _, a := range append(made[:], last) {
			if a == nil || a.status != 200 || a.header.Get("Content-Type") != u.kind ||
				!bytes.Equal(a.body, last.body) {
				c.t.Fatalf("%s: got %.500v, want %s, the same for all who ask", i.Thumbnail, a,
					u.kind)
			}
		}
		picture, _, err := image.Decode(bytes.NewReader(last.body))
		if err != nil || picture.Bounds().Dx() != u.width || picture.Bounds().Dy() != u.height {
			c.t.Errorf("%s: got %v (%v), want %d x %d", i.Thumbnail, picture.Bounds(), err, u.width,
				u.height)
		}
		tag := last.header.Get("ETag")
		if !strings.HasSuffix(tag, `-t"`) {
			c.t.Errorf("%s: got the ETag %s", i.Thumbnail, tag)
		}
		c.ask("GET", i.Thumbnail, map[string]string{"If-None-Match": tag}, nil, 304)
		c.ask("HEAD", i.Thumbnail, nil, nil, 200)
	}
	noise := pngOf(c.t, gray(30, 30))
	broken := append(bytes.Clone(noise[:33]),
		chunk(nil, "IDAT", []byte("no deflate stream at all"))...)
	broken = append(broken, noise[len(noise)-12:]...)
	for range 2 {
		c.ask("GET", c.upload("image/png", "broken", broken).Thumbnail, nil, nil, 422)
	}
}

// deletes removes an image and its thumbnail, for good.
func (c *client) deletes() {
	before := c.list()
	i := c.upload("image/gif", "d", gifOf(c.t, 200, 200))
	c.ask("GET", i.Thumbnail, nil, nil, 200)
	if a := c.ask("DELETE", i.URL, nil, nil, 204); len(a.body) != 0 {
		c.t.Errorf("DELETE: got %q", a.body)
	}
	for _, gone := range []string{i.URL, i.Thumbnail} {
		c.ask("GET", gone, nil, nil, 404)
	}
	c.ask("DELETE", i.URL, nil, nil, 404)
	c.same(before, "after an image was deleted")
	if next := c.upload("image/gif", "d", gifOf(c.t, 2, 2)); next.ID <= i.ID {
		c.t.Errorf("the id %d was given again: got %d", i.ID, next.ID)
	}
}

// empty deletes all images.
func (c *client) empty() {
	for _, i := range c.list() {
		c.ask("DELETE", i.URL, nil, nil, 204)
	}
	c.same(nil, "after all images were deleted")
}

// same compares the list with an earlier one.
func (c *client) same(before []info, when string) {
	c.t.Helper()
	if after := c.list(); !slices.Equal(before, after) {
		c.t.Errorf("%s: the list has %d images, want the %d as before", when, len(after),
			len(before))
	}
}

// files fetches the static files.
func (c *client) files() {
	entries, err := os.ReadDir("page")
	if err != nil || len(entries) == 0 {
		c.t.Fatal("the page has no files", err)
	}
	for _, e := range entries {
		content, err := os.ReadFile("page/" + e.Name())
		if err != nil {
			c.t.Fatal(err)
		}
		a := c.ask("GET", "/"+strings.TrimSuffix(e.Name(), "index.html"), nil, nil, 200)
		policy := a.header.Get("Content-Security-Policy")
		if !bytes.Equal(a.body, content) ||
			!strings.HasPrefix(policy, "default-src 'none'; script-src 'self';") ||
			a.header.Get("Cache-Control") != "no-cache" {
			c.t.Errorf("%s: got %d bytes, %v", e.Name(), len(a.body), a.header)
		}
	}
	if kind := c.ask("HEAD", "/", nil, nil,
		200).header.Get("Content-Type"); !strings.EqualFold(strings.ReplaceAll(kind, " ", ""),
		"text/html;charset=utf-8") {
		c.t.Errorf("the page: got Content-Type %q", kind)
	}
	document, err := os.ReadFile("openapi.yaml")
	if a := c.ask("GET", "/openapi.yaml", nil, nil, 200); err != nil ||
		!bytes.Equal(a.body, document) ||
		!strings.HasPrefix(a.header.Get("Content-Type"), "application/yaml") {
		c.t.Errorf("openapi.yaml: got %d bytes of %s (%v)", len(a.body),
			a.header.Get("Content-Type"), err)
	}
	if a := c.ask("GET", "/healthz", nil, nil, 200); string(a.body) != `{"status":"ok"}` {
		c.t.Errorf("healthz: got %q", a.body)
	}
}

// together stores the same image from many clients at once: each gets an image of its own.
func (c *client) together() {
	const clients, each = 16, 4
	before, content := len(c.list()), jpegOf(c.t, paint(100, 100, 5))
	ids := make(chan int64, clients*each)
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			for range each {
				a, err := c.try("POST", "/images?name=same",
					map[string]string{"Content-Type": "image/jpeg"}, bytes.NewReader(content))
				if err != nil || a.status != 201 {
					c.t.Errorf("one of many uploads: %v, %.300v", err, a)
					return
				}
				ids <- c.stored(a, len(content)).ID
			}
		})
	}
	wait.Wait()
	close(ids)
	seen := map[int64]bool{}
	for id := range ids {
		seen[id] = true
	}
	if after := len(c.list()); len(seen) != clients*each || after != before+clients*each {
		c.t.Errorf("%d uploads at once: got %d ids, and %d images where %d were", clients*each,
			len(seen), after, before)
	}
}
