package preview

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"interleave/papaya/fence"
	"interleave/papaya/file"
	"interleave/papaya/hall"
	"interleave/papaya/proxy"
)

// loopback lets requests to 127.0.0.1 through the fence, and to no other address of this machine.
var loopback = proxy.Networks{netip.MustParsePrefix("127.0.0.1/32")}

// A trial is a service beside a server of pages.
type trial struct {
	*Service
	mu        sync.Mutex
	results   map[string]int
	published []string
	gone      bool // messages are removed before their preview comes
	site      *httptest.Server
	asked     atomic.Int64
}

// newTrial starts a server of pages, which the service may ask.
func newTrial(t *testing.T, handler http.HandlerFunc) *trial {
	t.Helper()
	r := &trial{results: map[string]int{}}
	r.site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.asked.Add(1)
		handler(w, q)
	}))
	t.Cleanup(r.site.Close)
	logger := discard()
	images, err := OpenImages(t.TempDir(), func() int64 { return 1 << 20 }, logger)
	if err != nil {
		t.Fatal(err)
	}
	files, err := file.Open(t.TempDir(), func() file.Limits { return file.Limits{Pixels: 1 << 20} },
		logger)
	if err != nil {
		t.Fatal(err)
	}
	r.Service = New(Options{Fence: fence.Fence{Open: loopback, Setting: "preview.networks"},
		Ports: []uint16{80, 443, portOf(t, r.site.URL)}, Agent: "PapayaLinkPreview/test",
		Base: "https://chat.example", Private: func() bool { return false }, Images: images,
		Shrink: files.Shrink, Logger: logger, Now: time.Now,
		Publish: func(_ context.Context, _ hall.Linked, text string) (bool, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.published = append(r.published, text)
			return !r.gone, nil
		},
		Count: func(result string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.results[result]++
		}})
	return r
}

func (r *trial) of(result string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.results[result]
}

func portOf(t *testing.T, address string) uint16 {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return uint16(n)
}

func writePage(w http.ResponseWriter, head string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, "<!doctype html><html><head>"+head+"</head><body>text</body></html>")
}

