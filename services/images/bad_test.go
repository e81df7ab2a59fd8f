package images

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// refusals are whole requests that are wrong: each gets a reason, and stores nothing.
func (c *client) refusals() {
	before := c.list()
	good, photo, moving := pngOf(c.t, gray(9, 9)), grayJPEG(c.t, 9, 9), gifOf(c.t, 9, 9)
	webp := []byte("RIFF\x24\x00\x00\x00WEBPVP8 \x18\x00\x00\x00")
	for _, b := range []struct {
		name    string
		content []byte
		status  int
	}{
		{"empty", nil, 400}, {"text", []byte("no image"), 415}, {"one byte", []byte{0xff}, 415},
		{"webp", webp, 415}, {"svg", []byte("<svg xmlns='http://www.w3.org/2000/svg'/>"), 415},
		{"png: signature alone", good[:8], 422}, {"png: half a head", good[:20], 422},
		{"png: cut", good[:len(good)-5], 422}, {"png: no end", good[:len(good)-12], 422},
		{"png: no width", resized(good, 0, 9), 422}, {"png: no height", resized(good, 9, 0), 422},
		{"png: negative", resized(good, 1<<31, 1), 422},
		{"png: bomb", resized(good, 10_000, 5_001), 422},
		{"png: greatest", resized(good, 1<<31-1, 1<<31-1), 422},
		{"png: first chunk is no IHDR", append(bytes.Clone(good[:8]),
			append(chunk(nil, "teXt", make([]byte, 13)), good[8:]...)...), 422},
		{"png: endless chunk", append(bytes.Clone(good[:33]), 0xff, 0xff, 0xff, 0xff, 'I', 'D', 'A',
			'T', 0, 0, 0, 0), 422},
		{"jpeg: begin alone", photo[:4], 422}, {"jpeg: cut", photo[:len(photo)-2], 422},
		{"jpeg: no frame", []byte("\xff\xd8\xff\xe0\x00\x04ab\xff\xd9"), 422},
		{"jpeg: bomb", resizedJPEG(c.t, photo, 65_535, 65_535), 422},
		{"jpeg: no height", resizedJPEG(c.t, photo, 9, 0), 422},
		{"jpeg: endless segment", []byte("\xff\xd8\xff\xe0\xff\xff\xff\xd9"), 422},
		{"jpeg: segment of nothing", []byte("\xff\xd8\xff\xe0\x00\x00\xff\xd9"), 422},
		{"gif: begin alone", moving[:6], 422}, {"gif: cut", moving[:len(moving)-1], 422},
		{"gif: no width", append(append([]byte("GIF89a\x00\x00"), moving[8:]...), 0x3b), 422},
		{"gif: bomb", append(append([]byte("GIF89a\xff\xff\xff\xff"), moving[10:]...), 0x3b), 422},
		{"a byte too long", padded(c.t, good, largest+1), 413},
	} {
		kind, body := form([3]string{"image", "x.png", string(b.content)})
		c.refused(b.name, map[string]string{"Content-Type": "image/png"}, b.content, b.status)
		c.refused(b.name+", in a form", map[string]string{"Content-Type": kind}, body, b.status)
	}
	c.wrongForms(good)
	for _, kind := range []string{"", "text/plain", "image/webp", "image/svg+xml",
		"application/json", "image", "multipart/form-data", "multipart/mixed; boundary=x"} {
		a := c.refusedBy(map[string]string{"Content-Type": kind}, good)
		if a != nil && a.status != 415 && !(kind == "multipart/form-data" && a.status == 400) {
			c.t.Errorf("Content-Type %q: got %d %.200q, want 415", kind, a.status, a.body)
		}
	}
	for _, query := range []string{"limit=0", "limit=101", "limit=-1", "limit=x", "limit=",
		"limit=1.5", "limit=99999999999999999999", "before=0", "before=-1", "before=x", "before="} {
		c.ask("GET", "/images?"+query, nil, nil, 400)
	}
	for _, path := range []string{"/images/0", "/images/-1", "/images/x", "/images/01",
		"/images/999999999999999", "/images/9999999999999999", "/images/99999999999999999999",
		"/images/1%20OR%201=1",
		"/images/1/x", "/images/x/thumbnail", "/images/999999999999999/thumbnail", "/nothing",
		"/page/index.html", "/schema.sqlite.sql", "/images.db", "/index.html.bak"} {
		c.ask("GET", path, nil, nil, 404)
		c.ask("HEAD", path, nil, nil, 404)
	}
	c.ask("DELETE", "/images/x", nil, nil, 404)
	for path, allowed := range map[string][]string{"/images": {"GET", "HEAD", "POST"},
		"/images/1": {"GET", "HEAD", "DELETE"}, "/images/1/thumbnail": {"GET", "HEAD"},
		"/": {"GET", "HEAD"}, "/healthz": {"GET", "HEAD"}} {
		allow := c.ask("PUT", path, nil, nil, 405).header.Get("Allow")
		for _, method := range allowed {
			if !strings.Contains(allow, method) {
				c.t.Errorf("PUT %s: got Allow %q, want %s", path, allow, allowed)
			}
		}
	}
	c.same(before, "after wrong requests")
}

