package servers_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// withHTTP2 makes a program with a server of io.http speak HTTP/2, too. Nothing else of it changes.
func withHTTP2(text string) string {
	const bounds = "bounds = bounds"
	return "import io.http2\n" +
		strings.Replace(text, bounds, bounds+", http2 = http2.protocol()", 1)
}

// serveHTTP2 starts the server of http_test.go so. words are its arguments.
func serveHTTP2(t *testing.T, workers int, words ...string) (*process, int) {
	t.Helper()
	exe := compiled(t, "http2.eve", withHTTP2(httpServer))
	p := startWith(t, append([]string{exe}, words...), fmt.Sprint("EVE_WORKERS=", workers))
	return p, p.port()
}

// newBrowser2 is a client of net/http that knows that the server speaks HTTP/2.
func newBrowser2(t *testing.T, port int) browser {
	b := newBrowser(t, port)
	var only http.Protocols
	only.SetUnencryptedHTTP2(true)
	b.Transport.(*http.Transport).Protocols = &only
	return b
}

// A packer packs the fields of heads for one connection.
type packer struct {
	fields bytes.Buffer
	coder  *hpack.Encoder
}

// pack packs names and values. What it returns is there until the next call.
func (p *packer) pack(all ...string) []byte {
	if p.coder == nil {
		p.coder = hpack.NewEncoder(&p.fields)
	}
	p.fields.Reset()
	for i := 0; i+1 < len(all); i += 2 {
		_ = p.coder.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]}) // to memory
	}
	return p.fields.Bytes()
}

// A framer is a client that sends the frames that it is told to, good or bad.
type framer struct {
	peer
	*http2.Framer
	packer packer
	end    error // of farewell's last read
}

func (p *process) frame(port int, settings ...http2.Setting) *framer {
	p.t.Helper()
	f := &framer{peer: p.dial(port)}
	f.Framer = http2.NewFramer(f.peer, f.peer)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	f.say(http2.ClientPreface)
	f.must(f.WriteSettings(settings...))
	return f
}

func (f *framer) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// head packs the fields of a request; more are names and values.
func (f *framer) head(method, path string, more ...string) []byte {
	return f.packer.pack(append([]string{":method", method, ":scheme", "http", ":path", path,
		":authority", "h"}, more...)...)
}

// ask sends a request. open says that its body follows.
func (f *framer) ask(id uint32, method, path string, open bool) error {
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndHeaders: true, EndStream: !open,
		BlockFragment: f.head(method, path)})
}

// next returns the next frame of the stream; 0 is the connection, whose settings it leaves out.
func (f *framer) next(id uint32) http2.Frame {
	f.t.Helper()
	for {
		got, err := f.ReadFrame()
		if err != nil {
			f.t.Fatalf("stream %d: %v", id, err)
		}
		if s, is := got.(*http2.SettingsFrame); is {
			if !s.IsAck() {
				f.must(f.WriteSettingsAck())
			}
			continue
		}
		if _, is := got.(*http2.WindowUpdateFrame); !is && got.Header().StreamID == id {
			return got
		}
	}
}

// mustReply reads the head of a reply.
func (f *framer) mustReply(id uint32, status int) {
	f.t.Helper()
	got := f.next(id)
	h, is := got.(*http2.MetaHeadersFrame)
	if !is || h.PseudoValue("status") != fmt.Sprint(status) {
		f.t.Fatalf("stream %d: got %v, want status %d", id, got, status)
	}
}

// mustReset reads up to the reset of a stream.
func (f *framer) mustReset(id uint32, want http2.ErrCode) {
	f.t.Helper()
	for {
		if r, is := f.next(id).(*http2.RSTStreamFrame); is {
			if r.ErrCode != want {
				f.t.Errorf("stream %d is reset with %v, want %v", id, r.ErrCode, want)
			}
			return
		}
	}
}

// farewell reads to the end of the connection, and returns why the server has ended it.
func (f *framer) farewell() (code http2.ErrCode, told bool) {
	for {
		got, err := f.ReadFrame()
		if g, is := got.(*http2.GoAwayFrame); is && err == nil {
			code, told = g.ErrCode, true
		}
		var one http2.StreamError
		if err != nil && !errors.As(err, &one) {
			f.end = err
			return code, told
		}
	}
}