// picture is a PNG.
func picture(t *testing.T, width, height int) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range min(width, height) {
		m.SetRGBA(i, i, color.RGBA{200, 100, 50, 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPage: a page is fetched with its image, after redirects, and nothing is told but what must
// be.
func TestPage(t *testing.T) {
	var mu sync.Mutex
	var seen []http.Header
	r := newTrial(t, func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, q.Header)
		http.SetCookie(w, &http.Cookie{Name: "who", Value: "papaya"})
		switch q.URL.Path {
		case "/short":
			http.Redirect(w, q, "/long?a=b#there", http.StatusFound)
		case "/long":
			writePage(w, `<title>not this</title><meta property="og:title" content="Tea &amp; time">
				<meta property="og:description" content="How to &lt;b&gt;brew&lt;/b&gt;">
				<meta property="og:site_name" content="Tea">
				<meta property="og:image" content="pot.png">`)
		case "/pot.png":
			_, _ = w.Write(picture(t, 1280, 640))
		}
	})
	link := r.site.URL + "/short#here"
	p, err := r.fetch(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	if p.URL != link || p.Title != "Tea & time" || p.Text != "How to <b>brew</b>" ||
		p.Site != "Tea" || p.Width != 640 || p.Height != 320 {
		t.Errorf("the preview is %+v", p)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != 3 {
		t.Fatalf("%d requests, want 3", len(seen))
	}
	for _, h := range seen {
		for _, name := range []string{"Cookie", "Referer", "Authorization", "Accept-Encoding",
			"Accept-Language", "X-Forwarded-For"} {
			if v := h.Get(name); v != "" {
				t.Errorf("%s: %s is told", name, v)
			}
		}
		if h.Get("User-Agent") != "PapayaLinkPreview/test" {
			t.Errorf("the user agent is %q", h.Get("User-Agent"))
		}
	}
	image := get(t, r.Images.Handler(), "/preview/"+p.Image)
	if image.Code != http.StatusOK || image.Header().Get("Content-Type") != "image/jpeg" {
		t.Errorf("the image: status %d, %v", image.Code, image.Header())
	}
}

// TestImageAlone: a link to an image is shown as one.
func TestImageAlone(t *testing.T) {
	r := newTrial(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(picture(t, 64, 32))
	})
	if p, err := r.fetch(t.Context(), r.site.URL); err != nil || p.Image == "" || p.Width != 64 {
		t.Errorf("got %+v, %v", p, err)
	}
}

// TestRedirectsAreJudged: each redirect leads where a link must not lead.
func TestRedirectsAreJudged(t *testing.T) {
	closed := newTrial(t, func(w http.ResponseWriter, _ *http.Request) {
		writePage(w, "<title>secret</title>")
	})
	_, closedPort, _ := net.SplitHostPort(strings.TrimPrefix(closed.site.URL, "http://"))
	r := newTrial(t, func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Location", q.URL.Query().Get("to"))
		w.WriteHeader(http.StatusFound)
	})
	self := r.site.URL
	for to, want := range map[string]string{
		"http://169.254.169.254/latest/meta-data/": fenced,
		"http://10.0.0.1/":                         fenced,
		"http://[::1]/":                            fenced,
		"http://[::ffff:10.0.0.1]/":                fenced,
		"http://[64:ff9b::10.0.0.1]/":              fenced,
		"http://127.0.0.2:" + closedPort + "/":     refused, // the port is not of the settings
		"http://127.0.0.2/":                        fenced,
		"http://0.0.0.0/":                          fenced,
		closed.site.URL + "/":                      refused,
		"https://chat.example/file/x":              refused,
		"file:///etc/passwd":                       refused,
		"ftp://127.0.0.1/":                         refused,
		"javascript:alert(1)":                      refused,
		"gopher://127.0.0.1:6379/_x":               refused,
		strings.Replace(self, "//", "//a:b@", 1):   refused,
		"http://[fe80::1%25lo]/":                   refused,
		"http:///x":                                refused,
		"":                                         refused,
		"http://a b/":                              refused,
		self + "/" + strings.Repeat("x", maxURL):   refused,
	} {
		r.hosts = newRate()
		_, err := r.fetch(t.Context(), self+"/?to="+url.QueryEscape(to))
		if !isOutcome(err, want, strings.Contains(to, "[")) {
			t.Errorf("%s: %v, want %s", to, err, want)
		}
		_, err = r.fetch(t.Context(), to) // it is the link itself
		if !isOutcome(err, want, strings.Contains(to, "[")) {
			t.Errorf("the link %s: %v, want %s", to, err, want)
		}
	}
	if closed.asked.Load() > 0 {
		t.Error("a server was reached that must not be")
	}
}

// isOutcome says whether an error is the wanted one. A machine without IPv6 fails before the fence
// sees an address of it.
func isOutcome(err error, want string, ipv6 bool) bool {
	got := resultOf(err)
	return got == want || ipv6 && want == fenced && got == failed
}

func TestRedirectsEnd(t *testing.T) {
	r := newTrial(t, func(w http.ResponseWriter, q *http.Request) {
		n, _ := strconv.Atoi(strings.Trim(q.URL.Path, "/"))
		if n == 0 {
			writePage(w, "<title>the end</title>")
			return
		}
		http.Redirect(w, q, fmt.Sprintf("/%d", n-1), http.StatusMovedPermanently)
	})
	if p, err := r.fetch(t.Context(), fmt.Sprint(r.site.URL, "/", maxRedirects)); err != nil ||
		p.Title != "the end" {
		t.Errorf("%d redirects: %+v, %v", maxRedirects, p, err)
	}
	r.asked.Store(0)
	_, err := r.fetch(t.Context(), fmt.Sprint(r.site.URL, "/1000"))
	if !errors.Is(err, errRedirects) || r.asked.Load() != maxRedirects+1 {
		t.Errorf("%d requests: %v", r.asked.Load(), err)
	}
}

// TestNamesThatLeadInside: whatever a name server says of a name, this machine is not reached.
func TestNamesThatLeadInside(t *testing.T) {
	r := newTrial(t, func(w http.ResponseWriter, _ *http.Request) {
		writePage(w, "<title>secret</title>")
	})
	r.transport = newTransport(fence.Fence{}, nameServer(t, map[string][]string{
		"a.example.":    {"A 127.0.0.1"},
		"b.example.":    {"A 10.0.0.1", "A 127.0.0.1", "A 169.254.169.254"},
		"c.example.":    {"AAAA ::1", "AAAA ::ffff:127.0.0.1", "AAAA fd00:ec2::254"},
		"d.example.":    {"AAAA 64:ff9b::7f00:1", "AAAA 2002:7f00:1::1"},
		"localtest.me.": {"A 127.0.0.1"},
	}))
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(r.site.URL, "http://"))
	for _, name := range []string{"a.example", "b.example", "c.example", "d.example",
		"localtest.me"} {
		_, err := r.fetch(t.Context(), "http://"+net.JoinHostPort(name, port)+"/")
		if !isOutcome(err, fenced, strings.ContainsAny(name[:1], "cd")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r.asked.Load() > 0 {
		t.Error("the server was reached")
	}
	r.transport = newTransport(r.Fence, nameServer(t,
		map[string][]string{"a.example.": {"A 127.0.0.1"}}))
	if p, err := r.fetch(t.Context(), "http://"+net.JoinHostPort("a.example", port)+"/"); err !=
		nil || p.Title != "secret" {
		t.Errorf("the name server is not asked: %+v, %v", p, err)
	}
}

// nameServer starts a name server with these records, and returns what asks it.
func nameServer(t *testing.T, records map[string][]string) *net.Resolver {
	t.Helper()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &dns.Server{PacketConn: packets, Handler: dns.HandlerFunc(
		func(w dns.ResponseWriter, q *dns.Msg) {
			a := new(dns.Msg)
			a.SetReply(q)
			for _, one := range records[strings.ToLower(q.Question[0].Name)] {
				rr, err := dns.NewRR(q.Question[0].Name + " 0 IN " + one)
				if err == nil && rr.Header().Rrtype == q.Question[0].Qtype {
					a.Answer = append(a.Answer, rr)
				}
			}
			_ = w.WriteMsg(a)
		})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.ActivateAndServe()
	}()
	t.Cleanup(func() { packets.Close(); <-ended })
	return &net.Resolver{PreferGo: true,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "udp", packets.LocalAddr().String())
		}}
}