// wrongForms are invalid multipart bodies, or ones without an image.
func (c *client) wrongForms(good []byte) {
	kind, whole := form([3]string{"image", "x.png", string(good)})
	_, two := form([3]string{"image", "x.png", string(good)}, [3]string{"image", "y.png",
		string(good)})
	_, other := form([3]string{"picture", "x.png", string(good)})
	_, none := form()
	for name, body := range map[string][]byte{
		"two images": two, "another field": other, "no part": none, "no body": nil,
		"no form": []byte("x=y"), "cut in the image": whole[:len(whole)/2],
		"without its last line": whole[:len(whole)-40],
		"cut in a head":         whole[:60],
	} {
		c.refused("a form: "+name, map[string]string{"Content-Type": kind}, body, 400)
	}
}

// refused uploads a body that must be refused with a status.
func (c *client) refused(name string, header map[string]string, body []byte, status int) {
	c.t.Helper()
	if a := c.refusedBy(header, body); a != nil && a.status != status {
		c.t.Errorf("%s: got %d %.300q, want %d", name, a.status, a.body, status)
	}
}

// refusedBy uploads a body that must be refused. The answer is nil if the server closed the
// connection without reading the body.
func (c *client) refusedBy(header map[string]string, body []byte) *answer {
	c.t.Helper()
	a, err := c.try("POST", "/images", header, bytes.NewReader(body))
	if err != nil && len(body) > 1<<20 {
		return nil
	}
	if err != nil {
		c.t.Errorf("uploading %.40q: %v", body, err)
		return nil
	}
	if err := a.wellFormed("POST"); err != nil || a.status < 400 {
		c.t.Errorf("uploading %.40q: got %d, %v", body, a.status, err)
	}
	return a
}

// broken are requests that a client does not finish, or that are not HTTP: nothing is stored, and
// all others are served.
func (c *client) broken() {
	before := c.list()
	content := pngOf(c.t, paint(60, 60, 6))
	head := "POST /images HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\n"
	kind, body := form([3]string{"image", "x.png", string(content)})
	for _, b := range []struct {
		name, sent string
		want       []int // none: any answer, or none
	}{
		{"far too long, told before it comes", head + "Content-Length: 30000000\r\n\r\n",
			[]int{413}},
		{"a form far too long", "POST /images HTTP/1.1\r\nHost: x\r\nContent-Type: " + kind +
			"\r\nContent-Length: 30000000\r\n\r\n", []int{413}},
		{"a type that is refused before it comes",
			"POST /images HTTP/1.1\r\nHost: x\r\nContent-Type: text/html\r\nContent-Length: " +
				"1000\r\n\r\n", []int{415}},
		{"no length", head + "\r\n", []int{400, 411}},
		{"a length that is no number", head + "Content-Length: many\r\n\r\n", []int{400}},
		{"a negative length", head + "Content-Length: -5\r\n\r\n", []int{400}},
		{"two lengths", head + fmt.Sprintf("Content-Length: 5\r\nContent-Length: %d\r\n\r\n%s",
			len(content), content), []int{400}},
		// the bytes after it are no request
		{"shorter than the body", head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s",
			len(content)-20, content), []int{422, 400}},
		{"a chunk that is none", head + "Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
			[]int{400}},
		{"a path that climbs", "GET /../../../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
			[]int{301, 307, 308, 400, 404}},
		{"a path that climbs in percent form",
			"GET /%2e%2e%2f%2e%2e%2fetc%2fpasswd HTTP/1.1\r\nHost: x\r\n\r\n",
			[]int{301, 307, 308, 400, 404}},
		{"a path with a NUL", "GET /images/1%00 HTTP/1.1\r\nHost: x\r\n\r\n", []int{400, 404}},
		{"no HTTP", "\x16\x03\x01 hello\r\n\r\n", nil},
		{"a head without end", "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 1<<20), nil},
	} {
		got, err := c.raw(b.sent)
		if okay := b.want == nil; !okay {
			for _, want := range b.want {
				okay = okay || got == want
			}
			if !okay {
				c.t.Errorf("%s: got %d (%v), want %d", b.name, got, err, b.want)
			}
		}
	}
	for _, cut := range []string{ // the client goes in the middle
		head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(content), content[:len(content)-1]),
		head + "Transfer-Encoding: chunked\r\n\r\n1000\r\n" + string(content[:500]),
		head + fmt.Sprintf("Content-Length: %d\r\n", len(content)),
		"POST /images HTTP/1.1\r\nHost: x\r\nContent-Type: " +
			kind + fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:len(body)-20]),
	} {
		for _, reset := range []bool{false, true} {
			if conn := c.dial(); conn != nil {
				_, _ = conn.Write([]byte(cut)) // the server may have closed already
				if reset {
					_ = conn.SetLinger(0)
				}
				_ = conn.Close()
			}
		}
	}
	c.ask("GET", "/healthz", nil, nil, 200)
	c.same(before, "after uploads that did not end")
}

// dial opens a connection.
func (c *client) dial() *net.TCPConn {
	conn, err := net.DialTimeout("tcp", c.address, patience)
	if err != nil {
		c.t.Errorf("dialling: %v", err)
		return nil
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	return conn.(*net.TCPConn)
}

// raw sends bytes and returns the status of the answer.
func (c *client) raw(sent string) (status int, err error) {
	conn := c.dial()
	if conn == nil {
		return 0, nil
	}
	return exchange(conn, sent)
}

// exchange is raw on a connection, which it closes.
func exchange(conn net.Conn, sent string) (status int, err error) {
	defer conn.Close()
	go func() { _, _ = io.WriteString(conn, sent) }() // the server may close before all is sent
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}