// Routes and their parameters over HTTP/2, as net/http sees them. A client of HTTP/1.1 is served by
// the same port.
func TestHTTP2Routes(t *testing.T) {
	t.Parallel()
	eachWorkers(t, func(t *testing.T, workers int) {
		p, port := serveHTTP2(t, workers)
		b := newBrowser2(t, port)
		a := b.must("GET", "/", nil, 200, "hello 1\n")
		if a.ProtoMajor != 2 || a.Header.Get("Date") == "" ||
			a.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("got %s %v", a.Proto, a.Header)
		}
		if a = b.must("HEAD", "/", nil, 200, ""); a.ContentLength != int64(len("hello 2\n")) {
			t.Errorf("HEAD: Content-Length: %d", a.ContentLength)
		}
		b.mustFindRoutes()
		b.must("GET", "/files/../../etc/passwd", nil, 400, "the path leads above its root\n")
		b.must("GET", "/parts/3", nil, 200, "part 0\npart 1\npart 2\n")
		b.must("HEAD", "/parts/3", nil, 200, "")
		b.must("GET", "/large", nil, 200, strings.Repeat("0123456789abcdef", 300_000))
		old := newBrowser(t, port)
		if a = old.must("GET", "/number/1", nil, 200, "2\n"); a.ProtoMajor != 1 {
			t.Errorf("a client of HTTP/1.1 gets %s", a.Proto)
		}
		old.CloseIdleConnections()
		p.signal(syscall.SIGTERM)
		p.mustExit(0)
	})
}

// Bodies of requests, up to the limit. The client may wait for status 100.
func TestHTTP2Bodies(t *testing.T) {
	t.Parallel()
	eachWorkers(t, func(t *testing.T, workers int) {
		_, port := serveHTTP2(t, workers)
		b := newBrowser2(t, port)
		full := b.mustEcho()
		for _, body := range []io.Reader{strings.NewReader(full + "x"),
			struct{ io.Reader }{strings.NewReader(full + "x")}} {
			b.must("POST", "/echo", body, 413, "the body is too large\n")
		}
		if a, _ := b.ask("POST", "/echo", nil, "Expect", "cake"); a.StatusCode != 417 {
			t.Errorf("another expectation: got %d", a.StatusCode)
		}
		b.must("GET", "/number/1", nil, 200, "2\n")
	})
}

// Many requests of one connection are under way at once, and one that takes long holds up none. A
// client that resets a stream ends it only.
func TestHTTP2Streams(t *testing.T) {
	t.Parallel()
	eachWorkers(t, func(t *testing.T, workers int) {
		p, port := serveHTTP2(t, workers)
		f := p.frame(port)
		f.must(f.ask(1, "GET", "/held", false))
		f.must(f.ask(3, "GET", "/number/1", false))
		f.mustReply(3, 200)
		f.must(f.WriteRSTStream(1, http2.ErrCodeCancel))

		b := newBrowser2(t, port)
		var all sync.WaitGroup
		for i := range 300 {
			all.Go(func() {
				if i%3 == 0 {
					b.must("GET", fmt.Sprint("/slow/", i%7), nil, 200, "slow\n")
				} else {
					b.must("GET", fmt.Sprint("/number/", i), nil, 200, fmt.Sprint(i+1, "\n"))
				}
			})
		}
		all.Wait()

		f.must(f.ask(5, "GET", "/events", false))
		f.mustReply(5, 200)
		if d, is := f.next(5).(*http2.DataFrame); !is || !strings.HasPrefix(string(d.Data()),
			"id: 1\nevent: tick\ndata: tick\ndata: 1\n\n") {
			t.Errorf("the first event is %v", d)
		}
		f.must(f.WriteRSTStream(5, http2.ErrCodeCancel))
		p.eventually("the stream ends", func() bool {
			return strings.Contains(p.out.String(), "gone\n")
		})
		f.must(f.ask(7, "OPTIONS", "*", false))
		f.mustReply(7, 204)
		large := f.head("GET", "/", "x", strings.Repeat("x", 13_000)) // of 4 KiB + 8000 bytes
		f.must(f.WriteHeaders(http2.HeadersFrameParam{StreamID: 9, EndHeaders: true,
			EndStream: true, BlockFragment: large}))
		f.mustReply(9, 431)
	})
}

// A client that opens no window gets no more than `behind` bytes of a stream made for it. A patient
// stream waits, and goes on when the window opens.
func TestHTTP2SlowClients(t *testing.T) {
	t.Parallel()
	p, port := serveHTTP2(t, 2)
	f := p.frame(port, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	f.must(f.ask(1, "GET", "/pour", false))
	f.mustReply(1, 200)
	f.mustReset(1, http2.ErrCodeCancel)
	p.eventually("the stream is closed", func() bool {
		return strings.Contains(p.out.String(), "pour closed\n")
	})
	f.must(f.ask(3, "GET", "/patient", false))
	f.mustReply(3, 200)
	p.eventually("the stream is full", func() bool {
		return strings.Contains(p.out.String(), "overflow\n")
	})
	f.must(f.WriteWindowUpdate(0, 1<<30))
	f.must(f.WriteWindowUpdate(3, 1<<30))
	size := 0
	for ended := false; !ended; {
		d, is := f.next(3).(*http2.DataFrame)
		if !is {
			t.Fatal("the stream is not whole")
		}
		size, ended = size+len(d.Data()), d.StreamEnded()
	}
	if want := 400 << 16; size != want {
		t.Errorf("the patient stream had %d bytes, want %d", size, want)
	}
	f.must(f.ask(5, "GET", "/number/1", false))
	f.mustReply(5, 200)
}

// counted counts the bytes that are read from it, without an end.
type counted struct {
	mu sync.Mutex
	n  int
}

func (c *counted) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += len(b)
	return len(b), nil
}

