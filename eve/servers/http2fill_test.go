package servers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// A server whose exchanges wait until somebody asks for /release: then the last one of them says
// how many bytes came. The first argument is the number of streams of a connection.
const holdingServer = `import io.http
import io.http2
import io.message

waiting: vector<http.exchange>@

release: [+waiting] () void:
    match waiting.pop():
        some(x): x.respond(200, f"{x.request.body.size()}\n")
        none: pass

routes: () http.routes:
    r: http.routes
    r.post("/hold"):
        run = [+waiting] (x: http.exchange) void: waiting.push(x)
    r.get("/release"):
        run = [+waiting] (x: http.exchange) void:
            release()
            x.respond(200, "done\n")
    return r

main: () void:
    sizes: message.limits = message.limits(body = 128kib)
    streams: int = process.args()[0].to_int() else 0
    bounds: http.limits = http.limits(sizes, 0, 600s, 600s, 600s, 600s, 600s, streams = streams)
    started <- http.listen(8080, routes(), bounds = bounds, http2 = http2.protocol()) [+stderr]
    match started:
        ok(s):
            on process.signals terminate [+s]: http.stop(s, 1s)
        error(e): stderr.write("%s\n", e)
`

const fillBody = 128 << 10 // bytes of a request
const fillWindow = 65_535  // bytes that a stream may send before any are taken

// A filler is a client that sends bodies as fast as its server takes them.
type filler struct {
	*framer
	left, windows map[uint32]int // bytes of bodies that are not sent, and that may be sent
	ids           []uint32
	window        int // of the connection
	sent          int
	replies       map[uint32]string
	pinged        byte
}

// fill takes all of the server's handlers by requests that it resets, and begins as many others.
func fill(p *process, port, streams int) *filler {
	p.t.Helper()
	f := &filler{framer: p.frame(port), left: map[uint32]int{}, windows: map[uint32]int{},
		window: fillWindow, replies: map[uint32]string{}}
	id := uint32(1)
	for range streams {
		f.must(f.ask(id, "POST", "/hold", false))
		id += 2
	}
	f.settle()
	for gone := uint32(1); gone < id; gone += 2 {
		f.must(f.WriteRSTStream(gone, http2.ErrCodeCancel))
	}
	f.settle()
	for range streams {
		f.must(f.ask(id, "POST", "/hold", true))
		f.left[id], f.windows[id] = fillBody, fillWindow
		f.ids = append(f.ids, id)
		id += 2
	}
	f.rest()
	return f
}

// pour sends as much as the windows allow.
func (f *filler) pour() {
	part := make([]byte, 16<<10)
	for _, id := range f.ids {
		for {
			n := min(len(part), f.left[id], f.windows[id], f.window)
			if n == 0 {
				break
			}
			f.must(f.WriteData(id, n == f.left[id], part[:n]))
			f.left[id] -= n
			f.windows[id] -= n
			f.window -= n
			f.sent += n
		}
	}
}

// see reads a frame, and returns it.
func (f *filler) see() http2.Frame {
	f.t.Helper()
	got, err := f.ReadFrame()
	if err != nil {
		f.t.Fatal(err)
	}
	switch got := got.(type) {
	case *http2.SettingsFrame:
		if !got.IsAck() {
			f.must(f.WriteSettingsAck())
		}
	case *http2.WindowUpdateFrame:
		if got.StreamID == 0 {
			f.window += int(got.Increment)
		} else {
			f.windows[got.StreamID] += int(got.Increment)
		}
	case *http2.DataFrame:
		f.replies[got.StreamID] += string(got.Data())
	case *http2.RSTStreamFrame, *http2.GoAwayFrame:
		f.t.Fatalf("got %v", got)
	}
	return got
}

// settle waits until the server has handled all that was sent.
func (f *filler) settle() {
	f.t.Helper()
	f.pinged++
	f.must(f.WritePing(false, [8]byte{f.pinged}))
	for {
		if p, is := f.see().(*http2.PingFrame); is && p.IsAck() && p.Data[0] == f.pinged {
			return
		}
	}
}

// rest sends until the server opens no window any more.
func (f *filler) rest() {
	f.t.Helper()
	for quiet := 0; quiet < 3; quiet++ {
		before := f.sent
		f.pour()
		f.settle()
		if f.sent > before {
			quiet = 0
		}
	}
}

func serveHolding(t *testing.T, streams int) (*process, int) {
	t.Helper()
	exe := compiled(t, "holding.eve", holdingServer)
	p := startWith(t, []string{exe, fmt.Sprint(streams)}, "EVE_WORKERS=2")
	return p, p.port()
}

// A connection holds no more bodies for handlers that are busy than it may collect, besides its
// windows. When they are free, all bodies come to their end.
func TestHTTP2Fill(t *testing.T) {
	t.Parallel()
	const streams = 100
	p, port := serveHolding(t, streams)
	f := fill(p, port, streams)
	const most = 5*fillBody + streams*fillWindow // four bodies, and a part of one
	if f.sent > most || f.sent < 4*fillBody {
		t.Errorf("the server took %d bytes, want at most %d, and four bodies", f.sent, most)
	}
	b := newBrowser(t, port)
	began := time.Now()
	for len(f.replies) < streams {
		b.must("GET", "/release", nil, 200, "done\n")
		f.pour()
		f.settle()
		if time.Since(began) > patience {
			t.Fatalf("%d of %d requests were answered", len(f.replies), streams)
		}
	}
	for id, text := range f.replies {
		if want := fmt.Sprintln(fillBody); text != want {
			t.Errorf("stream %d: got %q, want %q", id, text, want)
		}
	}
}

// When a handler takes a body, one that was held back goes on at once, not when the server looks at
// the connection next. That is each 5 s, which is too late for so many connections.
func TestHTTP2FillGoesOn(t *testing.T) {
	t.Parallel()
	const streams = 12
	p, port := serveHolding(t, streams)
	b := newBrowser(t, port)
	began := time.Now()
	for range 70 {
		f := fill(p, port, streams)
		b.must("GET", "/release", nil, 200, "done\n")
		for {
			u, is := f.see().(*http2.WindowUpdateFrame)
			if is && u.StreamID > 0 {
				break
			}
		}
		f.Close()
		if time.Since(began) > patience {
			t.Fatal("bodies that were held back go on too late")
		}
	}
	if said := p.err.String(); strings.TrimSpace(said) != "" {
		t.Errorf("the server says %q", said)
	}
}