// TestOwnListeners: the server's own ports are closed, also in a network that is open.
func TestOwnListeners(t *testing.T) {
	r := newTrial(t, func(w http.ResponseWriter, _ *http.Request) {
		writePage(w, "<title>secret</title>")
	})
	f := r.Fence
	f.Ports = []uint16{portOf(t, r.site.URL)}
	r.transport = newTransport(f, nil)
	if _, err := r.fetch(t.Context(), r.site.URL); resultOf(err) != fenced || r.asked.Load() > 0 {
		t.Errorf("got %v", err)
	}
}

// TestHostileAnswers: none of these makes a preview, or takes more than it may.
func TestHostileAnswers(t *testing.T) {
	long := strings.Repeat("x", 64<<10)
	for name, c := range map[string]struct {
		answer func(c net.Conn)
		want   string
	}{
		"a header that does not end": {func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nX: ")
			flood(c, long)
		}, failed},
		"headers that do not end": {func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			flood(c, "X-Y: z\r\n")
		}, failed},
		"hints that do not end": {func(c net.Conn) {
			flood(c, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
		}, failed},
		"chunks that say nothing": {func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n"+
				"Transfer-Encoding: chunked\r\n\r\n")
			flood(c, "1;"+strings.Repeat("x", 2000)+"\r\nx\r\n")
		}, empty},
		"no HTTP":            {func(c net.Conn) { flood(c, "220 ftp\r\n") }, failed},
		"nothing":            {func(net.Conn) {}, failed},
		"an endless image":   {answer("image/png", "", 1<<40, long), empty},
		"an unknown type":    {answer("application/pdf", "", 3, "pdf"), empty},
		"no type":            {answer("", "", 3, "<p>"), empty},
		"an SVG":             {answer("image/svg+xml", "", 60, svg), empty},
		"HTML as an image":   {answer("image/png", "", 60, "<script>alert(1)</script>"), empty},
		"gzip":               {answer("text/html", "gzip", 1<<20, bomb(t)), failed},
		"br":                 {answer("text/html", "br", 10, "0123456789"), failed},
		"a page without end": {answer("text/html", "", 1<<40, "<p>"+long), empty},
		"one endless tag":    {answer("text/html", "", 1<<40, "<meta "+long), empty},
		"a page of nothing":  {answer("text/html", "", 0, ""), empty},
		"a part of a page":   {status(206), failed},
		"no content":         {status(204), failed},
		"not found":          {status(404), failed},
		"a fault":            {status(500), failed},
		"a redirect nowhere": {status(302), refused},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTrial(t, func(w http.ResponseWriter, _ *http.Request) {
				h, ok := w.(http.Hijacker)
				if !ok {
					t.Error("no connection")
					return
				}
				conn, _, err := h.Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				c.answer(conn)
			})
			p, err := r.fetch(t.Context(), r.site.URL)
			if got := resultOf(err); got != c.want {
				t.Errorf("%s (%v), want %s: %+v", got, err, c.want, p)
			}
			if n, _ := r.Images.Usage(); n > 0 {
				t.Error("an image is left")
			}
		})
	}
}

const svg = `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`

// flood writes a text again and again, until the other side has had enough.
func flood(c net.Conn, text string) {
	for {
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
	}
}