// Bodies come part by part to the exchanges that read them, and no faster than they do.
func TestHTTP2Receive(t *testing.T) {
	t.Parallel()
	exe := compiled(t, "receive2.eve", withHTTP2(receivingServer))
	p := startWith(t, []string{exe, "600000"}, "EVE_WORKERS=2")
	port := p.port()
	b := newBrowser2(t, port)
	for _, size := range []int{0, 1, 1000, 65_537, 3 << 20} {
		a, text := b.ask("POST", "/sum", strings.NewReader(strings.Repeat("x", size)))
		if a.StatusCode != 200 || !strings.HasPrefix(text, fmt.Sprint(size, " ")) ||
			a.Header.Get("X-Common") != "everywhere" {
			t.Errorf("%d bytes: got %d %q, %v", size, a.StatusCode, text, a.Header)
		}
	}
	if a, text := b.ask("POST", "/sum", strings.NewReader("wait for me"), "Expect",
		"100-continue"); text != "11 true\n" {
		t.Errorf("with an expectation: got %d %q", a.StatusCode, text)
	}
	b.must("POST", "/no", &counted{}, 415, "no\n")
	b.must("GET", "/nothing", nil, 404, "[]\n")
	b.must("GET", "/echo", nil, 404, "[POST]\n")
	b.must("GET", "/large", nil, 200, strings.Repeat("0123456789abcdef", 300_000))
	p.eventually("the reply was taken", func() bool {
		_, text := b.ask("GET", "/taken", nil)
		return text == "1\n"
	})

	f := p.frame(port)
	f.must(f.ask(1, "POST", "/late", true)) // its exchange does not read
	part := make([]byte, 16<<10)
	const window = 65_535
	for left := window; left > 0; left -= len(part) {
		f.must(f.WriteData(1, false, part[:min(len(part), left)]))
	}
	f.must(f.WritePing(false, [8]byte{1}))
	for {
		got, err := f.ReadFrame()
		f.must(err)
		if w, is := got.(*http2.WindowUpdateFrame); is && w.StreamID == 1 {
			t.Error("the window of a body that nobody reads is opened")
		}
		if ping, is := got.(*http2.PingFrame); is && ping.IsAck() {
			break
		}
	}
	f.must(f.ask(3, "POST", "/no", true))
	f.mustReply(3, 415)
	f.mustReset(3, http2.ErrCodeNo)
	f.must(f.WriteData(1, false, part)) // beyond the window
	f.mustReset(1, http2.ErrCodeFlowControl)
}