// answer writes the head of an answer, and then a text again and again, up to its length.
func answer(kind, encoding string, length int, text string) func(net.Conn) {
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n", length)
	if kind != "" {
		head += "Content-Type: " + kind + "\r\n"
	}
	if encoding != "" {
		head += "Content-Encoding: " + encoding + "\r\n"
	}
	return func(c net.Conn) {
		_, _ = io.WriteString(c, head+"\r\n")
		for left := length; left > 0 && text != ""; {
			n, err := io.WriteString(c, text[:min(len(text), left)])
			if left -= n; err != nil {
				return
			}
		}
	}
}

func status(code int) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = fmt.Fprintf(c, "HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n", code)
	}
}

// bomb is a page of many zeros, compressed.
func bomb(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(make([]byte, 64<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestSlowServers: a request ends with its time, wherever the server stands still.
func TestSlowServers(t *testing.T) {
	for name, before := range map[string]string{
		"before the head": "",
		"in the head":     "HTTP/1.1 200 OK\r\nContent-T",
		"before the page": "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
		"in an image":     "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n\x89PNG",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := newTrial(t, func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				_, _ = io.WriteString(conn, before)
				cancel()                         // the time is over
				_, _ = io.Copy(io.Discard, conn) // until the other side is gone
			})
			if p, err := r.fetch(ctx, r.site.URL); err == nil {
				t.Errorf("got %+v", p)
			}
		})
	}
}

// TestImagesThatAreNone: the page is shown without its image.
func TestImagesThatAreNone(t *testing.T) {
	large := picture(t, 20, 20)
	copy(large[16:], []byte{0, 1, 0, 0, 0, 1, 0, 0}) // 65,536 pixels wide and high
	binary.BigEndian.PutUint32(large[29:], crc32.ChecksumIEEE(large[12:29]))
	for name, c := range map[string]struct {
		link string
		data []byte
	}{
		"a bomb":              {"/i", large},
		"too many bytes":      {"/i", make([]byte, maxImage+1)},
		"too small":           {"/i", picture(t, 1, 1)},
		"no image":            {"/i", []byte("<html>")},
		"in the own network":  {"http://10.0.0.1/i", nil},
		"of another scheme":   {"data:image/png;base64,AAAA", nil},
		"of no server":        {"http://", nil},
		"with a password":     {"http://a:b@127.0.0.1/", nil},
		"of a port":           {"http://127.0.0.1:1/i", nil},
		"of too long a link":  {"/" + strings.Repeat("x", maxURL), nil},
		"of this server":      {"https://chat.example/file/x", nil},
		"that is not there":   {"/none", nil},
		"that is a redirect":  {"/away", nil},
		"that is not a link":  {"::", nil},
		"of an empty address": {" ", nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTrial(t, func(w http.ResponseWriter, q *http.Request) {
				switch q.URL.Path {
				case "/":
					writePage(w, `<title>Tea</title><meta property="og:image" content="`+c.link+
						`">`)
				case "/i":
					_, _ = w.Write(c.data)
				case "/away":
					http.Redirect(w, q, "http://192.168.1.1/", http.StatusFound)
				default:
					http.NotFound(w, q)
				}
			})
			p, err := r.fetch(t.Context(), r.site.URL+"/")
			if n, _ := r.Images.Usage(); err != nil || p.Title != "Tea" || p.Image != "" || n > 0 {
				t.Errorf("got %+v and %d images: %v", p, n, err)
			}
		})
	}
}

// TestCertificates: a server whose certificate is not trusted is not believed.
func TestCertificates(t *testing.T) {
	tea := func(w http.ResponseWriter, _ *http.Request) { writePage(w, "<title>Tea</title>") }
	r := newTrial(t, tea)
	s := httptest.NewUnstartedServer(http.HandlerFunc(tea))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	s.StartTLS()
	defer s.Close()
	r.Ports = append(r.Ports, portOf(t, s.URL))
	if p, err := r.fetch(t.Context(), s.URL); resultOf(err) != failed {
		t.Errorf("got %+v, %v", p, err)
	}
	trusted := s.Client().Transport.(*http.Transport)
	r.transport.TLSClientConfig = trusted.TLSClientConfig
	if p, err := r.fetch(t.Context(), s.URL); err != nil || p.Title != "Tea" {
		t.Errorf("with the certificate: %+v, %v", p, err)
	}
}

func TestBoundedConn(t *testing.T) {
	one, other := net.Pipe()
	defer one.Close()
	go flood(other, "0123456789")
	c := &boundedConn{Conn: one, left: 15}
	data, err := io.ReadAll(io.LimitReader(c, 100))
	if string(data) != "012345678901234" || !errors.Is(err, errWire) {
		t.Errorf("got %q, %v", data, err)
	}
	other.Close()
}