// The end of the server: requests under way are answered, later ones are not begun, and idle
// connections are closed.
func TestHTTP2Stop(t *testing.T) {
	t.Parallel()
	eachWorkers(t, func(t *testing.T, workers int) {
		p, port := serveHTTP2(t, workers)
		idle := p.frame(port)
		idle.must(idle.ask(1, "GET", "/number/1", false))
		idle.mustReply(1, 200)
		// Its windows are large: the idle connection may end seconds later.
		const window = 1 << 30
		busy := p.frame(port, http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
		busy.must(busy.WriteWindowUpdate(0, window))
		busy.must(busy.ask(1, "GET", "/events", false))
		busy.mustReply(1, 200)
		busy.must(busy.ask(3, "GET", "/number/1", false))
		busy.mustReply(3, 200)
		p.signal(syscall.SIGTERM)
		if code, told := idle.farewell(); code != http2.ErrCodeNo || !told {
			t.Errorf("an idle connection ends with %v, %v", code, told)
		}
		near, is := busy.next(0).(*http2.GoAwayFrame)
		if !is || near.LastStreamID != 1<<31-1 || near.ErrCode != http2.ErrCodeNo {
			t.Fatalf("the end is announced by %v", near)
		}
		ping, is := busy.next(0).(*http2.PingFrame)
		if !is {
			t.Fatal("there is no ping behind GOAWAY")
		}
		busy.must(busy.WritePing(true, ping.Data))
		last, is := busy.next(0).(*http2.GoAwayFrame)
		if !is || last.LastStreamID != 3 || last.ErrCode != http2.ErrCodeNo {
			t.Fatalf("the end is %v", last)
		}
		busy.must(busy.ask(5, "GET", "/", false))
		if _, is := busy.next(1).(*http2.DataFrame); !is {
			t.Error("a stream under way is ended")
		}
		busy.must(busy.WriteRSTStream(1, http2.ErrCodeCancel))
		if code, told := busy.farewell(); told {
			t.Errorf("behind the last reply: GOAWAY with %v", code)
		}
		p.mustExit(0)
		if strings.Contains(p.out.String(), "hello") {
			t.Error("a request behind the end was begun")
		}
	})
}

// Slow clients: heads, bodies and windows, and handlers without a reply.
func TestHTTP2Times(t *testing.T) {
	t.Parallel()
	p, port := serveHTTP2(t, 2, "200", "600000")
	f := p.frame(port)
	f.must(f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: f.head("GET", "/")}))
	f.farewell()

	f = p.frame(port, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	f.must(f.ask(1, "POST", "/echo", true))
	f.mustReply(1, 408)
	f.mustReset(1, http2.ErrCodeNo)
	f.must(f.ask(3, "GET", "/held", false))
	f.mustReply(3, 503)

	p, port = serveHTTP2(t, 2, "200", "600000", "600000")
	f = p.frame(port, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	f.must(f.ask(1, "GET", "/large", false))
	f.mustReply(1, 200)
	f.mustReset(1, http2.ErrCodeCancel)
	f.must(f.ask(3, "GET", "/parts/0", false)) // only the end of its body waits
	f.mustReply(3, 200)
	f.mustReset(3, http2.ErrCodeCancel)

	p, port = serveHTTP2(t, 2, "600000", "200")
	p.eventually("an idle connection is told so", func() bool {
		f = &framer{peer: p.dial(port)}
		defer f.Close()
		f.Framer = http2.NewFramer(io.Discard, f.peer)
		// preface and settings in one, for on a busy machine they may come too late as it is
		_, err := f.Write([]byte(http2.ClientPreface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
		code, told := f.farewell()
		if told && code != http2.ErrCodeNo {
			t.Fatalf("an idle connection ends with %v", code)
		}
		return err == nil && told
	})
}

// curl speaks HTTP/2 with prior knowledge, and by ALPN with a server of TLS.
func TestHTTP2WithCurl(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not in PATH")
	}
	_, port := serveHTTP2(t, 2)
	curl := func(words ...string) string {
		t.Helper()
		out, err := exec.Command("curl", append([]string{"-sS", "--max-time", "300"},
			words...)...).CombinedOutput()
		if err != nil {
			t.Errorf("curl %q: %v, %s", words, err, out)
		}
		return string(out)
	}
	base := fmt.Sprint("http://127.0.0.1:", port)
	const version = " %{http_version}"
	if got := curl("--http2-prior-knowledge", "-w", version, base+"/hello/a"); got !=
		"hello, a\n 2" {
		t.Errorf("curl got %q", got)
	}
	if got := curl("--http2", "-w", version, base+"/hello/a"); got != "hello, a\n 1.1" {
		t.Errorf("curl, by an upgrade: got %q", got) // RFC 9113 has given that up
	}
	if got := curl("--http2-prior-knowledge", "-o", os.DevNull, "-w", "%{size_download}",
		base+"/large"); got != "4800000" {
		t.Errorf("curl got %q", got)
	}

	const listens = "routes(), secure = by"
	text := strings.NewReplacer(`["http/1.1", "obey"]`, `["h2", "http/1.1"]`, listens,
		listens+", http2 = http2.protocol()").Replace(exampleText(t, "tls"))
	h := openTLSOf(t, compiled(t, "tls2.eve", "import io.http2\n"+text), "", slowHandshake)
	base = fmt.Sprintf("https://localhost:%d", h.web)
	file := h.ca.file("body")
	body := strings.Repeat("0123456789", 60_000)
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	ca := []string{"--cacert", h.ca.file("ca.pem"), "-w", version}
	if got := curl(append(ca, "--http2", base+"/hello/a")...); got != "hello, a\n 2" {
		t.Errorf("curl got %q", got)
	}
	if got := curl(append(ca, "--http1.1", base+"/hello/a")...); got != "hello, a\n 1.1" {
		t.Errorf("curl got %q", got)
	}
	if got := curl(append(ca, "--http2", "--data-binary", "@"+file, base+"/echo")...); got !=
		body+" 2" {
		t.Errorf("curl got %d bytes, %q", len(got), head(got))
	}
	// a WebSocket needs HTTP/1.1
	if got := curl(append(ca, "--http2", base+"/socket")...); !strings.HasSuffix(got, " 2") ||
		!strings.Contains(got, "a WebSocket begins with a GET of 1.1") {
		t.Errorf("curl got %q", got)
	}
	h.process.signal(syscall.SIGKILL)
}
